"""Selection of the accumulator for each joined row.

A history can have several versions of its specification. A row is evaluated by the first one whose columns it has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import polars as pl

from streammetrics import Accumulator
from streammetrics.accumulator import empty_of
from streammetrics.errors import DataError
from streammetrics.rows.batches import read
from streammetrics.rows.frames import joint_types
from streammetrics.rows.roles import LABEL, Roles


def evaluators(acc: Accumulator, kept: Sequence[Accumulator], columns: Collection[str]) -> list[Accumulator]:
    """Return the current accumulator and those of earlier versions that need fewer columns.

    Waiting scores lack the columns of a model that was added after them. ``kept`` has the accumulators of all versions
    of the history, newest first, and ``columns`` all that rows can have.
    """
    found = [acc.empty()]
    if acc.roles.nulls == "drop":  # also drops rows that lack the columns of a model
        return found
    for version in kept:
        if any(_needed(version.roles) >= _needed(earlier.roles) for earlier in found):
            continue
        roles = replace(version.roles, expressions=acc.roles.expressions)
        if {*roles.sources} <= {*columns}:
            found.append(empty_of(roles, version.statistics, version))
    return found


def shares(rows: pl.LazyFrame, accs: Sequence[Accumulator]) -> Iterator[tuple[Accumulator, pl.LazyFrame]]:
    """Yield each accumulator with the rows that it evaluates. The last accumulator gets all remaining rows."""
    for acc in accs[:-1]:
        complete = pl.all_horizontal(column.is_not_null() for column in _made(acc))
        yield acc, rows.filter(complete)
        rows = rows.filter(~complete)
    yield accs[-1], rows


def require_complete(rows: pl.DataFrame, acc: Accumulator, named: Callable[[pl.DataFrame, int], str]) -> None:
    """Reject rows that lack a column of an accumulator because it was not required when they were added."""
    for column in rows.select(_made(acc)) if acc.roles.nulls == "raise" else ():
        if column.null_count():
            raise DataError(
                f"The score of {named(rows, column.is_null().arg_max() or 0)} has no column {column.name!r}, which was "
                "required only later. Add its label with a joiner that has the earlier accumulator."
            )


def require_one_type(rows: pl.DataFrame, acc: Accumulator) -> None:
    """Reject class labels and predictions of different types, also before the first rows match."""
    if acc.roles.kind == "multiclass" and not acc.roles.labels:
        columns = read(rows, acc.roles).columns.items()
        joint_types([pl.Schema({LABEL: s.dtype}) for field, s in columns if field.role in ("truth", "predicted")])


def _made(acc: Accumulator) -> list[pl.Expr]:
    return [acc.roles.expressions.get(name, pl.col(name)) for name in sorted(_needed(acc.roles))]


def _needed(roles: Roles) -> set[str]:
    """Return the columns of models and statistics, which cannot be null in an evaluated row."""
    of_models = [*roles.y_pred.values(), *roles.y_score.values()]
    return {*(name for names in of_models for name in names), *roles.inputs.values()}
