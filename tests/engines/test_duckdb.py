"""DuckDB as an engine."""

import re
from pathlib import Path

import polars as pl
import pytest
from laws import laws
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import duckdb as engine
from streammetrics.testing import Engine

pytestmark = pytest.mark.engine


def read(folder):
    return pytest.importorskip("duckdb").read_parquet(str(folder / "*.parquet"))


@pytest.mark.parametrize("check", laws(Engine(engine, read, reorders=False)), ids=str)
def test_laws(check):
    check()


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    write_predictions(tmp_path / "predictions", rows=3_000)
    page = Path(__file__).parents[2] / "docs" / "out-of-core.md"
    example = re.search(r"```py\n(import duckdb\n.*?)```", page.read_text(encoding="utf-8"), re.DOTALL).group(1)
    names = {"task": sm.binary(y_true="clicked", y_score="p_click", by=["country"])}
    exec(compile(example, page.name, "exec"), names)
    weekends = pl.read_parquet("predictions/*.parquet").filter(pl.col("day").dt.weekday() >= 6)
    expected = sm.evaluate(weekends, names["task"])
    assert_frame_equal(names["report"].frame, expected.frame, rel_tol=1e-12)
