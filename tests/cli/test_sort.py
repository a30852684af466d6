"""Groups sorted by a metric on the command line, the worst first."""

import io

import polars as pl
from commands import run

import streammetrics as sm

ROWS = pl.DataFrame(
    {
        "y": [1, 0, 1, 0, 1, 0, 1, 1],
        "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4, 0.9, 0.8],
        "g": ["perfect", "perfect", "reversed", "reversed", None, None, "one class", "one class"],
    }
)
SORTED = {
    "roc_auc": ["reversed", None, "perfect", "one class"],  # higher is better; undefined for one class
    "log_loss": ["reversed", None, "one class", "perfect"],  # lower is better
    "prevalence": ["one class", "perfect", "reversed", None],  # neither: the highest first, ties as they were
}


def test_the_worst_group_and_the_metric_come_first(tmp_path):
    """A group of several models is placed by the worst of them."""
    rows, alone, models = (tmp_path / name for name in ("rows.parquet", "alone.state", "models.state"))
    ROWS.write_parquet(rows)
    sm.binary(y_true="y", y_score="p", by="g").update(ROWS).save(alone)
    constant = pl.lit(0.6).alias("q")
    sm.binary(y_true="y", y_score={"p": "p", "q": constant}, by="g").update(ROWS.drop_nulls().head(4)).save(models)

    def groups(*command):
        return pl.read_csv(io.StringIO(run(*command, "--format", "csv")))["g"].unique(maintain_order=True).to_list()

    for metric, expected in SORTED.items():
        evaluated = ["evaluate", rows, "--y-true", "y", "--y-score", "p", "--by", "g", "--sort", metric]
        assert groups("show", alone, "--sort", metric) == groups(*evaluated) == expected
    assert groups("show", models, "--sort", "roc_auc")[0] == "reversed"
    shown = run("show", alone, "--sort", "roc_auc", "--metric", "rows", "--metric", "f1").splitlines()
    assert shown[0].split() == ["g", "roc_auc", "rows", "f1"]
    assert [line.split()[0] for line in shown[2:6]] == ["reversed", "null", "perfect", "one"]
