"""Confidence intervals of independent rows, from the tables of their groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import polars as pl

from streammetrics.base import EFFECTIVE_ROWS, LIMITS, METRIC, SAMPLED, A, B, joined
from streammetrics.metrics import Metric, Read, Sample, difference_interval, limits_of
from streammetrics.reading.estimates import by_view, estimate, with_groups, with_label
from streammetrics.statistics import (
    GROUP,
    ProbabilityLoss,
    ScoreHistogram,
    State,
    Statistic,
    View,
    first_case,
    is_weighted,
    tails_of_losses,
)

Samples: TypeAlias = Iterable[tuple[Statistic, Sample, list[Metric]]]


def rows_intervals(state: State, samples: Samples, confidence: float) -> pl.DataFrame:
    """Group columns, key columns, metric, and limits, from the tables of independent rows."""
    parts = [pl.DataFrame(schema={GROUP: pl.UInt32, METRIC: pl.String, **dict.fromkeys(SAMPLED, pl.Float64)})]
    for statistic, sample, metrics in samples:
        parts.append(with_label(limits_of(sample, metrics, confidence), state.labels_of(statistic)))
    frame = pl.concat(parts, how="diagonal_relaxed")
    return with_groups(state, frame)


def samples_of(state: State, metrics: Sequence[Metric]) -> Iterator[tuple[Statistic, Sample, list[Metric]]]:
    """The tables of a state, each with the metrics that are computed from it; averages over labels from the whole."""
    for statistic, view, of_view in by_view(state, metrics):
        for averaged in (False, True):
            if some := [m for m in of_view if (m.average is not None) == averaged]:
                yield statistic, _sample(state, statistic, statistic.views()[0] if averaged else view), some


def _sample(state: State, statistic: Statistic, view: View) -> Sample:
    """The rows of a view. A view without the counts of its statistic is computed from pairs of labels."""
    table, squares = state.table(statistic), statistic.twins
    weighted, first, index = is_weighted(statistic, table), first_case(view, table), [GROUP, *view.kept]
    if isinstance(statistic, ProbabilityLoss) and (scores := _scores(state)) is not None:
        first = first.join(
            tails_of_losses(scores, state.table(scores)), on=[GROUP, "actual"], how="left", maintain_order="left"
        )
    pairs, of_pairs = None, not {*statistic.counts} <= {*first.columns}
    if weighted and squares:
        table = _scaled_to_rows(statistic, table if of_pairs else first, [GROUP] if of_pairs else index)
        first = _with_squares(statistic, view, table) if of_pairs else table
    if of_pairs and not view.kept:
        read_pairs = partial(_reader_of_pairs, statistic)
        counts = table.with_columns(pl.exclude(GROUP, *statistic.keys).cast(pl.Float64))
        pairs = Sample(counts, [GROUP], read_pairs, True, weighted, squares)
    if of_pairs:
        squares = {**squares, **{c: f"{c}_w2" for c in first.columns if f"{c}_w2" in first.columns}}
    read = partial(reader, by_group=view.folds)
    first = first.with_columns(pl.exclude(index).cast(pl.Float64))
    return Sample(first, index, read, view.folds, weighted, squares, view.influences, pairs)


def _scores(state: State) -> ScoreHistogram | None:
    """The histogram of probabilities, which shows how skewed their losses are."""
    histograms = (s for s in state.statistics if isinstance(s, ScoreHistogram))
    return next((s for s in histograms if s.domain == "probability"), None)


def _scaled_to_rows(statistic: Statistic, table: pl.DataFrame, index: Sequence[str]) -> pl.DataFrame:
    """The table with weights scaled so that their sum equals the sum of their squares: the effective number of rows.

    Groups without weight, or with infinite squares of weights, are dropped.
    """
    rows = statistic.checks.rows
    twins = [statistic.twins[c] for c in rows]
    weight, squares = (pl.sum_horizontal(columns).sum().over(index) for columns in (rows, twins))
    scale, scaled = pl.col("scale"), {c: twin for c, twin in statistic.twins.items() if c not in statistic.means}
    return (
        table.with_columns(scale=weight / squares)
        .filter(scale.is_finite() & (scale > 0))
        .with_columns(pl.col([*scaled]) * scale, pl.col([*scaled.values()]) * scale**2)
        .drop("scale")
    )


def _with_squares(statistic: Statistic, view: View, table: pl.DataFrame) -> pl.DataFrame:
    """The table of a view, and that of squared weights in columns that end in _w2."""
    squared = table.with_columns(pl.col(twin).alias(c) for c, twin in statistic.twins.items())
    squares = first_case(view, squared).select(pl.exclude(GROUP, *view.kept).name.suffix("_w2"))
    return first_case(view, table).with_columns(squares)


def reader(metrics: Sequence[Metric], by_group: bool = True) -> Read:
    """Return a function that computes metrics of each group of some tables, or of each row."""
    expressions = {m.name: m.expression() for m in metrics}
    if not by_group:
        return lambda tables: tables.select(**expressions)
    return lambda tables: tables.group_by(GROUP, maintain_order=True).agg(**expressions)


def _reader_of_pairs(matrix: Statistic, metrics: Sequence[Metric]) -> Read:
    """Return a function that computes metrics of all labels, from tables of pairs of labels."""

    def read(tables: pl.DataFrame) -> pl.DataFrame:
        groups = tables.select(pl.col(GROUP).unique(maintain_order=True)).with_columns(copy=GROUP)
        estimates = estimate(State((matrix,), groups, {matrix.name: tables}), metrics)
        values = estimates["value"].cast(pl.Float64).to_numpy().reshape(groups.height, len(metrics))
        return pl.DataFrame(values, schema=[m.name for m in metrics])

    return read


def independent_intervals(frame: pl.DataFrame, a: pl.DataFrame, b: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a`` (see `difference_interval`), of independent rows.

    The effective rows are those of the side with fewer. ``frame`` has keys, metric, ``b``, and ``a`` times the factor.
    """
    keys = frame.columns[: frame.columns.index("a")]
    both = frame
    for side, limits in ((A, a), (B, b)):
        numbers = [c for c in (*LIMITS, EFFECTIVE_ROWS) if c in limits.columns]
        ends = limits.select(*keys, pl.col(numbers).name.prefix(side)).cast(frame.select(keys).schema)
        both = joined(both, ends, keys)
    of_a, of_b = ([pl.col(f"{side}{limit}") for limit in LIMITS] for side in (A, B))
    low, high = (factor * limit for limit in (of_a if factor > 0 else reversed(of_a)))
    rows = [c for c in (f"{A}{EFFECTIVE_ROWS}", f"{B}{EFFECTIVE_ROWS}") if c in both.columns]
    fewest = pl.min_horizontal(rows or pl.lit(None, pl.Float64)).alias(EFFECTIVE_ROWS)
    return both.select(*keys, *difference_interval(pl.col("b"), (of_b[0], of_b[1]), pl.col("a"), (low, high)), fewest)
