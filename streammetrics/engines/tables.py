"""What every engine does: rows to a table of states on a worker, such tables to one, and errors carried home."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from streammetrics import accumulator, errors, pipeline
from streammetrics.accumulator import Accumulator
from streammetrics.errors import DataError, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.report.report import Report
from streammetrics.sources.streams import Source, are_paths, open_stream
from streammetrics.state import storage
from streammetrics.system.lazy import pa

Metrics: TypeAlias = Sequence[str | Metric] | None

TOGETHER = 64  # states that are held to be added up at once, which is faster than one by one
RAISED = re.compile(r"\bstreammetrics\.errors\.(\w+Error): (.+)")


def partial(source: Source, acc: Accumulator, part: str | None = None) -> pa.Table:
    """The state of some rows: what a worker sends home.

    Args:
        source: What `streammetrics.accumulate` takes, such as an iterator of batches. One thread reads it, since an
            engine has a worker for each core.
        acc: Says what to keep, and is not filled itself. It travels pickled, its expressions included.
        part: What errors of bad rows call the source, such as ``"partition 3"``. Files are named by themselves.

    Returns:
        The table of `Accumulator.to_arrow`, a row for each group.

    Raises:
        StreamMetricsError: As `streammetrics.accumulate` does.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> partial([{"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}], clicks).num_rows
    2
    """
    require_accumulator(source, acc)
    stream, before = open_stream(source, acc.roles.sources, pipeline.BATCH), 0

    def counted() -> Iterator[Any]:
        nonlocal before
        for batch in stream.batches:
            yield batch
            before += pipeline._height(batch)

    own = part is not None and not (are_paths(source) or isinstance(source, str | Path))
    named = replace(stream, batches=counted(), place=f"row {{}} of {part}".format) if own else stream
    try:
        return pipeline.accumulate(named, acc.empty(), workers=1).to_arrow()
    except DataError as error:
        raise error.at(named.place(before + (error.row or 0))) if own else error from None


def merge(states: Iterable[pa.Table]) -> pa.Table:
    """One table of states from several, such as those of `partial`. They are taken as they come.

    Raises:
        StateError: If a table is not a state.
        MergeError: If ``tables`` is empty, or the specifications differ.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> batch = {"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}
    >>> sm.Accumulator.from_arrow(merge([partial([batch], clicks), partial([batch], clicks)])).seen
    4
    """
    return accumulator.merge(_added_up(states)).to_arrow()


def absorb(acc: Accumulator, states: Iterable[pa.Table]) -> Accumulator:
    """Take tables of states into an accumulator as they come, and return it."""
    for part in _added_up(states):
        acc.absorb(part)
    return acc


def _added_up(states: Iterable[pa.Table]) -> Iterator[Accumulator]:
    """The accumulators of tables, those of one schema together."""
    remaining = iter(states)
    while some := list(islice(remaining, TOGETHER)):
        alike: dict[bytes, list[pa.Table]] = {}
        for table in some:
            alike.setdefault(table.schema.serialize().to_pybytes(), []).append(table)
        yield from (Accumulator.from_arrow(pa.concat_tables(tables)) for tables in alike.values())


def restored(table: pa.Table, acc: Accumulator) -> pa.Table:
    """A table of states as `acc` would write it, if an engine dropped its metadata, widened types or moved columns.

    Raises:
        SpecificationError: If a column is missing, or holds values that its type cannot.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p", by="day")
    >>> state = partial([{"y": [1, 0], "p": [0.9, 0.2], "day": [1, 2]}], clicks)
    >>> restored(state.replace_schema_metadata(), clicks).equals(state, check_metadata=True)
    True
    """
    try:
        return storage.restored(table, acc.empty().to_arrow().schema)
    except (KeyError, pa.ArrowException) as error:
        raise SpecificationError(f"The table does not contain states of {acc!r}: {error}") from error


def plain(table: pa.Table) -> pa.Table:
    """A table of states in types that every engine has: signed integers, and lists and texts of 32-bit offsets.

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
    """A table of states as one value, an Arrow IPC stream, which no engine changes on the way."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked(state: pa.Scalar) -> pa.Table:
    """The table that `packed` made the value of."""
    return pa.ipc.open_stream(state.as_buffer()).read_all()


def evaluated(
    accumulate: Callable[..., Accumulator],
    source: Any,
    acc: Any,
    metrics: Metrics = None,
    confidence: float | None = None,
    **options: Any,
) -> Report:
    """Return the report of an engine that accumulates a source.

    Args:
        accumulate: Function of the engine that fills an accumulator with the rows of a source, and returns it.
        source: The source.
        acc: An accumulator, which is not filled.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        **options: Further arguments of ``accumulate``.

    Raises:
        SourceError: If the source has no rows.
        SpecificationError: If ``acc`` is not an accumulator, or ``confidence`` is not between 0 and 1.
        MetricError: If a metric is unknown or not available.

    >>> import streammetrics as sm
    >>> clicks = sm.binary(y_true="y", y_score="p")
    >>> evaluated(sm.accumulate, [{"y": [1, 0], "p": [0.9, 0.2]}], clicks)["accuracy"].value
    1.0
    """
    require_accumulator(source, acc)
    acc.empty().finalize(metrics, confidence=confidence)  # what is wrong with them is told before anything is read
    filled = accumulate(source, acc.empty(), **options)
    pipeline.require_rows([filled])
    return filled.finalize(metrics, confidence=confidence)


def require_accumulator(source: Any, acc: Any) -> None:
    """Refuse what is not one accumulator.

    Raises:
        SpecificationError: If it is not.
    """
    if not isinstance(acc, Accumulator):
        pipeline.accumulators(source, acc)
        raise SpecificationError("Engines accept a single accumulator, got a mapping of several.")


def require_whole(name: str, given: Any, least: int) -> None:
    """Refuse a number of tasks or states that cannot be.

    Raises:
        SpecificationError: If it is not a whole number, or less than ``least``.
    """
    if not isinstance(given, int) or given < least:
        raise SpecificationError(f"{name}= must be an integer of at least {least}, got {given!r}.")


def require_groups(acc: Accumulator) -> None:
    """Refuse to keep states apart if there is one.

    Raises:
        SpecificationError: If there are no group columns.
    """
    if not acc.roles.keys:
        raise SpecificationError("States by group require group columns. Pass by=, or use accumulate.")


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the library's own error instead of that of an engine, which has it somewhere in a long text."""
    try:
        yield
    except Exception as error:
        found = RAISED.search(str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None or type(error) is kind:
            raise
        raise kind(found[2].strip()) from None


def engine(module: str, extra: str) -> ModuleType:
    """A module of an engine.

    Raises:
        SpecificationError: If the library is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SpecificationError(
            f"this needs the extra {extra!r}: pip install 'streammetrics[{extra}]' ({error})."
        ) from error
