"""Confidence intervals of differences between two models on the same rows, from paired statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, SAMPLED, VARIANCE, hidden, joined, keys_of, no_limits
from streammetrics.data import FOLD
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import (
    HIGH,
    LOW,
    TOTAL,
    Influence,
    Metric,
    Spread,
    cells_of,
    jackknife_intervals,
    limits_within,
    methods,
    paired_limits,
    range_of_difference,
    spread_of_losses,
    spread_of_matches,
    spread_of_outcomes,
    spread_of_scores,
    tidy,
    upper_level,
    wilson_interval,
)
from streammetrics.reading.estimates import by_view
from streammetrics.reading.independent_rows import reader
from streammetrics.reading.models import SameRows
from streammetrics.statistics import (
    CELLS,
    GROUP,
    ClassLoss,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorMoments,
    Paired,
    PairedClassLosses,
    PairedErrors,
    PairedLosses,
    PairedMatches,
    PairedOutcomes,
    PairedScores,
    ProbabilityLoss,
    ScoreHistogram,
    State,
    Statistic,
    find_groups,
    powers_of,
    roll_up,
)

Values: TypeAlias = NDArray[np.float64]

SEEN = hidden("seen")
SAME = ("tn_tn", "fn_fn", "fp_fp", "tp_tp")
OUTCOMES = ("tn", "fn", "fp", "tp")  # by decision and label
ROWS, FLIPS = pl.col("rows"), pl.col("flips")


@dataclass(frozen=True)
class _Compared:
    """Two models on the same rows, and the intervals that are computed: of ``b - factor * a``.

    ``values`` has the number of the group, the keys, metric, ``b``, and ``a`` times the factor.
    """

    models: SameRows
    values: pl.DataFrame
    confidence: float
    factor: float
    proportions: bool = True  # whether proportions have limits of their own

    def limits(
        self, rows: pl.DataFrame, metrics: Sequence[Metric], spread: Spread, few: NDArray[np.bool_] | bool = False
    ) -> pl.DataFrame:
        """The limits of metrics in some rows from their spread, none where rows are too few."""
        difference = self.values.select(*rows.columns, "metric", value=(pl.col("b") - pl.col("a")).cast(pl.Float64))
        values = [joined(rows, difference.filter(metric=m.name), rows.columns)["value"].to_numpy() for m in metrics]
        differences = np.where(few, np.nan, np.stack(values, axis=1))
        ranges = [range_of_difference(m.range, self.factor) for m in metrics]
        limits = limits_within(differences, spread, upper_level(self.confidence), ranges)
        return tidy(rows, rows.columns, [m.name for m in metrics], *limits, spread)

    def limits_of_share(
        self, rows: pl.DataFrame, metric: Metric, both: Values, more: Values, less: Values, total: Values
    ) -> pl.DataFrame:
        """The limits of a proportion of the same rows, some of which only b or only a counts, by a score test."""
        limits = paired_limits(both, more, less, total, self.confidence, self.factor)
        return tidy(rows, rows.columns, [metric.name], *limits)


def same_rows_intervals(
    frame: pl.DataFrame, models: SameRows, metrics: Sequence[Metric], confidence: float, factor: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a``, for two models on the same independent rows.

    ``frame`` has keys, metric, ``b``, and ``a`` times the factor.
    """
    compared = _compared(frame, models, confidence, factor)
    return _around(frame, _limits(frame, compared, metrics)).drop(VARIANCE)


def spread_of_pairs(frame: pl.DataFrame, models: SameRows, metrics: Sequence[Metric], factor: float) -> pl.DataFrame:
    """Return keys, metric, effective rows, and variance of ``b - factor * a``, as if the rows were independent."""
    compared = replace(_compared(frame, models, 0.5, factor), proportions=False)
    return _limits(frame, compared, metrics).drop(LIMITS)


def _compared(frame: pl.DataFrame, models: SameRows, confidence: float, factor: float) -> _Compared:
    return _Compared(models, joined(models.a.groups, frame, models.a.by), confidence, factor)


def _limits(frame: pl.DataFrame, compared: _Compared, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Keys, metric, limits, effective rows, and variance, from the tables of pairs of all statistics."""
    models = compared.models
    parts = [no_limits(frame, [*keys_of(frame), "metric"])]
    for statistic, _, of_statistic in by_view(models.a, metrics):
        smooth = [m for m in of_statistic if m.average is None and not m.interval.reason_of_units]
        paired, method = METHODS.get(type(statistic), (None, None))
        if smooth and paired and method and (table := models.table(paired)).height:
            for limits in method(compared, statistic, table, smooth):
                parts.append(models.a.groups.join(limits, on=GROUP, maintain_order="right").drop(GROUP))
    return pl.concat(parts, how="diagonal_relaxed").select(parts[0].columns)


def _around(frame: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """The limits of defined differences, extended to contain them: rows added to empty cells can move limits."""
    keys, (lower, upper) = limits.columns[: -len(SAMPLED)], LIMITS
    seen = frame.select(*keys, (pl.col("b") - pl.col("a")).fill_nan(None).alias(SEEN)).drop_nulls(SEEN)
    defined = limits.join(seen, on=keys, nulls_equal=True, maintain_order="left")
    limited = pl.when(pl.all_horizontal(pl.col(LIMITS).is_not_null()))
    ends = limited.then(pl.min_horizontal(lower, SEEN)), limited.then(pl.max_horizontal(upper, SEEN))
    return defined.with_columns(ends).drop(SEEN)


def _outcomes(
    compared: _Compared, _: Statistic, table: pl.DataFrame, metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """Confusion-count metrics: proportions of the same rows by a score test, others by the influence of outcomes."""
    rows, counts = table.select(GROUP, "threshold"), table.select(CELLS).to_numpy().reshape(-1, 2, 2, 2)
    shares = {m: share for m in metrics if compared.proportions and (share := _cells_of_share(m)) is not None}
    for metric, (counted, total) in shares.items():
        gain = counted[np.newaxis] - counted[:, np.newaxis]  # by decision of a, decision of b, label
        if gain.any():  # else a proportion of labels, equal for both models
            parts = counted[np.newaxis] * counted[:, np.newaxis], gain.clip(0), -gain.clip(None, 0), total
            yield compared.limits_of_share(rows, metric, *((counts * part).sum(axis=(1, 2, 3)) for part in parts))
    if others := [m for m in metrics if m not in shares]:
        read = reader(others, by_group=False)
        yield compared.limits(rows, others, spread_of_outcomes(counts, others, read, compared.factor))


def _cells_of_share(metric: Metric) -> tuple[Values, Values] | None:
    """The outcomes in the numerator and in the denominator of a proportion, by decision and label, or None.

    None if the denominators of both models can have different rows, because they do not depend on the label alone.
    """
    if (cells := cells_of(metric)) is None:
        return None
    counted, total = (np.isin(OUTCOMES, outcomes).astype(np.float64).reshape(2, 2) for outcomes in cells)
    return (counted, total) if (total[0] == total[1]).all() else None


def _matches(
    compared: _Compared, _: Statistic, table: pl.DataFrame, metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """Multiclass accuracy and error rate: proportions of the same rows by a score test."""
    rows, counts = table.select(GROUP), table.select(pl.col(PairedMatches.counts).cast(pl.Float64))
    total = counts.sum_horizontal().to_numpy()
    for metric in metrics:
        if isinstance(metric.interval, methods.Proportion) and metric.interval.pairs is not None:
            both, less, more = (counts[c].to_numpy() for c in metric.interval.pairs)
            if compared.proportions:
                yield compared.limits_of_share(rows, metric, both, more, less, total)
            else:
                yield compared.limits(rows, [metric], spread_of_matches(more, less, total))


def _scores(
    compared: _Compared, histogram: Statistic, table: pl.DataFrame, metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """Metrics of scores: ROC AUC by placements, others by the influence of slices of each score."""
    if influences := _influences(histogram, metrics):
        rows, cells = table.select(pl.col(GROUP).unique(maintain_order=True)), _from_zero(table)
        spread, few = spread_of_scores(cells, influences, reader, compared.factor)
        yield compared.limits(rows, [*influences], spread, few)


def _losses(
    compared: _Compared, single: Statistic, table: pl.DataFrame, metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """Mean losses, and metrics of these and of the number of rows of each class."""
    if isinstance(single, ProbabilityLoss):  # rows of one class do not show the losses of the other
        table = table.filter(pl.len().over(GROUP) == 2)
    by_loss: dict[str, list[Metric]] = {}
    for metric, influence in _influences(single, metrics).items() if table.height else ():
        if influence.loss is not None:
            by_loss.setdefault(influence.loss.name, []).append(metric)
    rows, keys = table.select(pl.col(GROUP).unique(maintain_order=True)), [GROUP, *single.keys]
    paired, _ = METHODS[type(single)]
    for name, of_loss in by_loss.items():
        influences = _influences(single, of_loss)
        losses = [influence.loss for influence in influences.values() if influence.loss is not None]
        influence, loss = influences[of_loss[0]], losses[0]
        weight, column = influence.columns[:2]
        sums = table.select(*keys, pl.col("weight").alias(weight), *powers_of(paired, name))
        totals = compared.models.totals(single.name, table.select(keys), loss.total, loss.squares)
        others = [pl.lit(0.0).alias(c) for c in influence.columns if c not in (weight, column)]
        sums = _from_zero(sums.hstack(totals.drop(keys))).with_columns(others)
        names, read = [m.name for m in of_loss], reader(of_loss, by_group=bool(single.keys))
        spread, rows_of_class = spread_of_losses(sums, influence, names, read, compared.factor, signed=name == "error")
        yield compared.limits(rows, of_loss, spread, rows_of_class < [each.fewest for each in losses])


def _influences(statistic: Statistic, metrics: Sequence[Metric]) -> dict[Metric, Influence]:
    """The metrics of a statistic that have an influence."""
    influences = ((m, m.interval.influence(m, statistic.influences)) for m in metrics)
    return {m: influence for m, influence in influences if influence is not None}


def _from_zero(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(GROUP).rle_id())


Method: TypeAlias = Callable[[_Compared, Statistic, pl.DataFrame, Sequence[Metric]], Iterator[pl.DataFrame]]
METHODS: dict[type[Statistic], tuple[type[Paired], Method]] = {
    ConfusionCounts: (PairedOutcomes, _outcomes),
    ConfusionMatrix: (PairedMatches, _matches),
    ScoreHistogram: (PairedScores, _scores),
    ProbabilityLoss: (PairedLosses, _losses),
    ClassLoss: (PairedClassLosses, _losses),
    ErrorMoments: (PairedErrors, _losses),
}
"""Of each statistic, the one of pairs of models, and the intervals from its table."""


def flip_rates(pairs: State, statistic: PairedOutcomes, names: tuple[str, str], confidence: float) -> pl.DataFrame:
    """Return group columns, threshold, rows, flips, value, and limits, from pairs of models, by fold with ``unit``."""
    by_units = FOLD in pairs.by
    total = roll_up(pairs, [c for c in pairs.by if c != FOLD]) if by_units else pairs
    rates, parts = (_flips(state, statistic, names) for state in (total, pairs))
    if rates is None or parts is None:
        a, b = names
        raise MetricError(
            f"No statistics of the pair {a!r} and {b!r}. Evaluate both models in one accumulator with ",
            Argument("pairs", True),
            ".",
        )
    rates = rates.with_columns(value=FLIPS / ROWS)
    keys = [GROUP, "threshold"]
    if by_units:
        numbers = find_groups(pairs.keys.drop(FOLD), total.groups)
        folds = parts.with_columns(numbers.gather(parts[GROUP]).alias(GROUP))
        left_out = folds.join(rates, on=keys, nulls_equal=True, suffix="_of_all")
        without = (pl.col("flips_of_all") - FLIPS) / (pl.col("rows_of_all") - ROWS)
        ends = {TOTAL: pl.col("value"), "value": without, LOW: pl.lit(0.0), HIGH: pl.lit(1.0)}
        limits = jackknife_intervals(left_out.with_columns(**ends), keys, confidence)
        rates = joined(rates, limits.select(*keys, *LIMITS), keys)
    elif rates.schema["rows"].is_float():  # weights do not give the number of rows
        rates = rates.with_columns(pl.lit(None, pl.Float64).alias(limit) for limit in LIMITS)
    else:
        rates = rates.with_columns(wilson_interval(FLIPS, ROWS, confidence))
    return total.groups.join(rates, on=GROUP, maintain_order="right").drop(GROUP)


def _flips(state: State, statistic: PairedOutcomes, names: tuple[str, str]) -> pl.DataFrame | None:
    table = statistic.between(state.table(statistic), *names)
    if table is None:
        return None
    differing = [cell for cell in CELLS if cell not in SAME]
    return table.select(GROUP, "threshold", rows=pl.sum_horizontal(CELLS), flips=pl.sum_horizontal(differing))
