"""Sampling intervals of estimates: off the tables themselves, or by leaving out folds of units."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.estimates import ESTIMATE, as_floats, by_group, by_view, estimate, with_label
from streammetrics.intervals import by_delta, drawn, interval, jackknifed
from streammetrics.metrics import Metric
from streammetrics.roles import FOLD
from streammetrics.state import State, roll_up, select
from streammetrics.statistics import GROUP, Statistic, View
from streammetrics.uncertainty import bootstrap_intervals, delta_intervals, jackknife_interval

LIMITS = ("ci_lower", "ci_upper")


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
        if own
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
    parts += [
        _drawn(statistic, view, groups, table, metrics, counts, confidence) for counts in {*map(drawn, metrics)} - {()}
    ]
    return pl.concat(parts, how="vertical_relaxed")


def _drawn(
    statistic: Statistic,
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
    coarse = statistic.coarser(table)
    fine, drawn_from = (next(iter(view.cases(t).values())) for t in (table, coarse))
    found = bootstrap_intervals(drawn_from, expressions, counts, index, confidence)
    values, coarse_values = (
        by_group(view, groups, as_floats(view, t), expressions).unpivot(index=index, variable_name="metric")
        for t in (fine, drawn_from)
    )
    moved = values.with_columns(moved=pl.col("value") - coarse_values["value"]).select(*index, "metric", "moved")
    return (
        found.join(moved, on=[*index, "metric"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(LIMITS) + pl.col("moved"))
        .drop("moved")
    )


def _of_folds(frame: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric and limits, from the values without each fold."""
    by = [c for c in folds.keys.columns if c != FOLD]
    parts = []
    for number in folds.keys[FOLD].unique().sort():
        rest = roll_up(select(folds, folds.keys.filter(pl.col(FOLD) != number)), by)
        found = estimate(rest, metrics)
        own = folds.keys.filter(pl.col(FOLD) == number).select(by)
        parts.append(found.join(own, on=by, how="semi", nulls_equal=True) if by else found)
    keys = [c for c in frame.columns if c not in ESTIMATE[1:]]
    values = frame.select(*keys, total="value")
    left_out = pl.concat(parts, how="vertical_relaxed").join(values, on=keys, how="left", nulls_equal=True)
    limits = [
        left_out.filter(pl.col("metric") == m.name)
        .group_by(keys, maintain_order=True)
        .agg(jackknife_interval(pl.col("value"), pl.col("total").first(), confidence, range=m.range))
        for m in metrics
        if jackknifed(m)
    ]
    nothing = frame.select(keys).clear().with_columns(pl.lit(None, pl.Float64).alias(side) for side in LIMITS)
    return pl.concat([nothing, *limits], how="vertical_relaxed")
