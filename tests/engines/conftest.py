"""Files that all engines read, and the laws that each obeys."""

import os
import shutil

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
