"""Confidence intervals of differences between two models on the same rows, from paired statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from streammetrics.base import LIMITS, METRIC, SAMPLED, VARIANCE, concat_limits, hidden, joined, keys_of
from streammetrics.data import FOLD
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import TOTAL, Metric, Pair, jackknife_intervals, wilson_interval
from streammetrics.reading.estimates import metrics_by_view
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
    powers_of,
)

SEEN = hidden("seen")
SAME = ("tn_tn", "fn_fn", "fp_fp", "tp_tp")
ROWS, FLIPS = pl.col("rows"), pl.col("flips")


def same_rows_intervals(
    frame: pl.DataFrame, models: SameRows, metrics: Sequence[Metric], confidence: float, factor: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a``, for two models on the same independent rows.

    ``frame`` has keys, metric, ``b``, and ``a`` times the factor.
    """
    pair = Pair(_differences(frame, models), confidence, factor)
    return _around(frame, _limits(frame, models, pair, metrics)).drop(VARIANCE)


def spread_of_pairs(frame: pl.DataFrame, models: SameRows, metrics: Sequence[Metric], factor: float) -> pl.DataFrame:
    """Return keys, metric, effective rows, and variance of ``b - factor * a``, as if the rows were independent."""
    pair = Pair(_differences(frame, models), 0.5, factor, proportions=False)
    return _limits(frame, models, pair, metrics).drop(LIMITS)


def _differences(frame: pl.DataFrame, models: SameRows) -> pl.DataFrame:
    return joined(models.a.groups, frame, models.a.by).with_columns(value=pl.col("b") - pl.col("a"))


def _limits(frame: pl.DataFrame, models: SameRows, pair: Pair, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Keys, metric, limits, effective rows, and variance, from the tables of pairs of all statistics."""
    keys, parts = [*keys_of(frame), METRIC], list[pl.DataFrame]()
    for statistic, _, of_statistic in metrics_by_view(models.a, metrics):
        smooth = [m for m in of_statistic if m.average is None and not m.interval.reason_of_units]
        paired = PAIRED.get(type(statistic))
        if smooth and paired is not None and (table := models.table(paired)).height:
            limits = _limits_of_table(pair, models, statistic, table, smooth)
            parts.extend(map(models.a.with_groups, limits))
    return concat_limits(frame, keys, *parts).select(*keys, *SAMPLED)


def _around(frame: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """The limits of defined differences, extended to contain them: rows added to empty cells can move limits."""
    keys, (lower, upper) = limits.columns[: -len(SAMPLED)], LIMITS
    seen = frame.select(*keys, (pl.col("b") - pl.col("a")).fill_nan(None).alias(SEEN)).drop_nulls(SEEN)
    defined = limits.join(seen, on=keys, nulls_equal=True, maintain_order="left")
    limited = pl.when(pl.all_horizontal(pl.col(LIMITS).is_not_null()))
    ends = limited.then(pl.min_horizontal(lower, SEEN)), limited.then(pl.max_horizontal(upper, SEEN))
    return defined.with_columns(ends).drop(SEEN)


def _limits_of_table(
    pair: Pair, models: SameRows, statistic: Statistic, table: pl.DataFrame, metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """The limits of metrics of a statistic, from its table of pairs."""
    if isinstance(statistic, ConfusionCounts):
        yield from pair.outcomes(
            table.select(GROUP, "threshold"), table.select(CELLS).to_numpy().reshape(-1, 2, 2, 2), metrics
        )
        return
    if isinstance(statistic, ConfusionMatrix):
        yield from pair.matches(
            table.select(GROUP), table.select(pl.col(PairedMatches.counts).cast(pl.Float64)), metrics
        )
        return
    smooth = ((m, m.interval.influence(m, statistic.influences)) for m in metrics)
    influences = {m: influence for m, influence in smooth if influence is not None}
    if isinstance(statistic, ScoreHistogram):
        if influences:
            yield pair.scores(table, influences)
        return
    if isinstance(statistic, ProbabilityLoss):  # rows of one class do not show the losses of the other
        table = table.filter(pl.len().over(GROUP) == 2)
    keys = [GROUP, *statistic.keys]
    losses = {m: influence.loss for m, influence in influences.items() if influence.loss is not None}
    for name in dict.fromkeys(loss.name for loss in losses.values()) if table.height else ():
        of_loss = {m: influences[m] for m, loss in losses.items() if loss.name == name}
        loss = losses[next(iter(of_loss))]
        totals = models.totals(statistic.name, table.select(keys), loss.total, loss.squares).drop(keys)
        sums = table.select(*keys, "weight", *powers_of(PAIRED[type(statistic)], name)).hstack(totals)
        yield pair.losses(sums, of_loss, by_group=bool(statistic.keys))


PAIRED: dict[type[Statistic], type[Paired]] = {
    ConfusionCounts: PairedOutcomes,
    ConfusionMatrix: PairedMatches,
    ScoreHistogram: PairedScores,
    ProbabilityLoss: PairedLosses,
    ClassLoss: PairedClassLosses,
    ErrorMoments: PairedErrors,
}
"""Of each statistic, the one of pairs of models."""


def flip_rates(pairs: State, statistic: PairedOutcomes, names: tuple[str, str], confidence: float) -> pl.DataFrame:
    """Return group columns, threshold, rows, flips, value, and limits, from pairs of models, by fold with ``unit``."""
    by_units = FOLD in pairs.by
    total = pairs.without(FOLD) if by_units else pairs
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
        folds = parts.with_columns(total.numbers_of(pairs).gather(parts[GROUP]).alias(GROUP))
        left_out = folds.join(rates, on=keys, nulls_equal=True, suffix="_of_all")
        without = (pl.col("flips_of_all") - FLIPS) / (pl.col("rows_of_all") - ROWS)
        values = {TOTAL: pl.col("value"), "value": without}
        limits = jackknife_intervals(left_out.with_columns(**values), keys, (0.0, 1.0), confidence)
        rates = joined(rates, limits.select(*keys, *LIMITS), keys)
    elif rates.schema["rows"].is_float():  # weights do not give the number of rows
        rates = rates.with_columns(pl.lit(None, pl.Float64).alias(limit) for limit in LIMITS)
    else:
        lower, upper = wilson_interval(rates["flips"], rates["rows"], confidence)
        rates = rates.with_columns(pl.Series("ci_lower", lower), pl.Series("ci_upper", upper))
    return total.with_groups(rates)


def _flips(state: State, statistic: PairedOutcomes, names: tuple[str, str]) -> pl.DataFrame | None:
    table = statistic.between(state.table(statistic), *names)
    if table is None:
        return None
    differing = [cell for cell in CELLS if cell not in SAME]
    return table.select(GROUP, "threshold", rows=pl.sum_horizontal(CELLS), flips=pl.sum_horizontal(differing))
