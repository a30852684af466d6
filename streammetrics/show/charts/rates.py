"""The chart of predicted and observed rates by group."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from streammetrics.base import joined, percentage, readable, require_group_columns, rows
from streammetrics.data import MODEL
from streammetrics.errors import ReportError
from streammetrics.show.charts.axes import BETWEEN, Spec, axis, names_axis
from streammetrics.show.charts.estimates import reach
from streammetrics.show.charts.marks import Marks, panel, titled
from streammetrics.show.charts.series import Reports, Together

MOST_GROUPS = 12
LEVEL = 0.95
RATIO = "calibration_ratio"
SIDES = {"predicted": "mean_score", "observed": "observed_rate"}


def rates(report: Reports, /, by: str, **keys: Any) -> Spec:
    """Return the predicted and the observed rate of each group as two dots, those that certainly differ most first.

    Of many groups, only the first are shown. For the arguments, see `Plot.rates`.
    """
    if isinstance(report, Together):
        raise ReportError("The chart shows one report. Draw those of both sides, such as comparison.a.plot.rates().")
    require_group_columns([by], report.by)
    level = report.confidence or LEVEL
    report = report.rollup(by, *([MODEL] if MODEL in report.by else [])).showing([RATIO, *SIDES.values()])
    frame = report.with_confidence(level).rows(RATIO, **keys)
    if frame.n_unique(by) < frame.height:
        raise ReportError("The chart shows one model and one label. Select them with: model, label.")
    distance = pl.max_horizontal(1 - pl.col("ci_upper"), pl.col("ci_lower") - 1, 0.0).fill_null(0.0)
    frame = frame.select(by, ratio="value", distance=distance)
    for side, metric in SIDES.items():
        frame = joined(frame, report.rows(metric, **keys).select(by, pl.col("value").alias(side)), [by])
    frame = frame.drop_nulls([*SIDES]).sort("distance", descending=True, maintain_order=True)
    shown = frame.head(MOST_GROUPS)
    values = readable(shown[by]).fill_null("null")
    names = [name + _difference(row) for name, row in zip(values, rows(shown), strict=True)]
    shown = shown.with_columns(y=pl.Series(names, dtype=pl.String))
    lines = shown.select(pl.lit("observed").alias("series"), pl.col("predicted").alias("x"), "y", x2="observed")
    marks: list[Marks] = [("interval", lines), *(("dot", _dots(shown, side)) for side in SIDES)]
    x = axis("Share of positives", 0.0, reach((0.0, 1.0), *shown.select([*SIDES]))[1], percent=True)
    y = names_axis(by, names, grid=True, two_lines=True)
    cut = f"{shown.height} of {frame.height:,} groups" if shown.height < frame.height else ""
    caption = f"Largest difference first, by the {level * 100:g}% confidence interval of the ratio."
    return titled(panel(x, y, marks, [*SIDES]), f"Predicted and observed rate by {by}", [cut], [caption])


def _difference(row: dict[str, Any]) -> str:
    """How far off the predicted rate is, if it certainly is."""
    if not row["distance"] or not math.isfinite(row["ratio"]):
        return ""
    return f"{BETWEEN}{abs(row['ratio'] - 1):.0%} too {'many' if row['ratio'] > 1 else 'few'}"


def _dots(shown: pl.DataFrame, side: str) -> pl.DataFrame:
    texts = [f"{percentage(rate)} {side}" for rate in shown[side]]
    return shown.select(
        pl.lit(side).alias("series"), pl.col(side).alias("x"), "y", text=pl.Series(texts, dtype=pl.String)
    )
