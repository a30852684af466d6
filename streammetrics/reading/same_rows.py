"""Confidence intervals of differences between two models on the same rows, from paired statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.frame import LIMITS, hidden, no_limits
from streammetrics.intervals.limits import tidy
from streammetrics.intervals.method import FEWEST
from streammetrics.intervals.methods import method_of
from streammetrics.intervals.paired_influence import OUTCOMES, of_areas, of_losses, of_outcomes, of_scores
from streammetrics.intervals.paired_proportions import paired_limits
from streammetrics.intervals.proportions import cells_of
from streammetrics.intervals.smooth import Influence, share_of_negatives
from streammetrics.metrics import Metric, class_probabilities, errors, losses, several_classes
from streammetrics.reading.estimates import by_view
from streammetrics.reading.independent_rows import reader
from streammetrics.reading.models import SameRows
from streammetrics.statistics import (
    GROUP,
    ClassLoss,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorMoments,
    PairedClassLosses,
    PairedErrors,
    PairedLosses,
    PairedMatches,
    PairedOutcomes,
    PairedScores,
    ProbabilityLoss,
    ScoreHistogram,
    Statistic,
)
from streammetrics.statistics.paired import Paired
from streammetrics.statistics.paired_outcomes import CELLS
from streammetrics.statistics.probability_loss import Losses

Values: TypeAlias = NDArray[np.float64]
Limits: TypeAlias = tuple[Values, Values]
Found: TypeAlias = Iterator[tuple[pl.DataFrame, Sequence[Metric], Limits]]  # rows, metrics, and limits of these

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


@dataclass(frozen=True)
class _Compared:
    """Two models on the same rows, and the intervals that are wanted: of ``b - factor * a``.

    ``values`` has the number of the group, the keys, metric, ``b``, and ``a`` times the factor.
    """

    models: SameRows
    values: pl.DataFrame
    confidence: float
    factor: float

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
    keys, groups, by = frame.columns[: frame.columns.index("a")], found.a.groups, found.a.by
    values = groups.join(frame, on=by, nulls_equal=True) if by else groups.join(frame, how="cross")
    compared, parts = _Compared(found, values, confidence, factor), [no_limits(frame, keys)]
    for statistic, _, own in by_view(found.a, metrics):
        smooth = [m for m in own if m.average is None and m.interval.jackknifed]
        paired, method = METHODS.get(type(statistic), (None, None))
        if smooth and paired and method and (table := found.table(paired)).height:
            for rows, chosen, limits in method(compared, table, smooth):
                limited = tidy(rows, rows.columns, [m.name for m in chosen], *limits)
                parts.append(groups.join(limited, on=GROUP, maintain_order="right").drop(GROUP))
    return _around(frame, pl.concat(parts, how="diagonal_relaxed").select(parts[0].columns))


def _around(frame: pl.DataFrame, limits: pl.DataFrame) -> pl.DataFrame:
    """The limits of defined differences, extended to contain them: rows added to empty cells can move limits."""
    keys, (lower, upper) = limits.columns[: -len(LIMITS)], LIMITS
    seen = frame.select(*keys, (pl.col("b") - pl.col("a")).fill_nan(None).alias(SEEN)).drop_nulls(SEEN)
    known = limits.drop_nulls(LIMITS).join(seen, on=keys, nulls_equal=True, maintain_order="left")
    return known.select(*keys, pl.min_horizontal(lower, SEEN), pl.max_horizontal(upper, SEEN))


def _outcomes(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Confusion-count metrics: proportions of the same rows by a score test, others by the influence of outcomes."""
    rows, counts = table.select(GROUP, "threshold"), table.select(CELLS).to_numpy().reshape(-1, 2, 2, 2)
    shares = {m: share for m in metrics if (share := _of_same_rows(m)) is not None}
    others = [m for m in metrics if m not in shares]
    for metric, (counted, among) in shares.items():
        gain = counted[np.newaxis] - counted[:, np.newaxis]  # by decision of a, decision of b, label
        if not gain.any():  # a proportion of labels, equal for both models
            continue
        parts = counted[np.newaxis] * counted[:, np.newaxis], gain.clip(0), -gain.clip(None, 0), among
        both, more, less, total = ((counts * own).sum(axis=(1, 2, 3)) for own in parts)
        yield rows, [metric], _columns(paired_limits(both, more, less, total, found.confidence, found.factor))
    if others:
        difference = of_outcomes(counts, [m.name for m in others], reader(others, by_group=False), found.factor)
        yield rows, others, difference.limits(others, found.confidence)


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
        yield rows, areas, difference.limits(areas, found.confidence)
    ways = {m: way for m in metrics if isinstance(way := method_of(m), Influence)}
    for way in dict.fromkeys(ways.values()):
        own = [m for m in metrics if ways.get(m) == way]
        maxima = {m.name for m in own if m.interval.maximum}
        needed, shares = [way.least_of(m) for m in own], [share_of_negatives(m) for m in own]
        seen, names = found.differences(rows, own), [m.name for m in own]
        difference = of_scores(cells, seen, names, reader(own), needed, shares, maxima, found.factor)
        yield rows, own, difference.limits(own, found.confidence)


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
        both = sums.select(GROUP, "actual", "weight", squares=f"{loss}_difference_square_sum")
        both = both.hstack(totals.drop(GROUP, "actual")).rename({"weight": weight})
        needed = [FEWEST_OF_LOSSES.get(m.formula, FEWEST) for m in own]
        seen, names = found.differences(rows, own), [m.name for m in own]
        difference = of_losses(both, column, seen, names, reader(own), needed, weight, found.factor)
        yield rows, own, difference.limits(own, found.confidence)


def _matches(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Multiclass accuracy and error rate: proportions of the same rows by a score test."""
    both, a, b, neither = table.select(pl.col(PairedMatches.counts).cast(pl.Float64)).to_numpy().T
    total = both + a + b + neither
    for metric in metrics:
        if metric.formula in MATCHES:
            counts = (both, b, a) if MATCHES[metric.formula] else (neither, a, b)
            yield table.select(GROUP), [metric], _columns(paired_limits(*counts, total, found.confidence, found.factor))


def _errors(found: _Compared, table: pl.DataFrame, metrics: Sequence[Metric]) -> Found:
    """Mean losses of errors, and the root of the mean squared error."""
    rows, sums = table.select(GROUP), _from_zero(table)
    for metric in (m for m in metrics if m.formula in ERRORS):
        loss, column, total, squares = ERRORS[metric.formula]
        totals = found.models.totals(ErrorMoments.name, rows, total, squares)
        both = sums.select(GROUP, "weight", squares=f"{loss}_difference_square_sum").hstack(totals.drop(GROUP))
        both = both.with_columns(pl.lit(0.0).alias(c) for c in metric.columns if c not in ("weight", column))
        seen = found.differences(rows, [metric])
        read = reader([metric], by_group=False)
        difference = of_losses(both, column, seen, [metric.name], read, [2], "weight", found.factor)
        yield rows, [metric], difference.limits([metric], found.confidence)


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
