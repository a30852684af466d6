"""Views of a confusion matrix: counts by label, sums over labels, shares, and the most confused pairs.

Every function takes the sparse table of a confusion matrix: the columns ``group``, ``actual``, ``predicted`` (labels of
one type), and ``count`` (Int64, or Float64 weights), with one row per nonempty cell. All groups are processed at once.

Labels are in sort order by default. An ``order`` lists all possible labels from the lowest to the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from streammetrics.core import Floats
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import near_one, widened

Normalization: TypeAlias = Literal["actual", "predicted", "all"]

_SIDES = ("actual", "predicted")
_WITHIN = {"actual": ["group", "actual"], "predicted": ["group", "predicted"], "all": ["group"]}


def label_view(table: pl.DataFrame, order: Sequence[Any] | None = None) -> pl.DataFrame:
    """Return the one-vs-rest confusion counts of each label of a group, in the order of the labels.

    >>> cells = {"actual": ["cat", "cat", "dog"], "predicted": ["cat", "dog", "cow"], "count": [5, 2, 3]}
    >>> label_view(pl.DataFrame({"group": [0, 0, 0], **cells})).rows()
    [(0, 'cat', 5, 0, 2, 3), (0, 'cow', 0, 3, 0, 7), (0, 'dog', 0, 2, 3, 5)]
    """
    table = _typed(table, order)
    return (
        _positions(table, order)
        .join(_counts_of_labels(table), on=["group", "label"], maintain_order="left")
        .drop("position")
    )


def overall_view(table: pl.DataFrame, order: Sequence[Any] | None = None) -> pl.DataFrame:
    """Return the table that metrics over all labels aggregate (`streammetrics.metrics.several_classes`).

    A group has one row for each label that occurs in it as true or predicted label. With an ``order``, it has a row for
    each of its labels, so that adjacent labels are one step apart.

    Its counts are ``actual``, the rows with the label; ``predicted``, the rows predicted so; ``correct``, the rows with
    both; ``distance`` and ``square_distance``, the sums over rows of the number of steps from true to predicted label,
    and of its square. Distances of counts are Int128.

    >>> cells = {"actual": ["low", "low", "mid"], "predicted": ["low", "high", "mid"], "count": [5, 2, 3]}
    >>> overall_view(pl.DataFrame({"group": [0, 0, 0], **cells}), order=["low", "mid", "high"]).rows()
    [(0, 5, 7, 5, 4, 8), (0, 3, 3, 3, 0, 0), (0, 0, 0, 2, 0, 0)]
    """
    table = _typed(table, order)
    positions = _positions(table, order)
    steps = (pl.col("actual position") - pl.col("predicted position")).abs()
    count = widened(pl.col("count"))
    distances = (
        _placed(table, positions, on=["group"])
        .group_by("group", label="actual", maintain_order=True)
        .agg(distance=(count * steps).sum(), square_distance=(count * steps * steps).sum())
    )
    return (
        positions.join(_counts_of_labels(table), on=["group", "label"], how="left", maintain_order="left")
        .join(distances, on=["group", "label"], how="left", maintain_order="left")
        .select(
            "group",
            correct="tp",
            actual=pl.col("tp") + pl.col("fn"),
            predicted=pl.col("tp") + pl.col("fp"),
            distance="distance",
            square_distance="square_distance",
        )
        .fill_null(0)
    )


def matrix_frame(
    table: pl.DataFrame, normalize: Normalization | None = None, labels: Sequence[Any] = ()
) -> pl.DataFrame:
    """Return the nonempty cells in the order of the labels, optionally with shares. See `Report.confusion_matrix`.

    >>> cells = {"actual": ["cat", "cat", "dog"], "predicted": ["dog", "cat", "dog"], "count": [1, 3, 4]}
    >>> matrix_frame(pl.DataFrame({"group": [0, 0, 0], **cells}), normalize="actual").rows()
    [(0, 'cat', 'cat', 3, 0.75), (0, 'cat', 'dog', 1, 0.25), (0, 'dog', 'dog', 4, 1.0)]
    """
    places = {label: i for i, label in enumerate(labels)}
    order = [pl.col(side).replace_strict(places, default=None, return_dtype=pl.UInt32) for side in _SIDES if places]
    frame = table.select("group", *_SIDES, "count").sort("group", *order, *_SIDES)
    if normalize is None:
        return frame
    if normalize not in _WITHIN:
        raise SpecificationError(Argument("normalize"), f" must be actual, predicted, all, or None, got {normalize!r}.")
    return frame.with_columns(share=_share(over=_WITHIN[normalize]))


def most_confused(table: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the ``n`` most frequent errors of each group, by descending count. See `Report.most_confused`.

    Equal counts are sorted by label.

    >>> cells = {"actual": ["cat", "cat", "dog"], "predicted": ["cat", "dog", "cat"], "count": [6, 2, 1]}
    >>> most_confused(pl.DataFrame({"group": [0, 0, 0], **cells}), n=1).select("actual", "predicted", "count").rows()
    [('cat', 'dog', 2)]
    """
    if n < 1:
        raise SpecificationError(Argument("n"), f" must be at least 1, got {n!r}.")
    return (
        table.select("group", *_SIDES, "count", share_of_actual=_share(over=["group", "actual"]))
        .filter(pl.col("actual") != pl.col("predicted"))
        .with_columns(share_of_errors=_share(over=["group"]))
        .sort("group", "count", *_SIDES, descending=[False, True, False, False])
        .group_by("group", maintain_order=True)
        .head(n)
    )


def weighted_kappa(table: pl.DataFrame, weights: ArrayLike, order: Sequence[Any] | None = None) -> pl.DataFrame:
    """Return Cohen's kappa with a weight for each kind of error (Cohen 1968).

    It is 1 - weighted error / weighted baseline error. The baseline is independent predictions with the same label
    frequencies. For the weights, see `Report.weighted_kappa`. The labels of the matrix are those of ``order``, or all
    labels of the table, over all groups. Kappa is null if error and baseline are both 0, for example with one label.

    >>> cells = {"actual": [0, 0, 1, 1], "predicted": [0, 1, 0, 1], "count": [20, 20, 10, 50]}
    >>> weighted_kappa(pl.DataFrame({"group": [0, 0, 0, 0], **cells}), weights=[[0, 2], [1, 0]]).rows()
    [(0, 0.375)]
    """
    table = _typed(table, order)
    seen = _labels(table)["label"].unique().sort()
    places = (seen.to_frame() if order is None else _listed(order, seen)).with_row_index("position")
    matrix = _square(weights, places.height)
    floats = pl.col("count").cast(pl.Float64)
    table = table.with_columns(near_one(floats.sum().over("group"), floats))
    cells = _placed(table, places).sort("group")
    groups = cells["group"].unique(maintain_order=True)
    group = cells["group"].rle_id().to_numpy()
    actual, predicted = cells["actual position"].to_numpy(), cells["predicted position"].to_numpy()
    count = cells["count"].to_numpy()
    actual_rows, predicted_rows = np.zeros((2, len(groups), places.height))
    np.add.at(actual_rows, (group, actual), count)
    np.add.at(predicted_rows, (group, predicted), count)
    error = np.bincount(group, matrix[predicted, actual] * count, minlength=len(groups))
    baseline = (predicted_rows @ matrix * actual_rows).sum(axis=1)
    excess = baseline - actual_rows.sum(axis=1) * error
    return pl.DataFrame({"group": groups, "kappa": pl.Series(excess) / pl.Series(baseline)}).fill_nan(None)


def _typed(table: pl.DataFrame, order: Sequence[Any] | None) -> pl.DataFrame:
    """The table, with the type of the order if it has no rows yet and so no type of labels."""
    if order is None or table.schema["actual"] != pl.Null():
        return table
    return table.cast(dict.fromkeys(_SIDES, pl.Series(list(order), strict=False).dtype))


def _labels(table: pl.DataFrame) -> pl.DataFrame:
    """The labels that occur in each group, as true or predicted label, sorted."""
    return pl.concat(table.select("group", label=side) for side in _SIDES).unique().sort("group", "label")


def _positions(table: pl.DataFrame, order: Sequence[Any] | None) -> pl.DataFrame:
    """The labels of each group in ascending order: those that occur, or those of the order.

    ``position`` increases by one, across groups too; within a group, differences are steps.
    """
    labels = _labels(table)
    if order is not None:
        groups = labels.select("group").unique().sort("group")
        labels = groups.join(_listed(order, labels["label"]), how="cross", maintain_order="left_right")
    return labels.with_columns(position=pl.int_range(pl.len()))


def _listed(order: Sequence[Any], seen: pl.Series) -> pl.DataFrame:
    """The labels of an order, in the type of the labels of the data."""
    return pl.DataFrame({"label": list(order)}, {"label": seen.dtype})


def _placed(table: pl.DataFrame, places: pl.DataFrame, on: Sequence[str] = ()) -> pl.DataFrame:
    """The cells with the positions of both of their labels."""
    for side in _SIDES:
        named = places.rename({"label": side, "position": f"{side} position"})
        table = table.join(named, on=[*on, side], maintain_order="left")
    return table


def _counts_of_labels(table: pl.DataFrame) -> pl.DataFrame:
    """True and false positives and negatives of each label, unordered.

    ``tn`` is computed as a difference, the others as sums of cells. If no cell remains, ``tn`` is exactly 0, even if
    sums of weights are rounded.
    """
    correct = pl.col("actual") == pl.col("predicted")
    actual = table.select(
        "group", label="actual", tp=pl.col("count") * correct, fn=pl.col("count") * ~correct, cells=pl.lit(1)
    )
    wrong = table.filter(~correct).select("group", label="predicted", fp="count")
    every_row = (pl.col("tp") + pl.col("fn")).sum().over("group")
    every_cell = pl.col("cells").sum().over("group")
    others = (every_row - pl.sum_horizontal("tp", "fp", "fn")).clip(0)
    return (
        pl.concat([actual, wrong], how="diagonal")
        .group_by("group", "label", maintain_order=True)  # so that weights are always summed in the same order
        .agg(pl.sum("tp", "fp", "fn", "cells"), own_cells=pl.len())
        .select(
            "group", "label", "tp", "fp", "fn", tn=pl.when(pl.col("own_cells") < every_cell).then(others).otherwise(0)
        )
    )


def _share(over: Sequence[str]) -> pl.Expr:
    """The count of a cell as a share of its row, column, or group."""
    return pl.col("count") / pl.col("count").sum().over(over)


def _square(weights: ArrayLike, size: int) -> Floats:
    try:
        matrix = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SpecificationError(Argument("weights"), " must be a square matrix of numbers.") from error
    if matrix.shape != (size, size):
        shape = " x ".join(map(str, matrix.shape))
        raise SpecificationError(
            Argument("weights"), f" must be a {size} x {size} matrix, one row per label, got {shape}."
        )
    if not np.isfinite(matrix).all():
        raise SpecificationError(Argument("weights"), " must be finite numbers.")
    return matrix
