"""Files that all engines read, and the laws that each obeys."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from streammetrics.testing.engine_tasks import FEW_ROWS
from streammetrics.testing.engine_tasks import files as written

os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # workers take this environment, and don't make their own


@pytest.fixture(scope="session")
def files():
    return written()


@pytest.fixture(scope="session")
def few_files():
    return written(FEW_ROWS)


@pytest.fixture(scope="session")
def java():
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java: neither java nor JAVA_HOME is there")


@pytest.fixture(scope="session")
def options():
    """Options of a server that speaks S3, in a process of its own, with the bucket ``histories``."""
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
