"""The example of a Redis stream, with a real server: each entry is counted once, also if readers are killed."""

import random
import runpy
import shutil
import signal
import subprocess
import sys
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


@pytest.mark.thorough
def test_entries_of_killed_readers_are_there_once(client, url, example, tmp_path):
    generator, store, kills = random.Random(0), sm.MetricStore(tmp_path / "history"), 0
    code = EXAMPLE.read_text(encoding="utf-8").replace("ENTRIES = 100_000", "ENTRIES = 50")
    (tmp_path / "reader.py").write_text(code, encoding="utf-8")
    send(client, range(400))
    last = example["offset"](client.xrevrange("predictions", count=1)[0][0])
    while (start := store.offset("redis/predictions")) != last:
        process = subprocess.Popen([sys.executable, tmp_path / "reader.py", url, "predictions", store.uri])
        while store.offset("redis/predictions") == start:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.1))
        process.kill()
        assert process.wait() == -signal.SIGKILL
        kills += 1
    assert kills > 1
    assert store.query(every="1d", by="country").to_bytes() == task().update(rows(range(400))).to_bytes()
