"""Verdicts as a chart: how far the interval of each requirement is from its limit."""

from __future__ import annotations

from typing import Any

import polars as pl

from streammetrics.charts.forest import FARTHEST, HIGH, LOW, MOST, of_intervals, reach, with_ends
from streammetrics.charts.picture import Axis, Picture
from streammetrics.charts.series import PLACE
from streammetrics.frame import BEFORE_LABELS
from streammetrics.text.decimals import in_units, interval, said

SERIES = ("holds", "breached", "open")
DISTANCE = "← breached · in half widths of each interval · holds →"


def limits(frame: pl.DataFrame) -> Picture:
    """Return the distance of each value from its limit, in units of its interval, so that each has a length of 2.

    The frame is that of `streammetrics.Verdicts`. Intervals are widened by the certified bounds. Of many verdicts,
    those that do not pass are first.
    """
    bounded = pl.col("rule").str.contains(BEFORE_LABELS, literal=True)
    ends = (pl.when(bounded).then("value").otherwise(end).alias(end) for end in ("lower", "upper"))
    known = with_ends(frame.with_columns(ends), "value")
    shown = known.sort("passes", maintain_order=True) if known.height > MOST else known
    toward = pl.when(pl.col("comparison").str.starts_with(">")).then(1.0).otherwise(-1.0)
    distance = ((pl.col("value", LOW, HIGH) - pl.col("limit")) * 2 * toward / (pl.col(HIGH) - pl.col(LOW))).clip(
        -FARTHEST, FARTHEST
    )
    several = frame["where"].replace("", None).drop_nulls().n_unique() > 1
    place = pl.concat_str(pl.col("where").replace("", None), "rule", separator=" · ", ignore_nulls=True)
    place = place if several else pl.col("rule")
    drawn = shown.head(MOST).with_columns(
        distance,
        place.alias(PLACE),
        pl.struct(place.alias(PLACE), *frame.columns).map_elements(_told, return_dtype=pl.String).alias("text"),
        pl.when(pl.col("verdict").is_in(SERIES)).then("verdict").otherwise(pl.lit("open")).alias("series"),
    )
    cut = f"the first {MOST} of {known.height:,}; " if known.height > MOST else ""
    far = "At an end of the axis: larger distances. " if (drawn["value"].abs() == FARTHEST).any() else ""
    without = frame.height - known.height
    picture = Picture(
        "Distance from each limit",
        Axis(DISTANCE, *reach(drawn, FARTHEST)),
        Axis(""),
        [],
        SERIES,
        subtitle=f"{cut}confidence intervals, widened by the certified bounds",
        caption=f"{far}Without an interval: {without:,} of {frame.height:,}." if without else far,
        grey="open",
    )
    return of_intervals(picture, drawn.rename({"value": "x"}))


def _told(row: dict[str, Any]) -> str:
    scaled, unit = in_units(row)
    ends = interval(scaled["ci_lower"], scaled["ci_upper"])
    return f"{row[PLACE]}: {said(scaled)}{unit} ({ends}{unit}), {row['verdict']}"
