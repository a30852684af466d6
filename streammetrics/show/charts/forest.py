"""Forest plots: the differences of two sides with their intervals, grey if they are not significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import (
    VOLUME,
    compared,
    in_units,
    interval,
    minus,
    outer_limits,
    rows,
    told_apart,
    value_text,
)
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import Metric, in_a_sentence, words
from streammetrics.show.charts.axes import BETWEEN, Spec, axis, names_axis
from streammetrics.show.charts.estimates import HIGH, LOW, interval_marks, reach
from streammetrics.show.charts.importance import ranked_metrics
from streammetrics.show.charts.marks import panel, stacked, titled
from streammetrics.show.charts.series import PLACE, series_of

if TYPE_CHECKING:
    from streammetrics.report import Comparison

OPEN = "not significant"  # series
MOST = 30  # groups or verdicts
IMPORTANT = 6  # metrics
TICKS = 4  # of the axis of a metric, at most about
METRIC_HEIGHT = 30  # pixels of the plot of a metric
AXES = "Each metric has an axis of its own, in its own unit."
HALF_WIDTHS = "← breached · in half widths of each interval · holds →"
FARTHEST = 8.0  # half widths of an interval, beyond which more is no more evidence
SERIES = ("holds", "breached", "open")
UNLIMITED = (float("-inf"), float("inf"))
ORIGIN = pl.Series([0.0])


def forest(comparison: Comparison, /, metric: str | Metric | None = None) -> Spec:
    """Return the differences of the most important metrics of all rows, or those of one metric in each group.

    Intervals are widened by the certified bounds, and a difference is significant if its interval does not contain 0.
    Each metric has an axis of its own, on whose right side the second report is better.

    Raises:
        ReportError: If there are several models, or no groups.
        MetricError: If the metric is unknown or not available.
    """
    if metric is None:
        return _differences_of_metrics(comparison)
    return _differences_of_groups(comparison, comparison.b.find(metric))


def _differences_of_metrics(comparison: Comparison) -> Spec:
    total, (a, b) = comparison.total, comparison.names
    if total.b.by:
        raise ReportError(
            "The comparison has several models. Pass ", Argument("metric"), " to show the differences of each."
        )
    metrics = [metric for metric in ranked_metrics(total.b) if metric.better and metric.name not in VOLUME]
    metrics.sort(key=lambda metric: metric != comparison.primary)
    differences = _with_ends(total.frame, "difference")
    if differences.is_empty() and not total.frame["metric"].is_in([metric.name for metric in metrics]).any():
        raise ReportError("No metric of the comparison has a preferred direction.")
    panels = list[Spec]()
    for metric in metrics:
        frame = differences.filter(metric=metric.name)
        if frame.height == 1 and len(panels) < IMPORTANT:
            panels.append(_difference(total, metric, frame))
    if not panels:
        panels = [panel(axis(""), names_axis("", []), [])]
    panels[-1]["encoding"]["x"] |= {"title": f"← {a} better{BETWEEN}{b} better →"}
    return titled(stacked(*panels), f"{b} compared with {a}", [_level(comparison)], [AXES])


def _difference(total: Comparison, metric: Metric, frame: pl.DataFrame) -> Spec:
    """The difference of a metric, on an axis around 0 whose right side is better."""
    text, [difference] = compared(frame.row(0, named=True))[-1], frame["difference"]
    name = f"{words(metric)}{BETWEEN}{'+' * (difference > 0)}{minus(text)}"
    farthest = 1.05 * max(map(abs, (*frame[LOW], *frame[HIGH])))
    x = axis("", *((-farthest, farthest) if metric.better == "high" else (farthest, -farthest)))
    x["axis"] |= {"tickCount": TICKS}
    drawn = _panel(total, frame.with_columns(pl.lit(name).alias(PLACE)), x, names_axis("", [name], two_lines=True))
    return drawn | {"height": METRIC_HEIGHT}


def _differences_of_groups(comparison: Comparison, metric: Metric) -> Spec:
    if not (by := comparison.b.by):
        raise ReportError(
            "The comparison has no groups. Omit ", Argument("metric"), " to show the differences of all metrics."
        )
    frame = _with_ends(comparison.frame.filter(metric=metric.name), "difference")
    if told_apart(frame) != [key for key in told_apart(frame) if key in by]:
        raise ReportError(f"{metric.name} has several values in each group, such as one per threshold.")
    significant = pl.col("better").is_in(comparison.names)
    largest = frame.sort(significant, pl.col("difference").abs(), descending=True).head(MOST).sort("difference")
    places = series_of(comparison.b, largest, {}, frame.height, by)
    drawn, legend = places.frame.rename({"series": PLACE}), places.legend or "group"
    (a, b), total = comparison.names, comparison.total.frame.filter(metric=metric.name)["difference"].drop_nulls()
    x = axis(f"{words(metric)}: {b} minus {a}", *reach(UNLIMITED, drawn[LOW], drawn[HIGH], ORIGIN))
    title = f"Difference in {in_a_sentence(metric)} by {legend}"
    cut = f"the {MOST} largest of {frame.height:,}" if frame.height > MOST else ""
    caption = ["Dotted lines: 0, and all groups together."]
    y = names_axis(legend, drawn[PLACE].unique(maintain_order=True).to_list(), grid=True)
    return titled(_panel(comparison, drawn, x, y, [0.0, *total[:1]]), title, [cut, _level(comparison)], caption)


def _panel(comparison: Comparison, frame: pl.DataFrame, x: Spec, y: Spec, lines: Sequence[float] = (0.0,)) -> Spec:
    """Differences at their places, colored by the better side, with both values in their tooltips."""
    a, b = comparison.names
    texts = []
    for row in rows(frame):
        first, second, difference = compared(row)
        ends = interval(row["ci_lower"], row["ci_upper"], difference)
        texts.append(f"{a} {first}, {b} {second}, difference {difference} ({ends})")
    sides = {name: f"{name} better" for name in comparison.names}
    better = pl.col("better").replace_strict(sides, default=OPEN)
    drawn = frame.with_columns(pl.Series("text", texts, pl.String), series=better, x="difference")
    return panel(x, y, interval_marks(drawn, lines), (*sides.values(), OPEN), grey=OPEN)


def _level(comparison: Comparison) -> str:
    return f"{(comparison.confidence or 0) * 100:g}% confidence intervals, widened by the certified bounds"


def limits(frame: pl.DataFrame) -> Spec:
    """Return the distance of each value from its limit, in units of its interval, so that each has a length of 2.

    The frame is that of `streammetrics.Verdicts`. Intervals are widened by the certified bounds. Of many verdicts,
    those that do not pass are first.
    """
    is_bound = pl.col("reasons").list.contains("before_labels")
    ends = (pl.when(is_bound).then("value").otherwise(end).alias(end) for end in ("lower", "upper"))
    bounded = _with_ends(frame.with_columns(ends), "value")
    first = (bounded.sort("passes", maintain_order=True) if bounded.height > MOST else bounded).head(MOST)
    groups, verdict = pl.col("where").replace("", None), pl.col("verdict")
    has_groups = frame.select(groups.drop_nulls().n_unique() > 1).item()
    places = pl.concat_str(["rule", groups] if has_groups else ["rule"], separator=BETWEEN, ignore_nulls=True)
    drawn = first.with_columns(places.alias(PLACE)).with_columns(
        pl.struct(pl.all()).map_elements(_verdict_text, return_dtype=pl.String).alias("text"),
        pl.when(verdict.is_in(SERIES)).then(verdict).otherwise(pl.lit("open")).alias("series"),
    )
    toward = pl.when(pl.col("comparison").str.starts_with(">")).then(1.0).otherwise(-1.0)
    drawn = _half_widths(drawn, pl.col("value"), toward, pl.col("limit"))
    x = axis(HALF_WIDTHS, *reach((-FARTHEST, FARTHEST), drawn[LOW], drawn[HIGH], ORIGIN))
    y = names_axis("", drawn[PLACE].unique(maintain_order=True).to_list(), grid=True, two_lines=has_groups)
    chart = panel(x, y, interval_marks(drawn, [0.0]), SERIES, grey="open")
    cut = f"the first {MOST} of {bounded.height:,}" if bounded.height > MOST else ""
    facts, unbounded = [cut, "confidence intervals, widened by the certified bounds"], frame.height - bounded.height
    far = "At an end of the axis: larger distances." if (drawn["x"].abs() == FARTHEST).any() else ""
    missing = f"Without an interval: {unbounded:,} of {frame.height:,}." if unbounded else ""
    return titled(chart, "Distance from each limit", facts, [far, missing])


def _verdict_text(row: dict[str, Any]) -> str:
    scaled, unit = in_units(row)
    ends = interval(scaled["ci_lower"], scaled["ci_upper"])
    return f"{row[PLACE]}: {value_text(scaled)}{unit} ({ends}{unit}), {row['verdict']}"


def _with_ends(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    """The rows with an interval, and its ends `LOW` and `HIGH`, widened by the certified bounds."""
    if "ci_lower" not in frame.columns:
        return frame.clear().with_columns(pl.lit(None, pl.Float64).alias(end) for end in (LOW, HIGH))
    low, high = outer_limits(value)
    bounded = frame.with_columns(low.alias(LOW), high.alias(HIGH)).drop_nulls([LOW, HIGH])
    return bounded.filter(pl.all_horizontal(pl.col(value, LOW, HIGH).is_finite()), pl.col(HIGH) > pl.col(LOW))


def _half_widths(frame: pl.DataFrame, value: pl.Expr, toward: pl.Expr, limit: pl.Expr) -> pl.DataFrame:
    """Distances of a value ``x`` and its ends from a limit in half widths of the interval, positive where better."""
    ends = (pl.col(LOW), pl.col(HIGH), value.alias("x"))
    half_width = (pl.col(HIGH) - pl.col(LOW)) / 2
    return frame.with_columns(((end - limit) * toward / half_width).clip(-FARTHEST, FARTHEST) for end in ends)
