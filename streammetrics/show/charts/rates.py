"""Charts of predicted and observed rates by group, and of stated and true rates of predicted labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import joined, matching, percentage, readable, require_group_columns, rows, whole_percentage
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import ReportError
from streammetrics.metrics import wilson_interval
from streammetrics.show.charts.axes import BETWEEN, Spec, axis, names_axis
from streammetrics.show.charts.estimates import reach
from streammetrics.show.charts.marks import Marks, panel, titled
from streammetrics.show.charts.series import Reports, Together

if TYPE_CHECKING:
    from streammetrics.report import Report

MOST_GROUPS = 12
LEVEL = 0.95
RATIO = "calibration_ratio"
HALF = 0.5  # probability that no two labels of a row exceed
STATED = ["stated", "right"]
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
    differences = [*map(_difference, rows(frame.head(MOST_GROUPS)))]
    x = axis("Share of positives", 0.0, reach((0.0, 1.0), *frame.head(MOST_GROUPS).select([*SIDES]))[1], percent=True)
    caption = f"Largest difference first, by the {level * 100:g}% confidence interval of the ratio."
    return _pairs(frame, by, [*SIDES], differences, x, f"Predicted and observed rate by {by}", caption)


def stated(report: Report, /, **keys: Any) -> Spec:
    """Return the mean probability of each predicted label and the share that is right, as two dots.

    Labels that certainly differ most are first, of many only these. Rows count if a label has a probability above 0.5.
    """
    level = report.confidence or LEVEL
    bins = report.curve("calibration")
    bins = matching(bins, bins.columns, keys).filter(pl.col("lowest") >= HALF, pl.col("weight") > 0)
    if MODEL in bins.columns and bins.n_unique(MODEL) > 1:
        raise ReportError("The chart shows one model. Select it with: model.")
    weight, *means = pl.sum("weight"), *((pl.col("weight") * pl.col(c)).sum() for c in ("mean_score", "observed_rate"))
    score, right = STATED
    frame = bins.group_by(LABEL, maintain_order=True).agg(weight, **dict(zip(STATED, means, strict=True)))
    frame = frame.with_columns(pl.col(STATED) / pl.col("weight"))
    low = high = frame[right]
    if not report.state.weighted:
        low, high = map(pl.Series, wilson_interval(frame[right] * frame["weight"], frame["weight"], level))
    distance = pl.max_horizontal(low - frame[score], frame[score] - high, pl.lit(0.0))
    frame = frame.with_columns(distance=distance).sort("distance", descending=True, maintain_order=True)
    differences = [_shares(row) if row["distance"] else "" for row in rows(frame.head(MOST_GROUPS))]
    x = axis("Share of these rows", *reach((0.0, 1.0), *frame.head(MOST_GROUPS).select(STATED)), percent=True)
    caption = "Rows with a probability above 50%, by predicted label. Largest difference first" + (
        f", by the {level * 100:g}% confidence interval of the share that is right." if low is not high else "."
    )
    return _pairs(frame, LABEL, STATED, differences, x, "Stated confidence, and how often it is right", caption)


def _pairs(
    frame: pl.DataFrame, by: str, sides: Sequence[str], differences: Sequence[str], x: Spec, title: str, caption: str
) -> Spec:
    """Two dots and a line between them in each of the first groups, with their difference below their name."""
    shown = frame.head(MOST_GROUPS)
    values = readable(shown[by]).fill_null("null")
    names = [name + difference for name, difference in zip(values, differences, strict=True)]
    shown = shown.with_columns(y=pl.Series(names, dtype=pl.String))
    first, second = sides
    lines = shown.select(pl.lit(second).alias("series"), pl.col(first).alias("x"), "y", x2=second)
    marks: list[Marks] = [("interval", lines), *(("dot", _dots(shown, side)) for side in sides)]
    what = "labels" if by == LABEL else "groups"
    cut = f"{shown.height} of {frame.height:,} {what}" if shown.height < frame.height else ""
    y = names_axis(by, names, grid=True, two_lines=True)
    return titled(panel(x, y, marks, sides), title, [cut], [caption])


def _shares(row: dict[str, Any]) -> str:
    return BETWEEN + ", ".join(f"{whole_percentage(row[side])} {side}" for side in STATED)


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
