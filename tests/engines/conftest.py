"""Files that all engines read."""

import os
import shutil

import pytest
from conformance import FEW, write

os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # workers take this environment, and don't make their own


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def few_files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("few_files"), FEW)


@pytest.fixture(scope="session")
def java():
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java: neither java nor JAVA_HOME is there")
