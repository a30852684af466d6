"""DuckDB: a relation as a source, streamed in Arrow batches with just the columns in use.

States saved as Parquet files are tables to DuckDB, which adds them up by SQL without this library: see docs/scale.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streammetrics import pipeline
from streammetrics.accumulator import Accumulator
from streammetrics.engines.tables import engine, finalized
from streammetrics.report import Report
from streammetrics.sources import require

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def accumulate(relation: DuckDBPyRelation, acc: Accumulator, *, workers: int | None = None) -> Accumulator:
    """Take the rows of a relation into an accumulator, and return it.

    The relation is streamed: memory does not grow with its size.

    Args:
        relation: what ``duckdb.sql`` returns; a table, files, a query.
        acc: an accumulator.
        workers: number of threads that take rows in; one for each core where None.

    Raises:
        ColumnError: for a missing column or one of an unusable type.
        DataError: for values that a column's role cannot use.

    >>> import duckdb
    >>> import streammetrics as sm
    >>> rows = duckdb.sql("FROM (VALUES (1, 0.9), (0, 0.2)) AS rows(y, p)")
    >>> accumulate(rows, sm.binary(y_true="y", y_score="p")).seen
    2
    """
    column = engine("duckdb", extra="duckdb").ColumnExpression
    columns = acc.roles.sources
    require(columns, relation.columns)
    used = relation.select(*map(column, columns)) if columns else relation  # volume alone needs rows of any column
    return pipeline.accumulate(used.to_arrow_reader(pipeline.BATCH), acc, workers=workers)


def evaluate(relation: DuckDBPyRelation, acc: Accumulator, *, workers: int | None = None) -> Report:
    """Evaluate the rows of a relation. The arguments are those of `accumulate`; ``acc`` is not filled itself.

    Raises:
        SourceError: where the relation has no rows.

    >>> import duckdb
    >>> import streammetrics as sm
    >>> rows = duckdb.sql("FROM (VALUES (1, 0.9), (0, 0.2), (1, 0.4)) AS rows(y, p)")
    >>> evaluate(rows, sm.binary(y_true="y", y_score="p"))["accuracy"].value
    0.6666666666666666
    """
    return finalized(accumulate(relation, acc.empty(), workers=workers))
