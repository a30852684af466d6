"""Histories in an object store: a server that speaks S3, in a process of its own."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from datetime import date

import pytest

import streammetrics as sm

pytestmark = pytest.mark.engine

APPENDS = """
import json, sys
from datetime import date
import streammetrics as sm

uri, options, writer = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
history = sm.MetricStore(uri, storage_options=options)
task = sm.binary(y_true="y", y_score="p", by="day")
for n in range(6):
    batch = {"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 1 + n % 5)] * 2}
    history.append(task.empty().update(batch), batch_id=f"{writer} {n}")
"""


@pytest.fixture(scope="module")
def options():
    pytest.importorskip("moto.server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            try:
                request = urllib.request.Request(f"{url}/histories", method="PUT")  # makes the bucket
                urllib.request.urlopen(request, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_a_history_in_an_object_store(options):
    history = sm.MetricStore("s3://histories/clicks", storage_options=options)
    task = sm.binary(y_true="y", y_score="p", by=["day", "country"])
    days = [
        {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "day": [date(2026, 1, n)] * 3, "country": ["DE", "FR", "FR"]}
        for n in (1, 2, 3)
    ]
    states = [task.empty().update(day) for day in days]
    for n, state in enumerate(states):
        assert history.append(state, batch_id=str(n))
        assert not history.append(state, batch_id=str(n))
    together = task.empty().update(days[1]).update(days[2]).rollup("country")
    asked = history.query("2026-01-02", by="country")
    assert asked.finalize().frame.equals(together.finalize().frame)
    history.compact()
    assert history.query("2026-01-02", by="country").to_bytes() == asked.to_bytes()
    history.retain("2026-01-03")
    assert history.query().finalize()["rows"].value == 3


def test_writers_that_race_lose_nothing_and_double_nothing(options):
    uri = "s3://histories/race"
    commands = [[sys.executable, "-c", APPENDS, uri, json.dumps(options), writer] for writer in ("a", "b")]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert sm.MetricStore(uri, storage_options=options).query().finalize()["rows"].value == 2 * 2 * 6
