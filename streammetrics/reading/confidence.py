"""Sampling intervals of estimates: off the tables themselves, or by leaving out folds of units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import polars.selectors as cs
from polars import Expr

from streammetrics.metrics import Metric
from streammetrics.metrics.metric import Range
from streammetrics.reading.estimates import ESTIMATE, LIMITS, as_floats, by_group, by_view, estimate, with_label
from streammetrics.reading.intervals import by_delta, drawn, interval, jackknifed
from streammetrics.rows.roles import FOLD
from streammetrics.state.tables import State, roll_up
from streammetrics.statistics import GROUP, Statistic, View
from streammetrics.uncertainty import bootstrap_intervals, delta_intervals, jackknife_interval

CELLS = 512  # of a group, or so, from which tables are drawn anew
AT_ONCE = 1 << 20  # rows of tables, when folds are left out


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """The frame of estimates with ``ci_lower`` and ``ci_upper``: null where a metric has no sound interval.

    Args:
        frame: the estimates of ``state``.
        state: groups and tables.
        metrics: those estimated.
        confidence: probability with which an interval is to hold the metric.
        folds: the same rows by fold of their units, where rows of a unit depend on each other.

    Raises:
        SpecificationError: for a confidence that is not between 0 and 1.
    """
    found = _of_rows(state, metrics, confidence) if folds is None else _of_folds(frame, folds, metrics, confidence)
    keys = [c for c in frame.columns if c in found.columns and c not in ESTIMATE[1:]]
    joined = frame.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(pl.exclude("note"), "note")


def _of_rows(state: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Group columns, kept keys, metric and limits, off the tables of independent rows."""
    parts = [
        with_label(_of_view(statistic, view, state, own, confidence), state.labels_of(statistic))
        for statistic, view, own in by_view(state, metrics)
        if own or not metrics
    ]
    frame = pl.concat(parts, how="diagonal_relaxed")
    return state.groups.join(frame, on=GROUP, maintain_order="right").drop(GROUP)


def _of_view(
    statistic: Statistic, view: View, state: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    table, groups, index = state.tables[statistic.name], state.groups_of(statistic), [GROUP, *view.kept]
    first = next(iter(view.cases(table).values()))
    nothing = (
        first.select(index)
        .clear()
        .with_columns(
            pl.lit(None, t).alias(c) for c, t in {"metric": pl.String(), **dict.fromkeys(LIMITS, pl.Float64())}.items()
        )
    )
    if any(table.schema[c].is_float() for c in statistic.counts):
        return nothing  # weights don't tell how many rows there are
    closed = {m: limits for m in metrics if (limits := interval(m, confidence)) is not None}
    named = {f"{side} of {m}": e for m, pair in closed.items() for side, e in zip(LIMITS, pair, strict=True)}
    parts = [nothing]
    if closed:
        wide = by_group(view, groups, as_floats(view, first), named)
        parts += [
            wide.select(*index, metric=pl.lit(m.name), **{side: pl.col(f"{side} of {m}") for side in LIMITS})
            for m in closed
        ]
    if ratios := [m for m in metrics if by_delta(m)]:
        parts.append(delta_intervals(first, ratios, index, confidence))
    parts += [_drawn(view, groups, first, metrics, counts, confidence) for counts in {*map(drawn, metrics)} - {()}]
    return pl.concat(parts, how="vertical_relaxed")


def _drawn(
    view: View,
    groups: pl.DataFrame,
    table: pl.DataFrame,
    metrics: Sequence[Metric],
    counts: tuple[str, ...],
    confidence: float,
) -> pl.DataFrame:
    """Intervals by a bootstrap, of a table with fewer bins: what these hide is small beside what another sample shows.

    Limits are moved by what the metric is moved by coarser bins.
    """
    index, expressions = [GROUP, *view.kept], {m.name: m.expression() for m in metrics if drawn(m) == counts}
    coarse = _coarse(table, index, counts)
    found = bootstrap_intervals(coarse, expressions, counts, index, confidence)
    values, coarse_values = (
        by_group(view, groups, as_floats(view, t), expressions).unpivot(index=index, variable_name="metric")
        for t in (table, coarse)
    )
    moved = values.with_columns(moved=pl.col("value") - coarse_values["value"]).select(*index, "metric", "moved")
    return (
        found.join(moved, on=[*index, "metric"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(LIMITS) + pl.col("moved"))
        .drop("moved")
    )


def _coarse(table: pl.DataFrame, index: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
    """The table with few cells in each group: bins side by side whose rows lie in the same slice of each count."""
    slices = {
        f"slice of {c}": ((pl.col(c).cum_sum() - pl.col(c) / 2) * (CELLS // len(counts)) / pl.col(c).sum()).over(index)
        for c in counts
    }
    sliced = table.with_columns(**{name: place.fill_nan(0).floor() for name, place in slices.items()})
    joined = sliced.group_by(*index, *slices, maintain_order=True)
    return joined.agg(pl.sum(*counts), cs.ends_with("_low").first(), cs.ends_with("_high").last()).drop(*slices)


def _of_folds(frame: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric and limits, from the values without each fold."""
    keys = [c for c in frame.columns if c not in ESTIMATE[1:]]
    values = frame.select(*keys, total="value")
    metrics = [m for m in metrics if jackknifed(m)]
    left_out = _without_each_fold(folds, metrics).join(values, on=keys, how="left", nulls_equal=True)
    limits = [
        own.group_by(keys, maintain_order=True).agg(
            jackknife_interval(pl.col("value"), pl.col("total").first(), confidence, range=range)
        )
        for range, own in _by_range(left_out, metrics)
    ]
    return pl.concat([_no_limits(frame, keys), *limits], how="vertical_relaxed")


def paired_intervals(
    frame: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Keys, metric and limits of ``b - a``, where the rows of both lie in the same folds of units.

    What both share, such as units that are hard for any model, cancels in the differences (see `jackknife_interval`).

    Args:
        frame: keys, metric, and the values ``a`` and ``b``.
        a: rows by fold.
        b: other rows, or the same ones seen by another model, by fold of the same units.
        metrics: those compared.
        confidence: probability with which an interval is to hold the difference.
    """
    keys, metrics = frame.columns[: frame.columns.index("a")], [m for m in metrics if jackknifed(m)]
    types = frame.select(keys).schema
    left_out = [
        _without_each_fold(folds, metrics).cast(types).select(*keys, FOLD, without=pl.struct("value"))
        for folds in (a, b)
    ]
    values = (
        left_out[0]
        .join(left_out[1], on=[*keys, FOLD], how="full", coalesce=True, nulls_equal=True)
        .join(frame, on=keys, nulls_equal=True)
        .with_columns(a_without=_left_of("without", "a"), b_without=_left_of("without_right", "b"))
    )
    difference, total = pl.col("b_without") - pl.col("a_without"), (pl.col("b") - pl.col("a")).first()
    limits = [
        own.group_by(keys, maintain_order=True).agg(
            jackknife_interval(difference, total, confidence, range=(low - high, high - low))
        )
        for (low, high), own in _by_range(values, metrics)
    ]
    return pl.concat([_no_limits(frame, keys), *limits], how="vertical_relaxed")


def independent_intervals(frame: pl.DataFrame, a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Keys, metric and limits of ``b - a``, where the rows of one tell nothing of those of the other.

    How far each value lies from its own limits tells how far their difference can lie from its limits (Zou & Donner
    2008; Newcombe 1998 for proportions).

    Args:
        frame: keys, metric, and the values ``a`` and ``b``.
        a: estimates with ``ci_lower`` and ``ci_upper``.
        b: others.
    """
    keys = frame.columns[: frame.columns.index("a")]
    both = frame
    for name, limits in (("a", a), ("b", b)):
        named = {f"{name}_{side}": pl.col(side) for side in LIMITS}
        ends = limits.select(*keys, **named).cast(frame.select(keys).schema)
        both = both.join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left")
    below_a, below_b = (pl.col(x) - pl.col(f"{x}_ci_lower") for x in ("a", "b"))
    above_a, above_b = (pl.col(f"{x}_ci_upper") - pl.col(x) for x in ("a", "b"))
    difference = pl.col("b") - pl.col("a")
    lower, upper = difference - (below_b**2 + above_a**2).sqrt(), difference + (above_b**2 + below_a**2).sqrt()
    return both.select(*keys, ci_lower=lower.fill_nan(None), ci_upper=upper.fill_nan(None))


def _left_of(without: str, total: str) -> Expr:
    """The value without a fold: that of all rows, where none of them is in the fold."""
    return pl.when(pl.col(without).is_null()).then(total).otherwise(pl.col(without).struct.field("value"))


def _by_range(frame: pl.DataFrame, metrics: Sequence[Metric]) -> Iterator[tuple[Range, pl.DataFrame]]:
    """The rows of metrics that have the same range."""
    for range in dict.fromkeys(m.range for m in metrics):
        yield range, frame.filter(pl.col("metric").is_in([m.name for m in metrics if m.range == range]))


def _no_limits(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return frame.select(keys).clear().with_columns(pl.lit(None, pl.Float64).alias(side) for side in LIMITS)


def _without_each_fold(folds: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """The estimates of each group without each of its folds, and the column ``fold``, the one left out."""
    by = [c for c in folds.keys.columns if c != FOLD]
    numbers = folds.keys[FOLD].unique().sort().cast(pl.Int64)
    own, at_once = folds.keys.cast({FOLD: pl.Int64}), max(1, AT_ONCE // max(1, folds.cells))
    parts = [estimate(roll_up(folds, by), metrics).clear().with_columns(pl.lit(None, pl.Int64).alias(FOLD))]
    for start in range(0, len(numbers), at_once):
        some = numbers[start : start + at_once]
        rest = roll_up(_copies_without(folds, some), [*by, FOLD])
        if by or rest.groups.height:
            found = estimate(rest, metrics)
        else:  # nothing is left without the only fold
            found = estimate(roll_up(rest, []), metrics).with_columns(pl.lit(some[0], pl.Int64).alias(FOLD))
        parts.append(found.join(own, on=[*by, FOLD], how="semi", nulls_equal=True).select(parts[0].columns))
    return pl.concat(parts, how="vertical_relaxed")


def _copies_without(folds: State, numbers: pl.Series) -> State:
    """For each of some folds a copy of the groups that are not in it; their column ``fold`` is the one left out."""
    kept = folds.groups[FOLD].to_numpy()[:, None] != numbers.to_numpy()
    group, left_out = np.nonzero(kept)
    place = np.cumsum(kept).reshape(kept.shape) - 1
    keys = folds.keys[group].with_columns(numbers.gather(left_out).alias(FOLD))
    tables = {}
    for statistic in folds.statistics:
        table, labels = folds.tables[statistic.name], len(folds.labels_of(statistic)) or 1
        of_row, label = np.divmod(table[GROUP].to_numpy(), labels)
        row, left_out = np.nonzero(kept[of_row])
        number = place[of_row[row], left_out] * labels + label[row]
        tables[statistic.name] = table[row].with_columns(pl.Series(GROUP, number, dtype=table.schema[GROUP]))
    return replace(folds, groups=keys.with_row_index(GROUP), tables=tables)
