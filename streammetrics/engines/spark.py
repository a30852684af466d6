"""Spark: one state per partition, merged on the driver; or, for very many groups, a data frame of states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from streammetrics.accumulator import Accumulator
from streammetrics.base import pa, whole, without_scheme
from streammetrics.data import require_columns, utc_times
from streammetrics.engines import base
from streammetrics.engines.base import (
    Metrics,
    absorb,
    engine,
    evaluated,
    own_errors,
    packed,
    plain,
    require_accumulator,
    require_groups,
    require_source,
    restored,
    unpacked,
)
from streammetrics.errors import Argument, DataError, SourceError, SpecificationError
from streammetrics.monitor import MetricStore, require_store
from streammetrics.report import Report
from streammetrics.statistics import KEY as HEADER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches: TypeAlias = Iterator[Any]
Work: TypeAlias = Callable[[Batches], Batches]

STATE = "state binary"  # a whole state as Arrow IPC, in types that Spark lacks
LIMIT = re.compile(r"bigger than (spark\.[\w.]+) \(([^)]*)\)")  # of the results that Spark collects, in its error
PLACE = re.compile(r"(?P<before>.* at row (?P<row>\d+) of (?P<partition>partition \d+))(?P<after>\).*)", re.DOTALL)
PIECE = 10_000  # groups of a batch that a worker returns


def accumulate(df: DataFrame, task: Accumulator, *, partitions: int | None = None) -> Accumulator:
    """Process the rows of a data frame, and return a new accumulator with them.

    Each partition becomes a state, and the driver merges the states. With Spark Connect, the driver is the client.

    Args:
        df: A data frame, of a classic session or of Spark Connect.
        task: An accumulator with the specification, which stays unchanged.
        partitions: Number of partitions in which states are merged before the driver does, if there are thousands.
            Defaults to none.

    Raises:
        SourceError: If the states of all partitions are larger than ``spark.driver.maxResultSize``.
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values. Spark retries a failed task first, by default up to four
            attempts.
    """
    require_accumulator(df, task)
    _require_partitions(partitions)
    spec = task.empty()
    states = _mapped(df, _used(df, task), lambda batches: _partial_state(batches, spec), STATE)
    if partitions is not None:
        states = states.repartition(partitions).mapInArrow(_merged_state, STATE)
    try:
        return _collected(states, task)
    except DataError as error:
        raise _with_file(error, df) from None


def evaluate(
    df: DataFrame,
    task: Accumulator,
    *,
    metrics: Metrics = None,
    confidence: float | None = None,
    partitions: int | None = None,
) -> Report:
    """Evaluate the rows of a data frame.

    Args:
        df: As in `accumulate`.
        task: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        partitions: As in `accumulate`.

    Raises:
        SourceError: If there are no rows.
        MetricError: If a metric is unknown or not available.
    """
    return evaluated(accumulate, df, task, metrics, confidence, partitions=partitions)


def states(df: DataFrame, task: Accumulator, *, partitions: int | None = None) -> DataFrame:
    """Return the states of very many groups, merged on the workers, with one row per group.

    Args:
        df: As in `accumulate`. An empty part of it is evaluated immediately, for the types of its columns.
        task: An accumulator with the specification. It stays unchanged.
        partitions: Number of partitions of the result. Defaults to Spark's number of shuffle partitions.

    Returns:
        A data frame with the group columns and one nested column per statistic. It can be filtered by group, written,
        merged with others by `merge`, and passed to `collect`.

    Raises:
        SpecificationError: If there are no group columns.
    """
    require_accumulator(df, task)
    require_groups(task)
    used, spec = _used(df, task), task.empty()
    no_rows, arrow = df.select(*_quoted(used)).limit(0), engine("pyspark.sql.pandas.types", extra="spark")
    spark_3 = not hasattr(no_rows, "toArrow")
    typed = arrow.to_arrow_schema(no_rows.schema).empty_table() if spark_3 else no_rows.toArrow()
    schema = plain(task.empty().update(utc_times(typed)).to_arrow()).schema
    types = _described(arrow.from_arrow_schema(schema), spec)
    states = _mapped(df, used, lambda batches: _partial_states(batches, spec, schema), types)
    return merge(states, task, partitions=partitions)


def merge(states: DataFrame, task: Accumulator, *, partitions: int | None = None) -> DataFrame:
    """Merge states of the same group on the workers, for example those of several days.

    Args:
        states: A data frame of `states`, the union of several, or one that was written and read again.
        task: An accumulator with the specification of the states. To roll up, pass ``task.rollup("country")``.
        partitions: As in `states`.

    Returns:
        A data frame as from `states`, with one row per group.
    """
    _require_partitions(partitions)
    spec = task.empty()
    columns = _columns_of_states(states, spec)
    used = states.select(*_quoted(columns))
    shuffled = used.repartition(*([] if partitions is None else [partitions]), *_quoted(task.roles.group_columns))
    return _mapped(shuffled, columns, lambda batches: _merged_states(batches, spec), _described(used.schema, spec))


def collect(states: DataFrame, task: Accumulator) -> Accumulator:
    """Return the accumulator of a data frame of states, for example of a few groups.

    Args:
        states: A data frame of `states` or `merge`, or some of its rows.
        task: An accumulator with the specification of the states. It stays unchanged.

    Raises:
        SpecificationError: If the states do not match the specification.
    """
    spec = task.empty()
    columns = _columns_of_states(states, spec)
    return _collected(_mapped(states, columns, lambda batches: _whole_state(batches, spec), STATE), task)


def into_history(
    store: MetricStore, task: Accumulator, *, source: str, partitions: int | None = None
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that appends each batch of a streaming query to a history exactly once.

    The history stores the batch number in the same commit as the rows. A batch that Spark repeats after a crash is
    skipped if it was committed.

    Args:
        store: The history.
        task: An accumulator with the specification, grouped by the window. It stays unchanged.
        source: Name under which the history stores the number of the next batch. Batches are numbered by the checkpoint
            of the query, so each checkpoint requires its own name.
        partitions: As in `accumulate`.

    Returns:
        A function of a data frame and the number of a batch. It raises the errors of `accumulate` and `append`,
        and a `DataError` if batches are missing, because the history is older than the checkpoint.

    >>> import streammetrics as sm
    >>> from streammetrics.engines import spark
    >>> def start(clicks):  # a streaming data frame
    ...     task = sm.binary(y_true="clicked", y_score="p", by="day")
    ...     add = spark.into_history(sm.MetricStore("history"), task, source="clicks")
    ...     return clicks.writeStream.foreachBatch(add).option("checkpointLocation", "checkpoint").start()
    """
    require_store(store)
    if not isinstance(task, Accumulator):
        raise SpecificationError(Argument("task"), f" must be an Accumulator, got {type(task).__name__}.")
    _require_partitions(partitions)
    spec = task.empty()

    def add(df: DataFrame, batch: int) -> None:
        if batch >= (store.offset(source) or 0):
            acc = accumulate(df, spec, partitions=partitions)
            store.append(acc, source=source, start=batch, upto=batch + 1)

    return add


def _collected(states: DataFrame, task: Accumulator) -> Accumulator:
    """An accumulator of the whole states of partitions or tasks."""
    try:
        with own_errors():
            rows = states.collect()  # Spark 3 has no `toArrow`
    except Exception as error:
        if limit := LIMIT.search(str(error)):
            raise SourceError(
                f"The states of all partitions are larger than {limit[1]} ({limit[2]}). Raise the limit, or pass ",
                Argument("partitions"),
                " to merge states before collecting them. For very many groups, collect some states.",
            ) from error
        raise
    return absorb(task.empty(), (unpacked(row["state"]) for row in rows))


def _with_file(error: DataError, df: DataFrame) -> DataError:
    """The error with the file of the first bad row, which Spark knows unless rows were shuffled."""
    place = PLACE.fullmatch(str(error))
    if place is None:
        return error
    partition, row = place["partition"], int(place["row"])

    def file_of_row(batches: Batches) -> Batches:
        before = 0
        for batch in batches if _partition() == partition else ():
            if row < before + batch.num_rows:
                yield batch.slice(row - before, 1)
                return
            before += batch.num_rows

    try:
        file = engine("pyspark.sql.functions", extra="spark").input_file_name().alias("file")
        uri = df.select(file).mapInArrow(file_of_row, "file string").collect()[0]["file"]
    except Exception:  # for any reason: the error is told in any case
        return error
    return DataError(f"{place['before']}, in {without_scheme(uri)}{place['after']}") if uri else error


def _require_partitions(partitions: int | None) -> None:
    if partitions is not None:
        whole(Argument("partitions"), partitions, least=1)


def _described(types: Any, task: Accumulator) -> Any:
    """A schema whose first column has the header of the states, which Spark saves, so that they can be loaded."""
    types.fields[0].metadata = {HEADER.decode(): task.to_arrow().schema.metadata[HEADER].decode()}
    return types


def _used(df: DataFrame, task: Accumulator) -> list[str]:
    """The columns in use; any one for volume alone, since rows without columns are not sent."""
    require_source("df", df, "mapInArrow", "a Spark data frame")
    require_columns(task.roles.sources, df.columns)
    return list(task.roles.sources) or df.columns[:1]


def _columns_of_states(states: DataFrame, task: Accumulator) -> list[str]:
    columns: list[str] = task.to_arrow().column_names
    require_source("states", states, "mapInArrow", "a Spark data frame of states")
    if missing := [column for column in columns if column not in states.columns]:
        raise SpecificationError(
            f"The data frame does not contain states of {task!r}: column {missing[0]!r} not found."
        )
    return columns


def _mapped(df: DataFrame, columns: Sequence[str], work: Work, schema: Any) -> DataFrame:
    """Results of workers for the batches of each partition. Columns are numbered: Spark splits names at dots."""
    numbered = df.select(*_quoted(columns)).toDF(*(f"c{i}" for i in range(len(columns))))
    return numbered.mapInArrow(lambda batches: work(_named(batch, columns) for batch in batches), schema)


def _named(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """A batch with its column names, and times in UTC instead of the time zone of the session."""
    return utc_times(pa.record_batch(batch.columns, names=list(columns)))


def _quoted(columns: Sequence[str]) -> list[str]:
    """Names quoted, since they can contain dots."""
    return ["`" + column.replace("`", "``") + "`" for column in columns]


def _partial_state(batches: Batches, task: Accumulator) -> Batches:
    yield pa.record_batch({"state": [packed(base.partial(batches, task, _partition()))]})


def _partition() -> str:
    context = engine("pyspark", extra="spark").TaskContext.get()
    return "a partition" if context is None else f"partition {context.partitionId()}"


def _merged_state(batches: Batches) -> Batches:
    parts = (unpacked(value.as_buffer()) for batch in batches for value in batch["state"])
    first = next(parts, None)
    if first is not None:
        yield pa.record_batch({"state": [packed(base.merge(chain([first], parts)))]})


def _whole_state(batches: Batches, task: Accumulator) -> Batches:
    parts = list(batches)
    if parts:
        yield pa.record_batch({"state": [packed(base.merge([restored(pa.Table.from_batches(parts), task)]))]})


def _partial_states(batches: Batches, task: Accumulator, schema: pa.Schema) -> Batches:
    yield from plain(base.partial(batches, task, _partition())).cast(schema).to_batches(PIECE)


def _merged_states(batches: Batches, task: Accumulator) -> Batches:
    parts = list(batches)
    if parts:
        states = pa.Table.from_batches(parts)
        yield from plain(base.merge([restored(states, task)])).to_batches(PIECE)
