"""Arguments of a wrong type are rejected in a sentence, and numpy's numbers are numbers."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.engines import duckdb, ray, spark

ROWS = {"y": [1, 0, 1, 0] * 500, "p": np.linspace(0, 1, 2000), "g": [1, 1, 2, 2] * 500}
ACC = sm.binary(y_true="y", y_score="p", by="g").update(ROWS)
REPORT = ACC.finalize()
WRONG = (True, 1.5, "2", b"2", [2], {"a": 2}, pl.Series([2, 3]), np.array([2, 3]), np.bool_(True), float("nan"), -1)

INTEGERS = {
    "report.check": lambda n: REPORT.check("roc_auc >= 0.4", min_rows=n),
    "worst": lambda n: REPORT.worst("log_loss", min_rows=n),
    "first": lambda n: REPORT.worst("log_loss", n),
    "gaps": lambda n: REPORT.gaps("accuracy", over="g", min_rows=n),
    "slices": lambda n: REPORT.slices("log_loss", min_rows=n),
    "depth": lambda n: REPORT.slices("log_loss", depth=n),
    "bins": lambda n: sm.drift(ACC, ACC, bins=n),
    "rule": lambda n: sm.Rule("roc_auc >= 0.5", min_rows=n),
    "workers": lambda n: sm.evaluate(iter([ROWS]), ACC.empty(), workers=n),
    "max_groups": lambda n: sm.binary(y_true="y", y_score="p", max_groups=n),
}
SOURCES = {
    "relation= must be a DuckDB relation, such as duckdb.sql(query)": duckdb,
    "df= must be a Spark data frame": spark,
    "dataset= must be a Ray dataset": ray,
}
LEVELS = {
    "report.check": lambda level: REPORT.check("roc_auc >= 0.4", confidence=level),
    "finalize": lambda level: ACC.finalize("accuracy", confidence=level),
    "compare": lambda level: sm.compare(ACC, ACC, confidence=level),
    "drift": lambda level: sm.drift(ACC, ACC, confidence=level),
    "fdr": lambda level: REPORT.slices("log_loss", fdr=level),
    "rule": lambda level: sm.Rule("roc_auc >= 0.5", confidence=level),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    for given in (2, np.int64(2), np.uint8(2)):
        INTEGERS[name](given)
    for given in WRONG:
        with pytest.raises(sm.SpecificationError, match=r"must be an integer of at least \d, got "):
            INTEGERS[name](given)


def test_the_number_of_rows_of_intervals_at_every_look():
    one, other = (ACC.finalize(["accuracy"], confidence=0.9, always=n).frame for n in (1000, np.int64(1000)))
    assert one.equals(other)


@pytest.mark.parametrize("name", LEVELS)
def test_levels(name):
    for given in (0.9, np.float64(0.9), np.float32(0.9)):
        LEVELS[name](given)
    for given in WRONG:
        with pytest.raises(sm.SpecificationError, match=r"must be between (0|0\.5) and 1, got "):
            LEVELS[name](given)


@pytest.mark.parametrize("given", [*WRONG, None, ["fail"]])
def test_what_open_verdicts_do(given):
    with pytest.raises(sm.SpecificationError, match="open= must be 'pass' or 'fail', got"):
        REPORT.check("roc_auc >= 0.4", open=given)


@pytest.mark.parametrize("given", [*WRONG, "ab", ("a",), ("a", "b", "c"), ("a", 1), pl.Series(["a", "b"])])
def test_names_of_both_sides(given, tmp_path):
    with pytest.raises(sm.SpecificationError, match="names= must be two strings, got"):
        sm.compare(ACC, ACC).save_html(tmp_path / "page.html", names=given)


def test_the_highest_confidence_level_has_an_interval():
    widest, usual = (
        ACC.rollup().finalize("accuracy", confidence=level)["accuracy"] for level in (np.nextafter(1, 0), 0.95)
    )
    assert widest.ci_lower < usual.ci_lower < usual.ci_upper < widest.ci_upper


@pytest.mark.parametrize("message", SOURCES)
def test_sources_of_engines(message):
    with pytest.raises(sm.SourceError) as raised:
        SOURCES[message].evaluate("select 1", ACC)
    assert str(raised.value) == f"{message}, got str."


def test_statistics_of_different_tasks_are_refused():
    both = "Statistics of different tasks cannot be combined: multiclass and regression"
    with pytest.raises(sm.SpecificationError, match=both):
        sm.Accumulator(sm.ConfusionMatrix(), sm.ErrorMoments(), y_true="y", y_pred="p")
