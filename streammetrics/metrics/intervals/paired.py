"""How differences of two models on the same rows vary, from the differences of the influences of each row.

The effect of rows that are difficult for both models cancels. Rows are counted in cells of both models together, and
the influence of a row on a model is that of its cell in the table of this model. Functions take a function ``read``
that returns a frame with a column for each metric, by name, and a row for each row or group of a table. Differences are
b less ``factor`` times a. Spreads have the shape (groups, metrics).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.metrics.intervals.auc import AUC, placements
from streammetrics.metrics.intervals.influence import Influence, counted, share_of_negatives, sliced
from streammetrics.metrics.intervals.limits import Range, Spread
from streammetrics.metrics.intervals.method import GROUP, Read, sizes_of, starts_of
from streammetrics.metrics.intervals.methods import OUTCOMES, SCORES
from streammetrics.metrics.intervals.tails import powers_of_sums

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

Values = NDArray[np.float64]

CLASSES = ["neg", "pos"]
CELLS = ["tn", "fn", "fp", "tp"]  # by decision and label
NONE = 1e-300  # replaces a total of 0, which cannot be varied by a relative step


def range_of_difference(range: Range, factor: float) -> Range:
    """Return the smallest and the largest difference.

    >>> range_of_difference((0, 1), 1.0), range_of_difference((0, 1), -1.0)
    ((-1.0, 1.0), (0.0, 2.0))
    """
    ends = sorted(factor * end for end in range)
    return range[0] - ends[1], range[1] - ends[0]


def spread_of_outcomes(counts: NDArray[Any], metrics: Sequence[Metric], read: Read, factor: float) -> Spread:
    """Return the spread of confusion-count metrics.

    ``counts`` are rows by decision of a, decision of b, and label: shape (groups, 2, 2, 2).
    """
    numbers = np.repeat(np.arange(len(counts)), 4)
    decisions = {"one": np.tile([0, 0, 1, 1], len(counts)), "other": np.tile([0, 1, 0, 1], len(counts))}
    classes = dict(zip(CLASSES, counts.reshape(-1, 2).T.astype(np.float64), strict=True))
    names, order = [m.name for m in metrics], [OUTCOMES.columns.index(c) for c in CELLS]

    def slopes(table: pl.DataFrame) -> Values:
        outcomes = dict(zip(CELLS, table.select(CLASSES).to_numpy().reshape(-1, 4).T, strict=True))
        slopes = OUTCOMES.slopes(pl.DataFrame({GROUP: np.arange(len(counts)), **outcomes}), names, read)
        return slopes[:, order].reshape(-1, 2, len(names))

    return _spread_of_cells(pl.DataFrame({GROUP: numbers, **decisions, **classes}), slopes, factor)[0]


def spread_of_scores(
    cells: pl.DataFrame,
    influences: Mapping[Metric, Influence],
    readers: Callable[[Sequence[Metric]], Read],
    factor: float,
) -> tuple[Spread, NDArray[np.bool_]]:
    """Return the spread of ranking metrics, and where rows are too few.

    That of the ROC AUC is from placements (DeLong, DeLong & Clarke-Pearson 1988), and that of others from their
    influences.

    ``cells`` has the columns ``group``, ``one`` and ``other`` (the order of cells along the scores of a and b),
    ``neg``, and ``pos``. ``readers`` returns the function ``read`` of some metrics.
    """
    metrics = list(influences)
    is_area = np.array([isinstance(m.interval, AUC) for m in metrics])
    areas, others = ([m for m, area in zip(metrics, is_area, strict=True) if area == side] for side in (True, False))

    def slopes(table: pl.DataFrame) -> Values:
        slopes = np.empty((table.height, 2, len(metrics)))
        if areas:
            _, of_auc, _ = placements(table)
            slopes[..., is_area] = of_auc[..., np.newaxis] * np.array([m.range[1] - m.range[0] for m in areas])
        if others:
            slices = sliced(table.with_row_index("row"), CLASSES)
            slice_of_row = np.searchsorted(slices["row"].to_numpy(), np.arange(table.height), side="right") - 1
            slopes[..., ~is_area] = SCORES.slopes(slices, [m.name for m in others], readers(others))[slice_of_row]
        return slopes

    spread, rows = _spread_of_cells(cells, slopes, factor, [share_of_negatives(m) for m in metrics])
    fewest = [0 if area else influences[m].least_of(m) for m, area in zip(metrics, is_area, strict=True)]
    return spread, rows < fewest


def _spread_of_cells(
    cells: pl.DataFrame, slopes: Callable[[pl.DataFrame], Values], factor: float, shares: float | Sequence[float] = 1.0
) -> tuple[Spread, Values]:
    """The spread of metrics of the rows by score, or by decision, of each model: slopes of shape (rows, 2, metrics)."""
    of_models = []
    for name in ("one", "other"):
        table = cells.group_by(GROUP, name).agg(pl.sum(*CLASSES).cast(pl.Float64)).sort(GROUP, name)
        row = cells.join(table.with_row_index("row"), on=[GROUP, name], how="left", maintain_order="left")["row"]
        of_models.append(slopes(table)[row.to_numpy()])
    return Influence(counted(*CLASSES)).spread(cells, of_models[1] - factor * of_models[0], shares)


def spread_of_matches(more: Values, less: Values, rows: Values) -> Spread:
    """Return the spread of the difference of two shares of rows, of which more and less count for one model only."""
    sizes = np.array([[1.0], [-1.0], [0.0]])
    counts = np.stack([more, less, rows - more - less])
    with np.errstate(all="ignore"):
        influences = (sizes - (more - less) / rows) / rows
        squares, cubes, fourths = ((counts * influences**power).sum(axis=0)[:, np.newaxis] for power in (2, 3, 4))
        return Spread(squares, cubes, fourths, (rows - 1)[:, np.newaxis])


def spread_of_losses(
    sums: pl.DataFrame, influence: Influence, names: Sequence[str], read: Read, factor: float, *, signed: bool = False
) -> tuple[Spread, Values]:
    """Return the spread of metrics of a mean loss, which can be ``signed``, as the error is, and the rows of a class.

    A row adds its loss for each model to the totals, or equivalently the mean and the difference of both losses. Powers
    of differences are summed row by row, so they are precise for nearly equal models. The other products are computed
    from them and from the squares of both losses. Each class has its part of the variance, which gives the degrees of
    freedom.

    ``sums`` has, for each class, ``group``, the number of rows, other columns that metrics need, the sums
    ``total_a`` and ``total_b`` of losses, the sums ``squares_a`` and ``squares_b`` of squared losses, and the sums
    ``squares``, ``cubes``, and ``fourths`` of powers of differences. Rows of a group must be adjacent. The first
    columns of the influence are the number of rows, and the total of a model.
    """
    weight, column = influence.columns[:2]
    sums = sums.with_columns(pl.col(weight).cast(pl.Float64))
    parts = sums.select(
        GROUP,
        w=weight,
        d=pl.col("total_b") - pl.col("total_a"),
        m=(pl.col("total_a") + pl.col("total_b")) / 2,
        dd="squares",
        ddd="cubes",
        dddd="fourths",
        dm=(pl.col("squares_b") - pl.col("squares_a")) / 2,
        mm=(pl.col("squares_a") + pl.col("squares_b")) / 2 - pl.col("squares") / 4,
    )
    of_models = []
    for total in ("total_a", "total_b"):
        varied = pl.when(pl.col(total) == 0).then(NONE).otherwise(total).alias(column)
        of_models.append(influence.slopes(sums.with_columns(varied), names, read))
    a, b = factor * of_models[0], of_models[1]
    slopes = np.stack([b[:, 0] - a[:, 0], (a[:, 1] + b[:, 1]) / 2, b[:, 1] - a[:, 1]], axis=1)
    products = ("w", "w", "w"), ("w", "d", "d"), ("w", "m", "m"), ("d", "d", "dd"), ("d", "m", "dm"), ("m", "m", "mm")
    joint = Influence(
        tuple(((one, other), product) for one, other, product in products), tail=partial(powers_of_differences, signed)
    )
    spread, rows = joint.spread(parts, slopes)
    return replace(spread, degrees=_degrees_of_classes(parts, slopes, joint)), rows


def powers_of_differences(
    signed: bool, parts: pl.DataFrame, slopes: Values, influence: Influence, centre: Values
) -> Sequence[Values]:
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
def _degrees_of_classes(parts: pl.DataFrame, slopes: Values, influence: Influence) -> Values:
    """Degrees of freedom of a variance with a part for each class (Satterthwaite 1946): shape (groups, metrics)."""
    starts = starts_of(parts)
    sums = {c: parts[c].to_numpy()[:, np.newaxis] for c in parts.columns}
    slope = dict(zip(influence.columns, np.moveaxis(slopes, 1, 0), strict=True))
    total = sum(slope[c] * sums[c] for c in slope)
    square = sum((1 if a == b else 2) * slope[a] * slope[b] * sums[c] for (a, b), c in influence.products)
    mean = np.add.reduceat(total, starts) / np.add.reduceat(sums["w"], starts)
    centre = np.repeat(mean, sizes_of(parts), axis=0)
    variance = np.maximum(square - 2 * centre * total + centre**2 * sums["w"], 0)
    freedom = np.maximum(sums["w"] - 1, 1)
    degrees: Values = np.add.reduceat(variance, starts) ** 2 / np.add.reduceat(variance**2 / freedom, starts)
    return degrees
