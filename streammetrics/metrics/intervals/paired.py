"""Two models on the same rows: limits of differences of metrics, from the differences of the influences of each row.

The effect of rows that are difficult for both models cancels. Rows are counted in cells of both models together, and
the influence of a row on a model is that of its cell in the table of this model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, SAMPLED, joined, tidy
from streammetrics.core import Floats
from streammetrics.metrics.intervals.auc import AUC, placements
from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.influence import Influence, counted, sliced
from streammetrics.metrics.intervals.limits import Range, Spread
from streammetrics.metrics.intervals.method import GROUP, reader, runs_of
from streammetrics.metrics.intervals.methods import OUTCOMES, SCORES
from streammetrics.metrics.intervals.paired_proportions import paired_limits
from streammetrics.metrics.intervals.proportions import Proportion, cells_of
from streammetrics.metrics.intervals.tails import powers_of_sums

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric


CLASSES = ["neg", "pos"]
CELLS = ["tn", "fn", "fp", "tp"]  # by decision and label
NONE = 1e-300  # replaces a total of 0, which cannot be varied by a relative step


@dataclass(frozen=True)
class Pair:
    """Two models on the same rows, and the limits of differences of their metrics: of ``b - factor * a``.

    Limits are frames of the columns of ``rows``, metric, limits, effective rows, and variance. Those of proportions
    have the limits alone.

    Args:
        differences: The columns of ``rows``, other keys, metric, and ``value``: the difference.
        confidence: Confidence level.
        factor: Factor of the metrics of a.
        proportions: Whether proportions have limits of their own.
    """

    differences: pl.DataFrame
    confidence: float
    factor: float
    proportions: bool = True

    def outcomes(self, rows: pl.DataFrame, counts: NDArray[Any], metrics: Sequence[Metric]) -> Iterator[pl.DataFrame]:
        """Limits of confusion-count metrics: proportions of the same rows by a score test, others by influences.

        ``counts`` are by decision of a, decision of b, and label: shape (rows, 2, 2, 2).
        """
        shares = {m: share for m in metrics if self.proportions and (share := _cells_of_share(m)) is not None}
        for metric, (hits, total) in shares.items():
            gain = hits[np.newaxis] - hits[:, np.newaxis]  # by decision of a, decision of b, label
            if gain.any():  # else a proportion of labels, equal for both models
                parts = hits[np.newaxis] * hits[:, np.newaxis], gain.clip(0), -gain.clip(None, 0), total
                yield self._limits_of_share(rows, metric, [(counts * part).sum(axis=(1, 2, 3)) for part in parts])
        others = [m for m in metrics if m not in shares]
        if not others:
            return
        names, order = [m.name for m in others], [OUTCOMES.columns.index(c) for c in CELLS]
        numbers, read = np.arange(len(counts)), reader(others, by_group=False)

        def slopes(table: pl.DataFrame) -> Floats:
            outcomes = dict(zip(CELLS, table.select(CLASSES).to_numpy().reshape(-1, 4).T, strict=True))
            _, slopes = OUTCOMES.slopes(pl.DataFrame({GROUP: numbers, **outcomes}), names, read)
            return slopes[:, order].reshape(-1, 2, len(names))

        decisions = {"one": np.tile([0, 0, 1, 1], len(counts)), "other": np.tile([0, 1, 0, 1], len(counts))}
        classes = dict(zip(CLASSES, counts.reshape(-1, 2).T.astype(np.float64), strict=True))
        spread, _ = self._spread(pl.DataFrame({GROUP: np.repeat(numbers, 4), **decisions, **classes}), slopes)
        yield self._limits(rows, others, spread)

    def matches(self, rows: pl.DataFrame, counts: pl.DataFrame, metrics: Sequence[Metric]) -> Iterator[pl.DataFrame]:
        """Limits of proportions of rows that both models, one of them, or none count, by a score test."""
        total = counts.sum_horizontal().to_numpy()
        for metric in metrics:
            if isinstance(metric.interval, Proportion) and metric.interval.pairs is not None:
                both, less, more = (counts[c].to_numpy() for c in metric.interval.pairs)
                if self.proportions:
                    yield self._limits_of_share(rows, metric, [both, more, less, total])
                else:
                    yield self._limits(rows, [metric], _spread_of_matches(more, less, total))

    def scores(self, cells: pl.DataFrame, influences: Mapping[Metric, Influence]) -> pl.DataFrame:
        """Limits of ranking metrics: those of the ROC AUC from placements (DeLong, DeLong & Clarke-Pearson 1988).

        ``cells`` has the columns ``group``, ``one`` and ``other`` (the order of cells along the scores of a and b),
        ``neg``, and ``pos``.
        """
        metrics = list(influences)
        is_area = np.array([isinstance(m.interval, AUC) for m in metrics])
        areas, others = (
            [m for m, area in zip(metrics, is_area, strict=True) if area == side] for side in (True, False)
        )

        def slopes(table: pl.DataFrame) -> Floats:
            slopes = np.empty((table.height, 2, len(metrics)))
            if areas:
                _, of_auc, _ = placements(table)
                slopes[..., is_area] = of_auc[..., np.newaxis] * np.array([m.range[1] - m.range[0] for m in areas])
            if others:
                slices = sliced(table.with_row_index("row"), CLASSES)
                slice_of_row = np.searchsorted(slices["row"].to_numpy(), np.arange(table.height), side="right") - 1
                names, read = [m.name for m in others], reader(others, by_group=True)
                slopes[..., ~is_area] = SCORES.slopes(slices, names, read)[1][slice_of_row]
            return slopes

        rows, cells = (
            cells.select(pl.col(GROUP).unique(maintain_order=True)),
            cells.with_columns(pl.col(GROUP).rle_id()),
        )
        spread, rows_of_class = self._spread(cells, slopes, [m.interval.share_of_negatives(m) for m in metrics])
        fewest = [0 if area else influences[m].least_of(m) for m, area in zip(metrics, is_area, strict=True)]
        return self._limits(rows, metrics, spread, rows_of_class < fewest)

    def losses(self, sums: pl.DataFrame, influences: Mapping[Metric, Influence], *, by_group: bool) -> pl.DataFrame:
        """Limits of metrics of the same mean loss, from the sums of each group or of each class of it.

        A row adds its loss for each model to the totals, or equivalently the mean and the difference of both losses.
        Powers of differences are summed row by row, so they are precise for nearly equal models. The other products are
        computed from them and from the squares of both losses. Each class has its part of the variance, which gives the
        degrees of freedom.

        ``sums`` has, for each class, ``group``, the number of rows ``weight``, other keys, the sums ``total_a`` and
        ``total_b`` of losses, the sums ``squares_a`` and ``squares_b`` of squared losses, and the sums ``squares``,
        ``cubes``, and ``fourths`` of powers of differences. Rows of a group must be adjacent.
        """
        metrics, influence = list(influences), next(iter(influences.values()))
        losses = [each.loss for each in influences.values() if each.loss is not None]
        weight, total, *others = influence.columns
        rows = sums.select(pl.col(GROUP).unique(maintain_order=True))
        sums = sums.with_columns(pl.col(GROUP).rle_id(), pl.col("weight").cast(pl.Float64))
        parts = sums.select(
            GROUP,
            w="weight",
            d=pl.col("total_b") - pl.col("total_a"),
            m=(pl.col("total_a") + pl.col("total_b")) / 2,
            dd="squares",
            ddd="cubes",
            dddd="fourths",
            dm=(pl.col("squares_b") - pl.col("squares_a")) / 2,
            mm=(pl.col("squares_a") + pl.col("squares_b")) / 2 - pl.col("squares") / 4,
        )
        of_models = []
        for total_of_model in ("total_a", "total_b"):
            varied = pl.when(pl.col(total_of_model) == 0).then(NONE).otherwise(total_of_model).alias(total)
            zeros = [pl.lit(0.0).alias(c) for c in others]
            table = sums.with_columns(varied, pl.col("weight").alias(weight), *zeros)
            of_models.append(influence.slopes(table, [m.name for m in metrics], reader(metrics, by_group=by_group))[1])
        a, b = self.factor * of_models[0], of_models[1]
        slopes = np.stack([b[:, 0] - a[:, 0], (a[:, 1] + b[:, 1]) / 2, b[:, 1] - a[:, 1]], axis=1)
        products = (
            ("w", "w", "w"),
            ("w", "d", "d"),
            ("w", "m", "m"),
            ("d", "d", "dd"),
            ("d", "m", "dm"),
            ("m", "m", "mm"),
        )
        tail = partial(powers_of_differences, losses[0].signed)
        joint = Influence(tuple(((one, other), product) for one, other, product in products), tail=tail)
        spread, rows_of_class = joint.spread(parts, slopes)
        spread = replace(spread, degrees=_degrees_of_classes(parts, slopes, joint))
        return self._limits(rows, metrics, spread, rows_of_class < [loss.fewest for loss in losses])

    def _spread(
        self, cells: pl.DataFrame, slopes: Callable[[pl.DataFrame], Floats], shares: float | Sequence[float] = 1.0
    ) -> tuple[Spread, Floats]:
        """The spread of metrics of the rows by score, or by decision, of each model, and the rows of the smaller class.

        Slopes of a table of one model have the shape (rows, 2, metrics).
        """
        of_models = []
        for name in ("one", "other"):
            table = cells.group_by(GROUP, name).agg(pl.sum(*CLASSES).cast(pl.Float64)).sort(GROUP, name)
            row = cells.join(table.with_row_index("row"), on=[GROUP, name], how="left", maintain_order="left")["row"]
            of_models.append(slopes(table)[row.to_numpy()])
        return Influence(counted(*CLASSES)).spread(cells, of_models[1] - self.factor * of_models[0], shares)

    def _limits(
        self, rows: pl.DataFrame, metrics: Sequence[Metric], spread: Spread, few: NDArray[np.bool_] | bool = False
    ) -> pl.DataFrame:
        """The limits of metrics from their spread, none where rows are too few."""
        values = self.differences.select(*rows.columns, "metric", pl.col("value").cast(pl.Float64))
        columns = [joined(rows, values.filter(metric=m.name), rows.columns)["value"].to_numpy() for m in metrics]
        low, high = np.array([range_of_difference(m.range, self.factor) for m in metrics]).T
        differences = np.where(few, np.nan, np.stack(columns, axis=1))
        limits = spread.limits(differences, upper_level(self.confidence), low, high)
        return tidy(rows, [m.name for m in metrics], SAMPLED, [*limits, spread.effective_rows, spread.squares])

    def _limits_of_share(self, rows: pl.DataFrame, metric: Metric, counts: Sequence[Floats]) -> pl.DataFrame:
        """The limits of a proportion: of rows that both models count, only b, only a, and of all rows."""
        both, more, less, total = counts
        limits = paired_limits(both, more, less, total, self.confidence, self.factor)
        return tidy(rows, [metric.name], LIMITS, np.stack(limits)[..., np.newaxis])


def range_of_difference(range: Range, factor: float) -> Range:
    """Return the smallest and the largest difference.

    >>> range_of_difference((0, 1), 1.0), range_of_difference((0, 1), -1.0)
    ((-1.0, 1.0), (0.0, 2.0))
    """
    ends = sorted(factor * end for end in range)
    return range[0] - ends[1], range[1] - ends[0]


def _cells_of_share(metric: Metric) -> tuple[Floats, Floats] | None:
    """The outcomes in the numerator and in the denominator of a proportion, by decision and label, or None.

    None if the denominators of both models can have different rows, because they do not depend on the label alone.
    """
    if (cells := cells_of(metric)) is None:
        return None
    hits, total = (np.isin(CELLS, outcomes).astype(np.float64).reshape(2, 2) for outcomes in cells)
    return (hits, total) if (total[0] == total[1]).all() else None


def _spread_of_matches(more: Floats, less: Floats, rows: Floats) -> Spread:
    """Return the spread of the difference of two shares of rows, of which more and less count for one model only."""
    sizes = np.array([[1.0], [-1.0], [0.0]])
    counts = np.stack([more, less, rows - more - less])
    with np.errstate(all="ignore"):
        influences = (sizes - (more - less) / rows) / rows
        squares, cubes, fourths = ((counts * influences**power).sum(axis=0)[:, np.newaxis] for power in (2, 3, 4))
        return Spread(squares, cubes, fourths, (rows - 1)[:, np.newaxis])


def powers_of_differences(
    signed: bool, parts: pl.DataFrame, slopes: Floats, influence: Influence, centre: Floats
) -> Sequence[Floats]:
    """Powers of influences: of differences from their sums, and of mean losses as those of a gamma distribution.

    Mean errors with a sign have those of a normal distribution.
    """
    rows, one, two, three, four, mean, square = (
        parts[c].to_numpy()[:, np.newaxis] for c in ("w", "d", "dd", "ddd", "dddd", "m", "mm")
    )
    of_difference, of_mean = slopes[:, 1], slopes[:, 2]
    constant = slopes[:, 0] + of_mean * mean / rows - centre
    spread = np.maximum(square * rows / mean**2 - 1, 0)  # the squared coefficient of variation of mean losses
    spread = np.zeros_like(spread) if signed else spread
    second = of_mean**2 * np.maximum(square - mean**2 / rows, 0)
    powers = powers_of_sums(constant, of_difference, (rows, one, two, three, four))
    third = np.sign(of_mean) * 2 * np.sqrt(spread) * second**1.5 / np.sqrt(rows)
    fourth = (3 + 6 * spread) * second**2 / rows + 6 * powers[0] * second / rows
    return [total + more for total, more in zip(powers, (second, third, fourth), strict=True)]


@np.errstate(all="ignore")  # an infinite variance has no interval
def _degrees_of_classes(parts: pl.DataFrame, slopes: Floats, influence: Influence) -> Floats:
    """Degrees of freedom of a variance with a part for each class (Satterthwaite 1946): shape (groups, metrics)."""
    starts, sizes = runs_of(parts)
    sums = {c: parts[c].to_numpy()[:, np.newaxis] for c in parts.columns}
    slope = dict(zip(influence.columns, np.moveaxis(slopes, 1, 0), strict=True))
    total = sum(slope[c] * sums[c] for c in slope)
    square = sum((1 if a == b else 2) * slope[a] * slope[b] * sums[c] for (a, b), c in influence.products)
    mean = np.add.reduceat(total, starts) / np.add.reduceat(sums["w"], starts)
    centre = np.repeat(mean, sizes, axis=0)
    variance = np.maximum(square - 2 * centre * total + centre**2 * sums["w"], 0)
    freedom = np.maximum(sums["w"] - 1, 1)
    degrees: Floats = np.add.reduceat(variance, starts) ** 2 / np.add.reduceat(variance**2 / freedom, starts)
    return degrees
