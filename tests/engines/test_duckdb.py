"""DuckDB as an engine."""

import re
from pathlib import Path

import numpy as np
import pytest
from conformance import Conformance

import streammetrics as sm

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parent.parent.parent


class TestDuckDB(Conformance):
    retries = False

    @property
    def engine(self):
        from streammetrics.engines import duckdb

        return duckdb

    def source(self, folder):
        return pytest.importorskip("duckdb").read_parquet(str(folder / "*.parquet"))


def test_states_are_added_up_by_sql(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    acc = sm.binary(y_true="y", y_score="p", by="country")
    (tmp_path / "states").mkdir()
    for number, size in enumerate((200_000, 300, 0, 90_000)):  # bins of one state are coarser than those of another
        r = np.random.default_rng(number)
        p = np.where(r.random(size) < 0.02, r.integers(0, 2, size), r.beta(0.5, 8, size))
        country = np.array(["DE", "FR", "US"])[r.integers(0, 3, size)]
        state = acc.empty().update({"y": r.random(size) < np.clip(p, 0.01, 0.99), "p": p, "country": country})
        state.save(tmp_path / "states" / f"{number}.parquet")
    monkeypatch.chdir(tmp_path)
    statement = re.search(r"```sql\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    found = duckdb.sql(statement).pl()
    parts = [sm.Accumulator.load(path) for path in (tmp_path / "states").glob("*.parquet")]
    assert len({part.state.tables["score_histogram"]["shift"].max() for part in parts}) > 2
    total = sm.merge(parts)
    report = total.finalize(found.columns[1:])
    for row in found.iter_rows(named=True):
        for metric in found.columns[1:]:
            estimate = report.get(metric, country=row["country"])
            assert float(row[metric]) == pytest.approx(estimate.value, rel=1e-12)
