"""Groups sorted by a metric on the command line, the worst first."""

import io

import polars as pl
import pytest
from commands import run

import streammetrics as sm

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


def test_the_worst_group_comes_first(folder):
    evaluated = ["evaluate", folder / "rows.parquet", "--y-true", "y", "--y-score", "p", "--by", "g"]
    for metric, expected in SORTED.items():
        options = ["--sort", metric, "--format", "csv"]
        assert groups(run("show", folder / "rows.state", *options)) == groups(run(*evaluated, *options)) == expected


def test_the_metric_is_shown_first(folder):
    shown = run("show", folder / "rows.state", "--sort", "roc_auc", "--metric", "rows", "--metric", "f1").splitlines()
    assert shown[0].split() == ["g", "roc_auc", "rows", "f1"]
    assert [line.split()[0] for line in shown[2:6]] == ["reversed", "null", "perfect", "one"]
    total = run("show", folder / "rows.state", "--total", "--sort", "roc_auc", "--metric", "f1")
    assert [line.split()[0] for line in total.splitlines()[2:4]] == ["roc_auc", "f1"]


def test_several_values_of_a_group_place_it_by_the_worst(folder):
    rows = ROWS.filter(pl.col("g").is_in(["perfect", "reversed"]))
    task = sm.binary(y_true="y", y_score={"p": "p", "q": "q"}, by="g", thresholds=(0.05, 0.5))
    task.update(rows).save(folder / "several.state")
    for metric in ("accuracy", "roc_auc"):
        assert groups(run("show", folder / "several.state", "--sort", metric, "--format", "csv"))[0] == "reversed"
