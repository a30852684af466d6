"""DuckDB as an engine."""

import pytest
from conformance import Conformance

pytestmark = pytest.mark.engine


class TestDuckDB(Conformance):
    retries = False

    @property
    def engine(self):
        from streammetrics.engines import duckdb

        return duckdb

    def source(self, folder):
        return pytest.importorskip("duckdb").read_parquet(str(folder / "*.parquet"))
