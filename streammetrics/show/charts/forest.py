"""Forest plots: the differences of two sides with their intervals, grey if they are not significant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import (
    VOLUME,
    compared,
    hidden,
    in_units,
    interval,
    named,
    outer_limits,
    rows,
    told_apart,
    value_text,
)
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import Metric, in_a_sentence, words
from streammetrics.show.charts.axes import BETWEEN, Spec, axis, extent, in_two_lines, names_axis
from streammetrics.show.charts.estimates import groups_of
from streammetrics.show.charts.marks import across, dots, intervals, layered
from streammetrics.show.charts.series import PLACE

if TYPE_CHECKING:
    from streammetrics.report import Comparison

OPEN = "not significant"  # series
MOST = 30  # metrics or groups
FARTHEST = 8.0  # half widths of an interval, beyond which more is no more evidence
LOW, HIGH = hidden("low"), hidden("high")
SERIES = ("holds", "breached", "open")
DISTANCE = "← breached · in half widths of each interval · holds →"


def forest(comparison: Comparison, /, metric: str | Metric | None = None) -> Spec:
    """Return the differences of all metrics of all rows, or those of one metric in each group.

    Intervals are widened by the certified bounds. Metrics share an axis in units of their intervals, so that each
    interval has a length of 2, and is significant if it does not contain 0. The better side is that of the dot.

    Raises:
        ReportError: If there are several models, or no groups.
        MetricError: If the metric is unknown or not available.
    """
    return _of_metrics(comparison.total) if metric is None else _of_groups(comparison, comparison.b.find(metric))


def _of_metrics(total: Comparison) -> Spec:
    if total.b.by:
        raise ReportError(
            "The comparison has several models. Pass ", Argument("metric"), " to show the differences of each."
        )
    judged = {m.name: m for m in total.b.metrics if m.better and m.name not in VOLUME}
    every = total.frame.filter(pl.col("metric").is_in(list(judged)))
    if every.is_empty():
        raise ReportError("No metric of the comparison has a preferred direction.")
    sign = pl.col("metric").replace_strict({m.name: 1 if m.better == "high" else -1 for m in judged.values()})
    known = with_ends(every, "difference")
    frame = known.unique((pl.col("difference") * sign).round_sig_figs(9), maintain_order=True)  # one of twins
    keys, omitted = told_apart(every), every["metric"].unique(maintain_order=True)
    places = [named({**row, "metric": words(judged[row["metric"]])}, keys) for row in rows(frame)]
    unit = 2 * sign / (pl.col(HIGH) - pl.col(LOW))
    scaled = frame.with_columns((pl.col("difference", LOW, HIGH) * unit).clip(-FARTHEST, FARTHEST))
    frame = scaled.with_columns(pl.Series(PLACE, places, pl.String), _told(total, frame)).head(MOST)
    a, b = total.names
    omitted = omitted.filter(~omitted.is_in(known["metric"].implode()))
    cut = f"the first {MOST} of {len(places)}" if len(places) > MOST else ""
    without = f"Without an interval: {', '.join(omitted)}." if len(omitted) else ""
    far = "At an end of the axis: larger differences." if (scaled["difference"].abs() == FARTHEST).any() else ""
    return _drawn(
        total,
        frame,
        f"{b} compared with {a}",
        axis(f"← {a} better · in half widths of each interval · {b} better →", *reach(frame, FARTHEST)),
        "",
        cut,
        " ".join(filter(None, (far, without))),
    )


def _of_groups(comparison: Comparison, metric: Metric) -> Spec:
    if not (by := comparison.b.by):
        raise ReportError(
            "The comparison has no groups. Omit ", Argument("metric"), " to show the differences of all metrics."
        )
    frame = with_ends(comparison.frame.filter(metric=metric.name), "difference")
    if told_apart(frame) != [key for key in told_apart(frame) if key in by]:
        raise ReportError(f"{metric.name} has several values in each group, such as one per threshold.")
    frame = frame.with_columns(_told(comparison, frame))
    significant = pl.col("better").is_in(comparison.names)
    shown = frame.sort(significant, pl.col("difference").abs(), descending=True).head(MOST).sort("difference")
    places = groups_of(comparison.b, shown, by, most=frame.height)
    (a, b), total = comparison.names, comparison.total.frame.filter(metric=metric.name)["difference"].drop_nulls()
    return _drawn(
        comparison,
        places.of(shown).rename({"series": PLACE}),
        f"Difference in {in_a_sentence(metric)} by {places.legend or 'group'}",
        axis(f"{metric.name}: {b} minus {a}", *reach(shown)),
        places.legend or "group",
        f"the {MOST} largest of {frame.height:,}" if frame.height > MOST else "",
        "Dotted lines: 0, and all groups together.",
        total.to_list()[:1],
    )


def _told(comparison: Comparison, frame: pl.DataFrame) -> pl.Series:
    """Both values and their difference as text."""
    a, b = comparison.names
    texts = []
    for row in rows(frame):
        one, other, difference = compared(row)
        ends = interval(row["ci_lower"], row["ci_upper"], difference)
        texts.append(f"{a} {one}, {b} {other}, difference {difference} ({ends})")
    return pl.Series("text", texts, pl.String)


def reach(frame: pl.DataFrame, most: float = math.inf) -> tuple[float, float]:
    """Return the ends of an axis that shows the intervals, up to a distance, and 0."""
    low, high = extent(frame[LOW], frame[HIGH], pl.Series([0.0]))
    return max(low, -most), min(high, most)


def _drawn(
    comparison: Comparison,
    frame: pl.DataFrame,
    title: str,
    x: Spec,
    what: str,
    cut: str,
    caption: str,
    lines: Sequence[float] = (),
) -> Spec:
    sides = [f"{name} better" for name in comparison.names]
    better = pl.col("better").replace_strict(dict(zip(comparison.names, sides, strict=True)), default=OPEN)
    frame = frame.with_columns(better.alias("series"), x="difference")
    level = f"{(comparison.confidence or 0) * 100:g}% confidence intervals, widened by the certified bounds"
    y, layers = of_intervals(frame, what, x, lines)
    return layered(title, x, y, layers, (*sides, OPEN), "", [cut, level], [caption], grey=OPEN)


def with_ends(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return the rows with an interval, and its ends `LOW` and `HIGH`, widened by the certified bounds."""
    if "ci_lower" not in frame.columns:
        return frame.clear().with_columns(pl.lit(None, pl.Float64).alias(end) for end in (LOW, HIGH))
    low, high = outer_limits(value)
    known = frame.with_columns(low.alias(LOW), high.alias(HIGH)).drop_nulls([LOW, HIGH])
    return known.filter(pl.all_horizontal(pl.col(value, LOW, HIGH).is_finite()), pl.col(HIGH) > pl.col(LOW))


def of_intervals(frame: pl.DataFrame, title: str, x: Spec, lines: Sequence[float] = ()) -> tuple[Spec, list[Spec]]:
    """Return the axis of names, and the dot and the interval of each row, with vertical lines at 0 and other places.

    ``frame`` has the columns ``x``, ``series``, ``text``, and those of `PLACE`, `LOW`, and `HIGH`.
    """
    y = names_axis(title, frame[PLACE].unique(maintain_order=True).to_list(), grid=True)
    ends = frame.select("series", x=pl.col(LOW), y=PLACE, x2=pl.col(HIGH))
    return y, [*map(across, (0.0, *lines)), intervals(ends), dots(frame.select("series", "x", "text", y=PLACE), x, y)]


def limits(frame: pl.DataFrame) -> Spec:
    """Return the distance of each value from its limit, in units of its interval, so that each has a length of 2.

    The frame is that of `streammetrics.Verdicts`. Intervals are widened by the certified bounds. Of many verdicts,
    those that do not pass are first.
    """
    bounded = pl.col("reasons").list.contains("before_labels")
    ends = (pl.when(bounded).then("value").otherwise(end).alias(end) for end in ("lower", "upper"))
    known = with_ends(frame.with_columns(ends), "value")
    shown = known.sort("passes", maintain_order=True) if known.height > MOST else known
    toward = pl.when(pl.col("comparison").str.starts_with(">")).then(1.0).otherwise(-1.0)
    distance = ((pl.col("value", LOW, HIGH) - pl.col("limit")) * 2 * toward / (pl.col(HIGH) - pl.col(LOW))).clip(
        -FARTHEST, FARTHEST
    )
    several = frame["where"].replace("", None).drop_nulls().n_unique() > 1
    place = pl.concat_str("rule", pl.col("where").replace("", None), separator=BETWEEN, ignore_nulls=True)
    place = place if several else pl.col("rule")
    drawn = shown.head(MOST).with_columns(
        distance,
        place.alias(PLACE),
        pl.struct(place.alias(PLACE), *frame.columns).map_elements(_in_words, return_dtype=pl.String).alias("text"),
        pl.when(pl.col("verdict").is_in(SERIES)).then("verdict").otherwise(pl.lit("open")).alias("series"),
    )
    cut = f"the first {MOST} of {known.height:,}" if known.height > MOST else ""
    far = "At an end of the axis: larger distances." if (drawn["value"].abs() == FARTHEST).any() else ""
    without = f"Without an interval: {frame.height - known.height:,} of {frame.height:,}."
    x = axis(DISTANCE, *reach(drawn, FARTHEST))
    y, layers = of_intervals(drawn.rename({"value": "x"}), "", x)
    y = in_two_lines(y) if several else y
    facts = [cut, "confidence intervals, widened by the certified bounds"]
    caption = [far, without if known.height < frame.height else ""]
    return layered("Distance from each limit", x, y, layers, SERIES, "", facts, caption, grey="open")


def _in_words(row: dict[str, Any]) -> str:
    scaled, unit = in_units(row)
    ends = interval(scaled["ci_lower"], scaled["ci_upper"])
    return f"{row[PLACE]}: {value_text(scaled)}{unit} ({ends}{unit}), {row['verdict']}"
