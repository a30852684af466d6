"""Groups sorted by a metric on the command line, the worst first."""

import io

import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics.reading import sorted_by

ROWS = pl.DataFrame(
    {
        "y": [1, 0, 1, 0, 1, 0, 1, 1],
        "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4, 0.9, 0.8],
        "q": [0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6],
        "g": ["perfect", "perfect", "reversed", "reversed", None, None, "one class", "one class"],
    }
)
SORTED = {
    "roc_auc": ["reversed", None, "perfect", "one class"],  # higher is better; undefined for one class
    "log_loss": ["reversed", None, "one class", "perfect"],  # lower is better
    "prevalence": ["one class", "perfect", "reversed", None],  # neither: the highest first, ties as they were
}


@pytest.fixture
def folder(tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    sm.binary(y_true="y", y_score="p", by="g").update(ROWS).save(tmp_path / "rows.state")
    return tmp_path


def groups(csv):
    return pl.read_csv(io.StringIO(csv))["g"].unique(maintain_order=True).to_list()


@pytest.mark.parametrize("metric", SORTED)
def test_the_worst_group_comes_first(folder, metric):
    options = ["--sort", metric, "--format", "csv"]
    evaluated = ["evaluate", folder / "rows.parquet", "--y-true", "y", "--y-score", "p", "--by", "g"]
    assert groups(run("show", folder / "rows.state", *options)) == SORTED[metric]
    assert groups(run(*evaluated, *options)) == SORTED[metric]


def test_the_metric_is_shown_first(folder):
    shown = run("show", folder / "rows.state", "--sort", "roc_auc", "--metric", "rows", "--metric", "f1").splitlines()
    assert shown[0].split() == ["g", "roc_auc", "rows", "f1"]
    assert [line.split()[0] for line in shown[2:6]] == ["reversed", "null", "perfect", "one"]
    total = run("show", folder / "rows.state", "--total", "--sort", "roc_auc", "--metric", "f1")
    assert [line.split()[0] for line in total.splitlines()[2:4]] == ["roc_auc", "f1"]


def test_several_values_of_a_group_place_it_by_the_worst():
    rows = ROWS.filter(pl.col("g").is_in(["perfect", "reversed"]))
    acc = sm.binary(y_true="y", y_score="p", by="g", thresholds=(0.05, 0.5)).update(rows)
    report = sorted_by(acc.finalize(confidence=0.9), "accuracy")
    assert report.frame["g"].unique(maintain_order=True).to_list() == ["reversed", "perfect"]
    assert report.frame.sort("g", "metric", "threshold").equals(
        acc.finalize(["accuracy", *acc.finalize()], confidence=0.9).frame.sort("g", "metric", "threshold")
    )


def test_models_and_units_are_sorted_too():
    rows = ROWS.with_columns(unit=pl.int_range(pl.len()))
    acc = sm.binary(y_true="y", y_score={"p": "p", "q": "q"}, by="g", unit="unit").update(rows)
    report = acc.finalize(confidence=0.9)
    found = sorted_by(report, "roc_auc").frame.filter(metric="roc_auc")
    assert found["value"].to_list() == [*sorted(found["value"].drop_nulls()), None, None]
    assert found.sort("g", "model").equals(report.frame.filter(metric="roc_auc").sort("g", "model"))


@pytest.mark.usefixtures("undrawn")
def test_pages_and_histories_are_sorted(folder):
    run("show", folder / "rows.state", "--sort", "roc_auc", "--html", folder / "page.html")
    assert (folder / "page.html").stat().st_size > 1000
    assert "--sort" in run("store", "report", "--help")
