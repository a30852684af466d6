"""DuckDB: a relation as a source, streamed in Arrow batches with the columns in use.

DuckDB can also merge states saved as Parquet files in SQL, without this library: see docs/sql.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streammetrics import pipeline
from streammetrics.accumulator import Accumulator
from streammetrics.engines.base import Metrics, evaluated, require_accumulator, require_source
from streammetrics.report import Report

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def accumulate(relation: DuckDBPyRelation, task: Accumulator, *, workers: int | None = None) -> Accumulator:
    """Process the rows of a relation, and return a new accumulator with them.

    The relation is streamed, so memory does not grow with its size. Times with a zone are in UTC, regardless of the
    time zone of the session.

    Args:
        relation: A relation, such as the result of ``duckdb.sql``: a table, files, or a query.
        task: An accumulator with the specification, which stays unchanged.
        workers: Number of threads. Defaults to one per CPU core.

    Raises:
        SourceError: If ``relation`` is not a relation.
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.

    >>> import duckdb
    >>> import streammetrics as sm
    >>> rows = duckdb.sql("FROM (VALUES (1, 0.9), (0, 0.2)) AS rows(y, p)")
    >>> accumulate(rows, sm.binary(y_true="y", y_score="p")).seen
    2
    """
    require_accumulator(relation, task)
    require_source("relation", relation, "to_arrow_reader", "a DuckDB relation, such as duckdb.sql(query)")
    return pipeline.accumulate(relation, task, workers=workers)


def evaluate(
    relation: DuckDBPyRelation,
    task: Accumulator,
    *,
    metrics: Metrics = None,
    confidence: float | None = None,
    workers: int | None = None,
) -> Report:
    """Evaluate the rows of a relation.

    Args:
        relation: As in `accumulate`.
        task: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        workers: As in `accumulate`.

    Raises:
        SourceError: If ``relation`` is not a relation or has no rows.
        MetricError: If a metric is unknown or not available.

    >>> import duckdb
    >>> import streammetrics as sm
    >>> rows = duckdb.sql("FROM (VALUES (1, 0.9), (0, 0.2), (1, 0.4)) AS rows(y, p)")
    >>> evaluate(rows, sm.binary(y_true="y", y_score="p"))["accuracy"].value
    0.6666666666666666
    """
    return evaluated(accumulate, relation, task, metrics, confidence, workers=workers)
