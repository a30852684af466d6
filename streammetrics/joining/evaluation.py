"""Which accumulator evaluates a joined row: of those that a history may take, the first whose columns it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import polars as pl

from streammetrics.accumulator import Accumulator, empty_of
from streammetrics.errors import DataError
from streammetrics.rows.roles import Roles


def evaluators(acc: Accumulator, kept: Sequence[Accumulator], columns: Collection[str]) -> list[Accumulator]:
    """An accumulator, and those of earlier versions that need fewer columns.

    Scores that wait lack the columns of a model that was added since.

    Args:
        acc: The accumulator that rows are evaluated by if they can be.
        kept: Those of the versions of the history, the newest first.
        columns: Names of columns that rows can have.
    """
    found = [acc.empty()]
    if acc.roles.nulls == "drop":  # which holds for rows that lack a model's columns, too
        return found
    for version in kept:
        if any(_needed(version.roles) >= _needed(earlier.roles) for earlier in found):
            continue
        roles = replace(version.roles, expressions=acc.roles.expressions)
        if {*roles.sources} <= {*columns}:
            found.append(empty_of(roles, version.statistics, version))
    return found


def shares(rows: pl.LazyFrame, accs: Sequence[Accumulator]) -> Iterator[tuple[Accumulator, pl.LazyFrame]]:
    """Each accumulator with the rows that it evaluates. The last one is given all that are left."""
    for acc in accs[:-1]:
        complete = pl.all_horizontal(column.is_not_null() for column in _made(acc))
        yield acc, rows.filter(complete)
        rows = rows.filter(~complete)
    yield accs[-1], rows


def require_complete(rows: pl.DataFrame, acc: Accumulator, named: Callable[[pl.DataFrame, int], str]) -> None:
    """Reject rows that lack a column of an accumulator: it was not required when they came.

    Raises:
        DataError: If some do.
    """
    for column in rows.select(_made(acc)) if acc.roles.nulls == "raise" else ():
        if column.null_count():
            raise DataError(
                f"The score of {named(rows, column.is_null().arg_max() or 0)} came before column {column.name!r} was "
                "needed, and lacks it. Add its label with a joiner of the earlier accumulator."
            )


def _made(acc: Accumulator) -> list[pl.Expr]:
    return [acc.roles.expressions.get(name, pl.col(name)) for name in sorted(_needed(acc.roles))]


def _needed(roles: Roles) -> set[str]:
    """The columns of models and of statistics, in which a row that an accumulator evaluates has no null."""
    of_models = [*roles.y_pred.values(), *roles.y_score.values()]
    return {*(name for names in of_models for name in names), *roles.inputs.values()}
