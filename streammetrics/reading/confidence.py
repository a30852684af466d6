"""Confidence intervals of estimates, from the tables of their groups, and the status of those without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl
from polars import Expr

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    METRIC,
    NO_LIMITS,
    SAMPLED,
    STATUS,
    SUM_ROUNDING,
    VARIANCE,
    A,
    B,
    Status,
    few_effective,
    hidden,
    joined,
    keys_of,
)
from streammetrics.metrics import (
    FEWEST,
    Method,
    Metric,
    Sample,
    difference_interval,
    methods,
)
from streammetrics.reading.estimates import estimate, metrics_by_view
from streammetrics.statistics import (
    GROUP,
    ProbabilityLoss,
    ScoreHistogram,
    State,
    Statistic,
    View,
)

FEW = hidden("few rows of a class")


@dataclass(frozen=True, kw_only=True)
class SampleOfPairs(Sample):
    """Rows by pairs of labels, as the table of a confusion matrix. Metrics are those of all labels."""

    matrix: Statistic

    def reader(self, metrics: Sequence[Metric]) -> Callable[[pl.DataFrame], pl.DataFrame]:
        """Return a function that computes metrics, by name, of each group of tables of pairs of labels."""

        def read(tables: pl.DataFrame) -> pl.DataFrame:
            groups = tables.select(pl.col(GROUP).unique(maintain_order=True)).with_columns(copy=GROUP)
            estimates = estimate(State((self.matrix,), groups, {self.matrix.name: tables}), metrics)
            values = estimates["value"].cast(pl.Float64).to_numpy().reshape(groups.height, len(metrics))
            return pl.DataFrame(values, schema=[m.name for m in metrics])

        return read


Methods: TypeAlias = dict[Metric, Method | None]
Samples: TypeAlias = Iterable[tuple[Statistic, Sample, Methods]]


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.
    """
    if not metrics:
        return frame.with_columns(NO_LIMITS)
    samples = [*samples_of(state, metrics)]
    if folds is None:
        limits = rows_intervals(state, samples, confidence)
    else:
        from streammetrics.reading.units import units_intervals  # when it is needed

        limits = units_intervals(frame, folds, metrics, confidence)
    estimates = joined(frame, limits, [c for c in (*keys_of(frame), METRIC) if c in limits.columns])
    is_uncertain = pl.col("value").is_not_null() & few_effective(units=folds is not None)
    status = pl.when(is_uncertain).then(pl.lit("few_effective_rows", Status)).otherwise(STATUS).alias(STATUS)
    estimates = estimates.with_columns(status).drop(VARIANCE, strict=False)
    missing = ~pl.col("value").is_nan() & pl.all_horizontal(pl.col(LIMITS).is_null())
    if not estimates.select(missing.any()).item():
        return estimates
    statuses = {
        metric.name: _status(metric, method, sample) if folds is None else _status_of_units(metric)
        for _, sample, of_sample in samples
        for metric, method in of_sample.items()
    }
    of_metric = pl.col(METRIC).replace_strict(statuses, return_dtype=Status)
    reason: Expr = pl.when(pl.col("value").is_infinite()).then(pl.lit("infinite", Status)).otherwise(of_metric)
    if estimates.select((missing & reason.is_null()).any()).item():
        few = few_rows_of_class(state, samples).with_columns(pl.lit(True).alias(FEW))
        estimates = joined(estimates, few, few.columns[:-1])
        reason = pl.coalesce(reason, _reason_of_rows(metrics, units=folds is not None))
    return estimates.with_columns(pl.when(missing).then(reason).otherwise(STATUS).alias(STATUS)).drop(FEW, strict=False)


def _reason_of_rows(metrics: Sequence[Metric], *, units: bool) -> Expr:
    """The status of estimates without an interval because of their rows."""
    lowest, highest = (
        pl.col(METRIC).replace_strict({m.name: float(m.range[end]) for m in metrics}, return_dtype=pl.Float64)
        for end in (0, 1)
    )
    return pl.coalesce(
        pl.when(FEW).then(pl.lit("few_rows_of_class", Status)),
        pl.when((lowest == pl.col("value")) | (highest == pl.col("value"))).then(pl.lit("at_end", Status)),
        pl.lit("few_units" if units else "few_rows", Status),
    )


def _status_of_units(metric: Metric) -> str | None:
    """Why no estimate of a metric has an interval, None if this depends on the rows."""
    method = metric.interval
    if method.reason:
        return "no_method"
    has_method = isinstance(method, methods.RangeOfSums) and metric.average is None
    return "no_method_of_units" if method.reason_of_units and not has_method else None


def _status(metric: Metric, method: Method | None, sample: Sample) -> str | None:
    """Why no estimate of a metric has an interval if rows are independent, None if this depends on the rows."""
    if metric.interval.reason:
        return "no_method"
    if method is None:
        needs_units = metric.average is not None or metric.interval.reason_of_rows or not sample.weighted
        return "needs_units" if needs_units else "weighted_rows"
    if sample.pairs is not None and sample.pairs.is_crowded:
        return "many_labels"
    return None


def rows_intervals(state: State, samples: Samples, confidence: float) -> pl.DataFrame:
    """Group columns, key columns, metric, and limits, from the tables of independent rows."""
    parts = [pl.DataFrame(schema={GROUP: pl.UInt32, METRIC: pl.String, **dict.fromkeys(SAMPLED, pl.Float64)})]
    for statistic, sample, of_sample in samples:
        parts.append(state.with_label(statistic, sample.limits(of_sample, confidence)))
    return state.with_groups(pl.concat(parts, how="diagonal_relaxed"))


def samples_of(state: State, metrics: Sequence[Metric]) -> Iterator[tuple[Statistic, Sample, Methods]]:
    """The tables of a state, each with the methods of the metrics that are computed from it.

    Averages over labels are computed from the table of all labels.
    """
    for statistic, view, of_view in metrics_by_view(state, metrics):
        for averaged in (False, True):
            if some := [m for m in of_view if (m.average is not None) == averaged]:
                sample = _sample(state, statistic, statistic.views()[0] if averaged else view)
                yield statistic, sample, {m: sample.method_of(m) for m in some}


def _sample(state: State, statistic: Statistic, view: View) -> Sample:
    """The rows of a view. A view without the counts of its statistic is computed from pairs of labels."""
    table, squares = state.table(statistic), statistic.twins
    weighted, first, index = statistic.is_weighted(table), view.first_case(table), [GROUP, *view.kept]
    if isinstance(statistic, ProbabilityLoss) and (scores := _scores(state)) is not None:
        tails = scores.tails_of_losses(state.table(scores))
        first = first.join(tails, on=[GROUP, "actual"], how="left", maintain_order="left")
    pairs, of_pairs = None, not {*statistic.counts} <= {*first.columns}
    if weighted and squares:
        table = _scaled_to_rows(statistic, table if of_pairs else first, [GROUP] if of_pairs else index)
        first = _with_squares(statistic, view, table) if of_pairs else table
    if of_pairs and not view.kept:
        counts = table.with_columns(pl.exclude(GROUP, *statistic.keys).cast(pl.Float64))
        pairs = SampleOfPairs(counts, [GROUP], True, weighted, squares, matrix=statistic)
    if of_pairs:
        squares = {**squares, **{c: f"{c}_w2" for c in first.columns if f"{c}_w2" in first.columns}}
    first = first.with_columns(pl.exclude(index).cast(pl.Float64))
    return Sample(first, index, view.folds, weighted, squares, view.influences, pairs)


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
    squares = view.first_case(squared).select(pl.exclude(GROUP, *view.kept).name.suffix("_w2"))
    return view.first_case(table).with_columns(squares)


def few_rows_of_class(state: State, samples: Samples, fewest: int | None = None) -> pl.DataFrame:
    """Return group columns, kept keys, and metric of the estimates from fewer rows of a class than their method needs.

    ``fewest`` replaces this number.

    For weighted rows, the effective number of rows of a class counts, so that a few rows of large weight stay few, or
    the number of rows of average weight if it is smaller.
    """
    parts = [pl.DataFrame(schema={GROUP: state.groups.schema[GROUP], METRIC: pl.String})]
    for statistic, sample, of_sample in samples:
        is_few = dict[str, Expr]()
        for metric, method in of_sample.items():
            least = fewest or (FEWEST if method is None else method.fewest_of(metric))
            if (count := sample.rows_of(metric, binary=statistic.kind == "binary")) is not None:
                is_few[metric.name] = count * (1 + SUM_ROUNDING) < least
        if is_few:
            few = sample.table.group_by(sample.index, maintain_order=True).agg(**is_few)
            few = few.unpivot([*is_few], index=sample.index, variable_name=METRIC, value_name=FEW).filter(FEW)
            parts.append(state.with_label(statistic, few.drop(FEW)))
    frame = state.with_groups(pl.concat(parts, how="diagonal_relaxed"))
    return frame.select(pl.exclude(METRIC), METRIC)


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
