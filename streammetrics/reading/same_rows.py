"""Confidence intervals of differences between two models on the same rows, from paired statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, SAMPLED, VARIANCE, hidden, joined, no_limits
from streammetrics.data import FOLD
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import (
    FEWEST,
    HIGH,
    LOW,
    OUTCOMES,
    TOTAL,
    Influence,
    Metric,
    Spread,
    cells_of,
    class_probabilities,
    errors,
    jackknife_intervals,
    losses,
    method_of,
    of_areas,
    of_losses,
    of_outcomes,
    of_scores,
    paired_limits,
    several_classes,
    share_of_negatives,
    spread_of_matches,
    tidy,
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
    Losses,
    Paired,
    PairedClassLosses,
    PairedDifferences,
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
Limits: TypeAlias = tuple[Values, Values]
Found: TypeAlias = Iterator[tuple[pl.DataFrame, Sequence[Metric], Limits, Spread | None]]
"""Rows, metrics, their limits, and how they vary; None for proportions, whose limits depend on the counts alone."""

SEEN = hidden("seen")
OVER, UNDER = pl.col("over_sum"), pl.col("under_sum")
ERRORS = {  # the loss, the column that holds its total, the total, and that of its squares
    errors.mae.formula: ("absolute", "over_sum", OVER + UNDER, "square_error_sum"),
    errors.bias.formula: ("error", "over_sum", OVER - UNDER, "square_error_sum"),
    errors.mse.formula: ("square", "square_error_sum", pl.col("square_error_sum"), "error_fourth_sum"),
    errors.rmse.formula: ("square", "square_error_sum", pl.col("square_error_sum"), "error_fourth_sum"),
    errors.mape.formula: ("percentage", "percentage_sum", pl.col("percentage_sum"), "percentage_square_sum"),
}
FEWEST_OF_LOSSES = {  # rows of each class: few rows of a class do not show the tails of losses
    losses.log_loss.formula: 2,
    class_probabilities.log_loss.formula: 1,
    class_probabilities.brier_score.formula: 1,
}
MATCHES = {several_classes.accuracy.formula: True, several_classes.error_rate.formula: False}  # if right rows count
SAME = ("tn_tn", "fn_fn", "fp_fp", "tp_tp")
ROWS, FLIPS = pl.col("rows"), pl.col("flips")


@dataclass(frozen=True)
class _Compared:
    """Two models on the same rows, and the intervals that are wanted: of ``b - factor * a``.

    ``values`` has the number of the group, the keys, metric, ``b``, and ``a`` times the factor.
    """

    models: SameRows
    values: pl.DataFrame
    confidence: float
    factor: float
    proportions: bool = True  # whether proportions have limits of their own

    def differences(self, rows: pl.DataFrame, metrics: Sequence[Metric]) -> Values:
        """The differences of metrics, in the groups of some rows: shape (rows, metrics), NaN if one is undefined."""
        of_metric = self.values.select(GROUP, "metric", value=pl.col("b") - pl.col("a"))
        columns = [
            rows.join(of_metric.filter(metric=m.name), on=GROUP, how="left", maintain_order="left")["value"].to_numpy()
            for m in metrics
        ]
        return np.stack(columns, axis=1).astype(np.float64)


def same_rows_intervals(
    frame: pl.DataFrame, found: SameRows, metrics: Sequence[Metric], confidence: float, factor: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a``, for two models on the same independent rows.

    ``frame`` has keys, metric, ``b``, and ``a`` times the factor.
    """
    compared = _compared(frame, found, confidence, factor)
    return _around(frame, _of_statistics(frame, compared, metrics)).drop(VARIANCE)


def spread_of_pairs(frame: pl.DataFrame, found: SameRows, metrics: Sequence[Metric], factor: float) -> pl.DataFrame:
    """Return keys, metric, effective rows, and variance of ``b - factor * a``, as if the rows were independent."""
    compared = replace(_compared(frame, found, 0.5, factor), proportions=False)
    return _of_statistics(frame, compared, metrics).drop(LIMITS)


def _compared(frame: pl.DataFrame, found: SameRows, confidence: float, factor: float) -> _Compared:
    groups, by = found.a.groups, found.a.by
    values = groups.join(frame, on=by, nulls_equal=True) if by else groups.join(frame, how="cross")
    return _Compared(found, values, confidence, factor)


def _of_statistics(frame: pl.DataFrame, compared: _Compared, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Keys, metric, limits, effective rows, and variance, from the tables of pairs of all statistics."""
    models = compared.models
    parts = [no_limits(frame, frame.columns[: frame.columns.index("a")])]
    for statistic, _, own in by_view(models.a, metrics):
        smooth = [m for m in own if m.average is None and m.interval.jackknifed]
        paired, method = METHODS.get(type(statistic), (None, None))
        if smooth and paired and method and (table := models.table(paired)).height:
            for rows, chosen, limits, spread in method(compared, table, smooth):
                limited = tidy(rows, rows.columns, [m.name for m in chosen], *limits, spread)
                parts.append(models.a.groups.join(limited, on=GROUP, maintain_order="right").drop(GROUP))
    return pl.concat(parts, how="diagonal_relaxed").select(parts[0].columns)


def _around(frame: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """The limits of defined differences, extended to contain them: rows added to empty cells can move limits."""
    keys, (lower, upper) = limits.columns[: -len(SAMPLED)], LIMITS
    seen = frame.select(*keys, (pl.col("b") - pl.col("a")).fill_nan(None).alias(SEEN)).drop_nulls(SEEN)
    known = limits.join(seen, on=keys, nulls_equal=True, maintain_order="left")
    limited = pl.when(pl.all_horizontal(pl.col(LIMITS).is_not_null()))
    ends = limited.then(pl.min_horizontal(lower, SEEN)), limited.then(pl.max_horizontal(upper, SEEN))
    return known.with_columns(ends).drop(SEEN)


def _outcomes(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Confusion-count metrics: proportions of the same rows by a score test, others by the influence of outcomes."""
    rows, counts = table.select(GROUP, "threshold"), table.select(CELLS).to_numpy().reshape(-1, 2, 2, 2)
    shares = {m: share for m in metrics if found.proportions and (share := _of_same_rows(m)) is not None}
    others = [m for m in metrics if m not in shares]
    for metric, (counted, among) in shares.items():
        gain = counted[np.newaxis] - counted[:, np.newaxis]  # by decision of a, decision of b, label
        if not gain.any():  # a proportion of labels, equal for both models
            continue
        parts = counted[np.newaxis] * counted[:, np.newaxis], gain.clip(0), -gain.clip(None, 0), among
        both, more, less, total = ((counts * own).sum(axis=(1, 2, 3)) for own in parts)
        limits = _columns(paired_limits(both, more, less, total, found.confidence, found.factor))
        yield rows, [metric], limits, None
    if others:
        difference = of_outcomes(counts, [m.name for m in others], reader(others, by_group=False), found.factor)
        yield rows, others, difference.limits(others, found.confidence), difference.spread


def _of_same_rows(metric: Metric) -> tuple[Values, Values] | None:
    """The outcomes in the numerator and in the denominator of a proportion, by decision and label, or None.

    None if the denominators of both models can have different rows, because they do not depend on the label alone.
    """
    if (cells := cells_of(metric)) is None:
        return None
    counted, among = (np.isin(OUTCOMES, own).astype(np.float64).reshape(2, 2) for own in cells)
    return (counted, among) if (among[0] == among[1]).all() else None


def _scores(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Metrics of scores: ROC AUC by placements, others by the influence of slices of each score."""
    rows, cells = table.select(pl.col(GROUP).unique(maintain_order=True)), _from_zero(table)
    if areas := [m for m in metrics if m.interval.of_auc]:
        scales = [high - low for low, high in (m.range for m in areas)]
        difference = of_areas(cells, found.differences(rows, areas), scales, found.factor)
        yield rows, areas, difference.limits(areas, found.confidence), difference.spread
    ways = {m: way for m in metrics if isinstance(way := method_of(m), Influence)}
    for way in dict.fromkeys(ways.values()):
        own = [m for m in metrics if ways.get(m) == way]
        needed, shares = [way.least_of(m) for m in own], [share_of_negatives(m) for m in own]
        seen, names = found.differences(rows, own), [m.name for m in own]
        difference = of_scores(cells, seen, names, reader(own), needed, shares, found.factor)
        yield rows, own, difference.limits(own, found.confidence), difference.spread


def _losses(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric], single: type[Losses]) -> Found:
    """Mean losses of probabilities, and metrics of these and of the number of rows of each class."""
    if single is ProbabilityLoss:  # rows of one class do not show the losses of the other
        table = table.filter(pl.len().over(GROUP) == 2)
    if table.is_empty():
        return
    [weight] = single.counts
    rows, sums = table.select(pl.col(GROUP).unique(maintain_order=True)), _from_zero(table)
    for loss in ("log_loss", "brier"):
        column = f"{loss}_sum"
        own = [m for m in metrics if column in m.columns and isinstance(method_of(m), Influence)]
        if not own:
            continue
        totals = found.models.totals(single.name, table.select(GROUP, "actual"), pl.col(column), f"{loss}_square_sum")
        both = sums.select(GROUP, "actual", "weight", *_named_powers(PairedLosses, loss))
        both = both.hstack(totals.drop(GROUP, "actual")).rename({"weight": weight})
        needed = [FEWEST_OF_LOSSES.get(m.formula, FEWEST) for m in own]
        seen, names = found.differences(rows, own), [m.name for m in own]
        difference = of_losses(both, column, seen, names, reader(own), needed, weight, found.factor)
        yield rows, own, difference.limits(own, found.confidence), difference.spread


def _matches(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Multiclass accuracy and error rate: proportions of the same rows by a score test."""
    both, a, b, neither = table.select(pl.col(PairedMatches.counts).cast(pl.Float64)).to_numpy().T
    total = both + a + b + neither
    if not found.proportions:
        for metric in (m for m in metrics if m.formula in MATCHES):
            spread = spread_of_matches(b, a, total)
            yield table.select(GROUP), [metric], (spread.squares * np.nan, spread.squares * np.nan), spread
        return
    for metric in metrics:
        if metric.formula in MATCHES:
            counts = (both, b, a) if MATCHES[metric.formula] else (neither, a, b)
            limits = _columns(paired_limits(*counts, total, found.confidence, found.factor))
            yield table.select(GROUP), [metric], limits, None


def _errors(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Mean losses of errors, and the root of the mean squared error."""
    rows, sums = table.select(GROUP), _from_zero(table)
    for metric in (m for m in metrics if m.formula in ERRORS):
        loss, column, total, squares = ERRORS[metric.formula]
        totals = found.models.totals(ErrorMoments.name, rows, total, squares)
        both = sums.select(GROUP, "weight", *_named_powers(PairedErrors, loss)).hstack(totals.drop(GROUP))
        both = both.with_columns(pl.lit(0.0).alias(c) for c in metric.columns if c not in ("weight", column))
        seen = found.differences(rows, [metric])
        read = reader([metric], by_group=False)
        difference = of_losses(
            both, column, seen, [metric.name], read, [2], "weight", found.factor, signed=loss == "error"
        )
        yield rows, [metric], difference.limits([metric], found.confidence), difference.spread


def _named_powers(statistic: type[PairedDifferences], loss: str) -> list[pl.Expr]:
    names = ("squares", "cubes", "fourths")
    return [power.alias(name) for power, name in zip(powers_of(statistic, loss), names, strict=True)]


def _from_zero(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(GROUP).rle_id())


def _columns(limits: Limits) -> Limits:
    return limits[0][:, np.newaxis], limits[1][:, np.newaxis]


Method: TypeAlias = Callable[[_Compared, pl.DataFrame, Sequence[Metric]], Found]
METHODS: dict[type[Statistic], tuple[type[Paired], Method]] = {
    ConfusionCounts: (PairedOutcomes, _outcomes),
    ScoreHistogram: (PairedScores, _scores),
    ProbabilityLoss: (PairedLosses, partial(_losses, single=ProbabilityLoss)),
    ErrorMoments: (PairedErrors, _errors),
    ConfusionMatrix: (PairedMatches, _matches),
    ClassLoss: (PairedClassLosses, partial(_losses, single=ClassLoss)),
}
"""Of each statistic, the one of pairs of models, and the intervals from its table."""


def flip_rates(pairs: State, statistic: PairedOutcomes, names: tuple[str, str], confidence: float) -> pl.DataFrame:
    """Return group columns, threshold, rows, flips, value, and limits, from pairs of models, by fold with ``unit``."""
    folds = FOLD in pairs.by
    columns = [c for c in pairs.by if c != FOLD]
    total = roll_up(pairs, columns) if folds else pairs
    whole, parts = (_counted(state, statistic, names) for state in (total, pairs))
    if whole is None or parts is None:
        a, b = names
        raise MetricError(
            f"No statistics of the pair {a!r} and {b!r}. Evaluate both models in one accumulator with ",
            Argument("pairs", True),
            ".",
        )
    whole = whole.with_columns(value=FLIPS / ROWS)
    if folds:
        numbers = find_groups(pairs.keys.drop(FOLD), total.groups)
        own = parts.with_columns(numbers.gather(parts[GROUP]).alias(GROUP))
        left = own.join(whole, on=[GROUP, "threshold"], nulls_equal=True, suffix="_of_all")
        without = (pl.col("flips_of_all") - FLIPS) / (pl.col("rows_of_all") - ROWS)
        ends = {TOTAL: pl.col("value"), "value": without, LOW: pl.lit(0.0), HIGH: pl.lit(1.0)}
        limits = jackknife_intervals(left.with_columns(**ends), [GROUP, "threshold"], confidence)
        limits = limits.select(GROUP, "threshold", *LIMITS)
        whole = joined(whole, limits, [GROUP, "threshold"])
    elif whole.schema["rows"].is_float():  # weights do not give the number of rows
        whole = whole.with_columns(pl.lit(None, pl.Float64).alias(limit) for limit in LIMITS)
    else:
        whole = whole.with_columns(wilson_interval(FLIPS, ROWS, confidence))
    return total.groups.join(whole, on=GROUP, maintain_order="right").drop(GROUP)


def _counted(state: State, statistic: PairedOutcomes, names: tuple[str, str]) -> pl.DataFrame | None:
    table = statistic.between(state.table(statistic), *names)
    if table is None:
        return None
    differing = [cell for cell in CELLS if cell not in SAME]
    return table.select(GROUP, "threshold", rows=pl.sum_horizontal(CELLS), flips=pl.sum_horizontal(differing))
