"""The example of a service: under load, over restarts, and when it is stopped, every answered request is counted."""

import http.client
import importlib.util
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import streammetrics as sm

pytestmark = pytest.mark.thorough
EXAMPLE = Path(__file__).parents[2] / "examples" / "service.py"
CLIENTS, REQUESTS = 8, 60


@pytest.fixture(autouse=True)
def directory(folder):
    for name in ("prometheus_client", "starlette", "uvicorn"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    return folder


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(ready, seconds=60):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def running(every):
    """The service in a thread of this process, saving so often; a fresh one, as after a restart."""
    import uvicorn

    spec = importlib.util.spec_from_file_location("service", EXAMPLE)
    service = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(service)
    service.EVERY = every
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(service.app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield port
    finally:
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()


def client(port, number, requests=REQUESTS):
    """Ask for scores, one after the other on one connection, and read the gauges in between."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for i in range(requests):
        body = json.dumps({"source": "app" if number % 2 else "web", "logit": (i - 30) / 10})
        connection.request("POST", "/score", body)
        answer = connection.getresponse()
        assert answer.status == 200
        assert 0 < json.loads(answer.read())["score"] < 1
        if i % 20 == 0:
            connection.request("GET", "/metrics")
            assert b"streammetrics_metric_value" in connection.getresponse().read()
    connection.close()


def scraped(port, metric):
    """The values of a metric, by source."""
    from prometheus_client.parser import text_string_to_metric_families

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    families = text_string_to_metric_families(connection.getresponse().read().decode())
    connection.close()
    samples = [s for family in families for s in family.samples if s.name == "streammetrics_metric_value"]
    return {s.labels["source"]: s.value for s in samples if s.labels["metric"] == metric}


def load(port):
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(lambda number: client(port, number), range(CLIENTS)))


def test_malformed_requests_are_answered_and_change_nothing():
    bodies = ["", "[]", "7", "{}", '{"source": "web"}', '{"source": "web", "logit": "x"}']
    bodies += [f'{{"source": "web", "logit": {x}}}' for x in ("NaN", "-1e9", "null", "[]")]
    bodies += [f'{{"source": {x}, "logit": 0}}' for x in ("7", "1.5", "true", "[7]", "{}", "null", '"other"', "[]")]
    with running(every=60) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for body in bodies:
            connection.request("POST", "/score", body)
            answer = connection.getresponse()
            assert (answer.status, [*json.loads(answer.read())]) == (400, ["error"]), body
        connection.close()
        client(port, 1, requests=3)
        assert scraped(port, "rows") == {"app": 3}


def test_nothing_is_lost_under_load_and_over_a_restart(directory):
    half = CLIENTS // 2 * REQUESTS
    with running(every=0.1) as port:
        load(port)
        assert scraped(port, "rows") == {"app": half, "web": half}
    assert sm.Accumulator.load("scores.state").seen == 2 * half
    with running(every=60) as port:
        load(port)
        assert scraped(port, "rows") == {"app": 2 * half, "web": 2 * half}
    assert [path.name for path in directory.iterdir()] == ["scores.state"]
    saved = sm.Accumulator.load("scores.state")
    assert saved.seen == 4 * half
    scores = [1 / (1 + math.exp((30 - i) / 10)) for i in range(REQUESTS)]
    median = sm.predictions(y_score="score").update({"score": scores}).finalize()["median"].value
    for source in ("app", "web"):
        assert saved.finalize().get("median", source=source).value == pytest.approx(median, rel=1e-12)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_a_service_that_is_stopped_has_saved_what_it_answered():
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "service:app", "--app-dir", EXAMPLE.parent, "--port", str(port)]
    process = subprocess.Popen(command)
    try:
        wait_until(lambda: process.poll() is not None or listens(port))
        client(port, 1)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert sm.Accumulator.load("scores.state").seen == REQUESTS


def listens(port):
    return socket.socket().connect_ex(("127.0.0.1", port)) == 0
