"""What the kit of laws does not check."""

import polars as pl

import streammetrics as sm
from streammetrics.testing import checks

REFUSALS = {
    "text": (lambda: checks("precision"), "str"),
    "a task whose columns are expressions": (lambda: checks(sm.binary(y_true="y", y_score=pl.col("p") / 2)), "rows="),
    "a gap of an unknown check": (
        lambda: checks(sm.statistics.RowCounts(), gaps={"two rows at a time": "no reason"}),
        "'two rows at a time'",
    ),
}
