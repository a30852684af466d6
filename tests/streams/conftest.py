"""A real Redis server, where one is installed."""

import shutil
import subprocess
import time

import pytest


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The socket of a server that keeps nothing."""
    redis = pytest.importorskip("redis", reason="redis is not installed")
    if not (program := shutil.which("redis-server")):
        pytest.skip("redis-server is not installed")
    socket = str(tmp_path_factory.mktemp("redis") / "socket")
    command = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = redis.Redis(unix_socket_path=socket)
    while True:
        try:
            client.ping()
            break
        except redis.ConnectionError:
            assert process.poll() is None
            time.sleep(0.05)
    yield socket
    process.terminate()
    process.wait()


@pytest.fixture(params=[2, 3])
def client(server, request):
    """A connection in either protocol to an empty server."""
    import redis

    made = redis.Redis(unix_socket_path=server, protocol=request.param)
    made.flushall()
    return made
