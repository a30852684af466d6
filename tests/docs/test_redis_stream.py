"""The example of a Redis stream, with a real server: each entry is counted once."""

import runpy
import shutil
import subprocess
import time
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import streammetrics as sm

redis = pytest.importorskip("redis", reason="redis is not installed")
EXAMPLE = Path(__file__).parents[2] / "examples" / "redis_stream.py"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of a server that stores nothing on disk."""
    if not (program := shutil.which("redis-server")):
        pytest.skip("redis-server is not installed")
    socket = tmp_path_factory.mktemp("redis") / "socket"
    command = [program, "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not socket.exists():
        assert server.poll() is None
        time.sleep(0.05)
    yield f"unix://{socket}"
    server.terminate()
    server.wait()


@pytest.fixture
def client(url):
    client = redis.Redis.from_url(url, decode_responses=True)
    client.flushall()
    return client


@pytest.fixture
def example():
    return runpy.run_path(str(EXAMPLE))


def task():
    return sm.binary(y_true="clicked", y_score="p", by=["day", "country"])


def rows(numbers):
    columns = {"clicked": [n % 3 == 0 for n in numbers], "p": [n % 10 / 10 for n in numbers]}
    days = [date(2026, 1, 1 + n % 2) for n in numbers]
    return pl.DataFrame({**columns, "country": ["DE"] * len(numbers), "day": days}).cast({"clicked": pl.Int8})


def send(client, numbers):
    for row in rows(numbers).with_columns(pl.all().cast(pl.String)).iter_rows(named=True):
        client.xadd("predictions", row)


def test_entries_are_added_after_those_in_the_history(client, example, tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    for start in (0, 30):
        send(client, range(start, start + 30))
        assert example["add"](client, "predictions", store, task()) == 30
        assert example["add"](client, "predictions", store, task()) == 0
    last = client.xrevrange("predictions", count=1)[0][0]
    assert example["entry_id"](store.offset("redis/predictions")) == last
    assert store.query(every="1d", by="country").to_bytes() == task().update(rows(range(60))).to_bytes()
