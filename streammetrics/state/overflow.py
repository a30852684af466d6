"""Detection of sums that would exceed the largest float, before a batch or a merge changes a state."""

from __future__ import annotations

from math import ceil, log10, sqrt

import polars as pl

from streammetrics.errors import DataError, MergeError
from streammetrics.rows.batches import WEIGHT, Batch, Field
from streammetrics.rows.columns import extent
from streammetrics.state.tables import State, combine

HEAVY = 1e280  # total weight of a batch: any number of lighter batches has a finite sum
FAR = 1e140  # absolute value: sums of squares of smaller values are finite
REGRESSION = ("truth", "predicted", "input")


def suspects(batch: Batch) -> list[pl.Series]:
    """Return the columns of a batch whose sums or sums of squares could exceed the largest float; usually none."""
    total = float(batch.columns[WEIGHT].sum()) if WEIGHT in batch.columns else 1.0
    far = FAR / sqrt(max(total, 1.0))  # the squares are multiplied by weights
    return [column for field, column in batch.columns.items() if _is_suspect(field, column, far)]


def _is_suspect(field: Field, column: pl.Series, far: float) -> bool:
    if field == WEIGHT:
        return bool(column.sum() > HEAVY)
    if field.role not in REGRESSION or column.dtype != pl.Float64:
        return False
    low, high = extent(column)
    return low < -far or high > far


def too_large(columns: list[pl.Series], how: str) -> DataError:
    """The error of the column with the largest value, whose sums or squares overflow."""
    column = max(columns, key=_largest)
    far = min(FAR, 10.0 ** (ceil(log10(_largest(column))) - 1))  # with large weights, smaller values overflow too
    wrong = column.abs() > far
    row = int(wrong.fill_null(False).arg_max() or 0)
    return DataError(
        column=column.name,
        fault=f"values beyond ±{far:g}, whose sums or squares {how},",
        count=int(wrong.sum()),
        height=len(column),
        row=row,
        value=column[row],
        advice=("Rescale the column",),
    )


def _largest(column: pl.Series) -> float:
    """The largest absolute value."""
    return max(map(abs, extent(column)))


def may_overflow(state: State) -> bool:
    """Return whether a state, merged with others, could have sums that exceed the largest float; usually False."""
    columns = (column for table in state.tables.values() for column in table.iter_columns() if table.height)
    sums = (column for column in columns if column.dtype == pl.Float64)
    return any((own.is_finite() & ~own.is_between(-HEAVY, HEAVY)).any() for own in sums)


def overflown(state: State) -> set[str]:
    """Return the statistics of a state with sums that are not finite."""
    return {s.name for s in state.statistics if state.table(s).select(s.overflown().any()).item()}


def refuse_overflow_together(one: State, other: State) -> None:
    """Raise if the sums of two states are finite, but not their total."""
    if found := overflown(combine([one, other])) - overflown(one) - overflown(other):
        raise MergeError(
            f"Cannot sum all rows: sums of {min(found)!r} would exceed the largest float. Rescale the columns."
        )
