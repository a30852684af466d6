"""Ordinary tables and metrics of rows without labels, with the number of positives of each bin of scores filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
import polars as pl

from streammetrics.base import SUM_ROUNDING, VALUE
from streammetrics.core import CLIP, Floats
from streammetrics.metrics import Metric, metrics_of_name
from streammetrics.reading import columns_of, estimate
from streammetrics.statistics import GROUP, ConfusionCounts, ProbabilityLoss, ScoreHistogram, State, Statistic

Reading: TypeAlias = tuple[str, float | None]  # a metric and its threshold, if it has one


def expected_positives(pos: pl.Expr) -> pl.Expr:
    """Number of positives."""
    return pos.sum()


POSITIVES = Metric(expected_positives, range=(0, inf), better=None, aliases=())
OF_SCORES = ("roc_auc", "average_precision", "log_loss", "brier_score")
OF_DECISIONS = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1")
BINARY = {name: metrics_of_name(name)[0] for name in (*OF_SCORES, *OF_DECISIONS)}  # of two classes, which come first
DECISIONS = {name: BINARY[name] for name in OF_DECISIONS}
METRICS = {POSITIVES.name: POSITIVES} | BINARY


def losses(score: Floats) -> dict[str, Floats]:
    """The log loss and the Brier loss of a negative and of a positive with each score: shape (2, scores)."""
    clipped = np.clip(score, CLIP, 1 - CLIP)
    logs = np.stack([-np.log1p(-clipped), -np.log(clipped)])
    return {"log_loss": logs, "brier_score": np.stack([score, 1 - score]) ** 2}


def share_above(rows: Floats, predicted: float) -> Floats:
    """The share of each bin that is among the ``predicted`` rows with the highest scores; bins by ascending score.

    >>> share_above(np.array([2.0, 0, 4, 3, 0]), 5)
    array([0. , 0. , 0.5, 1. , 1. ])
    """
    down = np.cumsum(rows[::-1])[::-1]
    reaching = np.clip(predicted - (down - rows), 0, rows)
    reached = down <= predicted * (1 + SUM_ROUNDING)  # weights are summed in any order
    return np.where(rows > 0, reaching / np.where(rows > 0, rows, 1), reached)


def confusion(tp: Floats, fn: Floats, rows: Floats, above: Floats) -> dict[str, Floats]:
    """The confusion counts, given the share of each bin that reaches the threshold."""
    predicted = (rows * above).sum()
    counts = {"tp": tp, "fp": predicted - tp, "fn": fn, "tn": rows.sum() - predicted - fn}
    return {name: np.maximum(count, 0.0) for name, count in counts.items()}


def value_of(metric: Metric, counts: Mapping[str, Floats]) -> float:
    """The value of a metric of confusion counts, NaN if it is undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(metric.formula(*(counts[c] for c in metric.columns)))


@dataclass(frozen=True)
class Bins:
    """Bins by ascending score.

    ``above`` contains the share of the rows of each bin that reach each threshold. ``losses`` contains the mean losses
    of a negative and of a positive in each bin.
    """

    rows: Floats
    above: Mapping[float, Floats]
    losses: Mapping[str, Floats]

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics of the filled tables."""
        counts = (ConfusionCounts(tuple(self.above)),) if self.above else ()
        return ScoreHistogram(), *counts, *((ProbabilityLoss(),) if self.losses else ())

    def filled(self, positives: Floats, first: int) -> Iterator[pl.DataFrame]:
        """The tables of these statistics for numbers of positives of shape (cases, bins). Each case is a group."""
        case = np.arange(first, first + len(positives), dtype=np.uint32)
        negatives, total = self.rows - positives, positives.sum(axis=1)
        place = {GROUP: case.repeat(self.rows.size), "shift": 0, "bin": np.tile(np.arange(self.rows.size), case.size)}
        yield pl.DataFrame(place | {"neg": negatives.ravel(), "pos": positives.ravel()})
        if self.above:
            reaching = {at: (positives * above).sum(axis=1) for at, above in self.above.items()}
            counts = {at: confusion(tp, total - tp, self.rows, self.above[at]) for at, tp in reaching.items()}
            yield pl.concat(pl.DataFrame({GROUP: case, "threshold": at, **cells}) for at, cells in counts.items())
        if self.losses:
            yield pl.concat(
                pl.DataFrame({GROUP: case, "actual": actual, "weight": side.sum(axis=1)}).with_columns(
                    **{METRICS[m].columns[-1]: (side * loss[actual]).sum(axis=1) for m, loss in self.losses.items()}
                )
                for actual, side in enumerate((negatives, positives))
            )


def read(cases: Sequence[tuple[Bins, Floats]], readings: Sequence[Reading]) -> dict[Reading, Floats]:
    """Read metrics off the filled tables: an array of shape (cases, 3), as of `bounded`."""
    parts, number = [], 0
    for bins, positives in cases:
        parts.append(bins.filled(positives, number))
        number += len(positives)
    statistics, tables = cases[0][0].statistics, map(pl.concat, zip(*parts, strict=True))
    groups = pl.int_range(number, dtype=pl.UInt32, eager=True).alias(GROUP).to_frame()
    state = State(statistics, groups, {s.name: table for s, table in zip(statistics, tables, strict=True)})
    return bounded(state, [METRICS[name] for name in dict.fromkeys(name for name, _ in readings)])


def is_readable(metric: Metric, statistics: Sequence[Statistic]) -> bool:
    """Return whether a metric can be computed from one of the statistics."""
    return any(map(metric.readable, columns_of(statistics)))


def bounded(state: State, metrics: Sequence[Metric]) -> dict[Reading, Floats]:
    """Read metrics off a state, with their bounds: an array of shape (groups, 3), NaN where a metric is undefined."""
    estimates = estimate(state, metrics)
    if "threshold" not in estimates.columns:
        estimates = estimates.with_columns(threshold=pl.lit(None, pl.Float64))
    parts = estimates.partition_by("metric", "threshold", as_dict=True)
    return {key: part.select(pl.col(VALUE).fill_null(np.nan)).to_numpy() for key, part in parts.items()}
