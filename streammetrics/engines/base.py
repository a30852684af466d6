"""Common base of engines: partial states on workers, their merge, and errors of workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

from streammetrics import accumulator, errors, pipeline
from streammetrics.accumulator import Accumulator
from streammetrics.base import of_extra, pa
from streammetrics.data import Source, open_stream, paths_of
from streammetrics.errors import Argument, DataError, SourceError, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.report import Report
from streammetrics.statistics import restored_table

Metrics: TypeAlias = Sequence[str | Metric] | None

TOGETHER = 64  # states that are merged at once, which is faster than one by one
RAISED = re.compile(r"\bstreammetrics\.errors\.(\w+Error): (.+)")


def partial(source: Source, task: Accumulator, part: str | None = None) -> pa.Table:
    """Return the state of some rows. Called on a worker.

    Args:
        source: Any source of `streammetrics.accumulate`, such as an iterator of batches. It is read by one thread,
            since engines have a worker per core.
        task: An accumulator with the specification. It stays unchanged, and can be pickled, including its expressions.
        part: Name of the source in errors, such as ``"partition 3"``. Files are named by their path.

    Returns:
        The table of `Accumulator.to_arrow`, one row per group.

    Raises:
        StreamMetricsError: As `streammetrics.accumulate` does.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> partial([{"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}], clicks).num_rows
    2
    """
    require_accumulator(source, task)
    stream, before = open_stream(source, task.roles.sources, pipeline.BATCH, task.roles.labeling), 0

    def counted() -> Iterator[Any]:
        nonlocal before
        for batch in stream.batches:
            yield batch
            before += pipeline._height(batch)

    is_part = part is not None and not paths_of(source)
    named = replace(stream, batches=counted(), place=f"row {{}} of {part}".format) if is_part else stream
    try:
        return pipeline.accumulate(named, task, workers=1).to_arrow()
    except DataError as error:
        raise error.at(named.place(before + (error.row or 0))) if is_part else error from None


def merge(states: Iterable[pa.Table]) -> pa.Table:
    """Merge tables of states, such as those of `partial`, to one. They are processed as they arrive.

    Raises:
        StateError: If a table is not a state.
        MergeError: If ``states`` is empty, or the specifications differ.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> batch = {"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}
    >>> sm.Accumulator.from_arrow(merge([partial([batch], clicks), partial([batch], clicks)])).seen
    4
    """
    return accumulator.merge(_added_up(states)).to_arrow()


def absorb(acc: Accumulator, states: Iterable[pa.Table]) -> Accumulator:
    """Merge tables of states into an accumulator as they arrive, and return the accumulator."""
    for part in _added_up(states):
        acc.absorb(part)
    return acc


def _added_up(states: Iterable[pa.Table]) -> Iterator[Accumulator]:
    remaining = iter(states)
    while some := list(islice(remaining, TOGETHER)):
        by_schema: dict[bytes, list[pa.Table]] = {}
        for table in some:
            by_schema.setdefault(table.schema.serialize().to_pybytes(), []).append(table)
        yield from (Accumulator.from_arrow(pa.concat_tables(tables)) for tables in by_schema.values())


def restored(table: pa.Table, task: Accumulator) -> pa.Table:
    """Return a table of states as ``task`` writes it, if an engine dropped metadata, widened types, or moved columns.

    Raises:
        SpecificationError: If a column is missing, or has values that do not fit its type.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> state = partial([{"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}], clicks)
    >>> restored(state.replace_schema_metadata(), clicks).equals(state, check_metadata=True)
    True
    """
    try:
        return restored_table(table, task.empty().to_arrow().schema)
    except (KeyError, pa.ArrowException) as error:
        raise SpecificationError(f"The table does not contain states of {task!r}: {error}") from error


def plain(table: pa.Table) -> pa.Table:
    """Return a table of states in types of all engines: signed integers, lists and strings with 32-bit offsets.

    >>> plain(pa.table({"shift": pa.array([3], pa.uint8())})).schema.types
    [DataType(int16)]
    """
    fields = [pa.field(field.name, _plain_type(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    wider = {pa.uint8(): pa.int16(), pa.uint32(): pa.int64(), pa.large_string(): pa.string()}
    return wider.get(kind, kind)


def packed(table: pa.Table) -> bytes:
    """Return a table of states as one binary value, a compressed Arrow IPC stream, which engines do not change."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked(state: bytes | bytearray | pa.Buffer) -> pa.Table:
    """Return the table of a value from `packed`."""
    return pa.ipc.open_stream(state).read_all()


def evaluated(
    accumulate: Callable[..., Accumulator],
    source: Any,
    task: Any,
    metrics: Metrics = None,
    confidence: float | None = None,
    **options: Any,
) -> Report:
    """Return the report of an engine that accumulates a source.

    Args:
        accumulate: Function of the engine that processes a source and returns a new accumulator.
        source: The source.
        task: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        **options: Additional arguments of ``accumulate``.

    Raises:
        SourceError: If the source has no rows.
        SpecificationError: If ``task`` is not an accumulator, or ``confidence`` is not between 0 and 1.
        MetricError: If a metric is unknown or not available.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p")
    >>> evaluated(sm.accumulate, [{"y": [1, 0], "p": [0.9, 0.2]}], clicks)["accuracy"].value
    1.0
    """
    require_accumulator(source, task)
    task.empty().finalize(metrics, confidence=confidence)  # invalid ones raise before anything is read
    filled = accumulate(source, task, **options)
    pipeline.require_rows([filled], source)
    return filled.finalize(metrics, confidence=confidence)


def require_accumulator(source: Any, task: Any) -> None:
    """Reject anything except one accumulator."""
    if not isinstance(task, Accumulator):
        pipeline.accumulators(source, task)
        raise SpecificationError("Engines accept a single accumulator, got a mapping of several.")


def require_source(name: str, source: Any, method: str, kind: str) -> None:
    """Reject anything except a source of the engine, which is told by one of its methods."""
    if not hasattr(source, method):
        raise SourceError(Argument(name), f" must be {kind}, got {type(source).__name__}.")


def require_groups(task: Accumulator) -> None:
    """Reject an accumulator without groups."""
    if not task.roles.keys:
        raise SpecificationError("States by group require group columns. Pass ", Argument("by"), ", or use accumulate.")


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the error of this library instead of that of an engine, whose text contains it."""
    try:
        yield
    except Exception as error:
        match = RAISED.search(str(error))
        kind = getattr(errors, match[1], None) if match else None
        if match is None or kind is None or type(error) is kind:
            raise
        raise kind(match[2].strip()) from None


def engine(module: str, extra: str) -> Any:
    """Import a module of an engine."""
    return of_extra(extra, module, f"streammetrics.engines.{extra} requires")
