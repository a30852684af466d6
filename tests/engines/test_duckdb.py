"""DuckDB as an engine."""

import pytest

from streammetrics.engines import duckdb as engine
from streammetrics.testing import Engine, checks

pytestmark = pytest.mark.engine


def read(folder):
    return pytest.importorskip("duckdb").read_parquet(str(folder / "*.parquet"))


@pytest.mark.parametrize("check", checks(Engine(engine, read, reorders=False)), ids=str)
def test_laws(check):
    check()
