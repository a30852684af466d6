"""One pass over a source: worker threads process batches into contents of their own, which are merged at the end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, overload

from streammetrics.accumulator import Accumulator
from streammetrics.base import (
    STEP,
    STEPS,
    ObjectPath,
    StorageOptions,
    few,
    of_extra,
    publish,
    require_threads,
    start,
    uninterrupted,
    whole,
)
from streammetrics.data import Batch, Source, Stream, labeling, open_stream, paths_of, read
from streammetrics.errors import Argument, SourceError, SpecificationError, StreamMetricsError
from streammetrics.metrics import Metric
from streammetrics.report import Receipt, Report, Verification, compared

Task = TypeVar("Task", Accumulator, Mapping[str, Accumulator])

BATCH = 1_048_576  # rows per batch, if the source does not determine it
GRACE = 20  # steps that a source may take to return after an interrupt
END = object()  # of a source


def accumulate(
    source: Source,
    task: Task | None = None,
    *,
    into: Task | None = None,
    workers: int | None = None,
    progress: bool = False,
    storage_options: StorageOptions = None,
) -> Task:
    """Process a whole source, and return a new accumulator with its rows.

    The source is streamed, so memory does not grow with its size. To add the rows to an existing accumulator, pass it
    as ``into``. If the pass fails or is interrupted, this accumulator contains the batches processed until then, except
    those of a thread whose memory ran out. Several accumulators always contain the same batches: a batch that one of
    them rejects is in none.

    Args:
        source: Paths, folders, globs, or file URIs (Parquet, CSV, NDJSON, Arrow IPC; folders of Delta Lake and Iceberg
            tables), also in object stores (``s3://``, ``gs://``, ``az://``), a DeltaTable, a LazyFrame, a pyarrow
            Dataset or RecordBatchReader, any data frame or table, or an iterable of batches or of rows as dictionaries.
        task: An accumulator with the specification, or a mapping of names to accumulators, which share the pass. They
            stay unchanged.
        into: The same, instead of ``task``, to add the rows to the accumulators and return them.
        workers: Number of threads. Defaults to one per CPU core.
        progress: Whether to show a progress bar. Requires the ``progress`` extra.
        storage_options: Options of the object store, such as credentials, as for Delta Lake. Defaults to the
            environment. Paths in object stores require the ``store`` extra.

    Raises:
        SourceError: If the source is missing or unreadable.
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.
        SpecificationError: If ``workers`` is not an integer from 1 to 1,024, ``task`` or ``into`` is not an
            accumulator, or both are passed.

    >>> import streammetrics as sm
    >>> batches = ({"y": [1, 0], "p": [0.9, p]} for p in (0.2, 0.3))
    >>> task = sm.binary(y_true="y", y_score="p")
    >>> total = sm.accumulate(batches, task)
    >>> sm.accumulate([{"y": [1], "p": [0.8]}], into=total).seen, task.seen
    (5, 0)
    """
    if workers is not None:
        workers = whole(Argument("workers"), workers, least=1, most=1_024)
    require_threads()
    if task is not None and into is not None:
        raise SpecificationError(
            "Pass either ",
            Argument("task"),
            " for a new accumulator, or ",
            Argument("into"),
            " to add rows to one, not both.",
        )
    specification = task if into is None else into
    filled = accumulators(source, specification)
    if into is None:
        filled = {name: each.empty() for name, each in filled.items()}
    targets = list(filled.values())
    columns = tuple(dict.fromkeys(c for target in targets for c in target.roles.sources))
    stream = open_stream(source, columns, BATCH, labeling([target.roles for target in targets]), storage_options)
    shared, *parts = (_Part(targets) for _ in range(1 + (workers or os.cpu_count() or 1)))
    with stream.naming_rows([target.roles for target in targets]), _progress_bar(stream, progress) as bar:
        try:
            _run(_Feed(stream.batches), parts, shared, bar)
        finally:
            with uninterrupted():
                _merge(targets, [shared, *parts])
    total: Any = filled[""] if isinstance(specification, Accumulator) else filled
    return total  # type: ignore[no-any-return]


@overload
def evaluate(
    source: Source,
    task: Accumulator,
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
    storage_options: StorageOptions = None,
) -> Report: ...
@overload
def evaluate(
    source: Source,
    task: Mapping[str, Accumulator],
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
    storage_options: StorageOptions = None,
) -> dict[str, Report]: ...
def evaluate(
    source: Source,
    task: Accumulator | Mapping[str, Accumulator],
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
    storage_options: StorageOptions = None,
) -> Report | dict[str, Report]:
    """Evaluate a whole source in one pass.

    Args:
        source: As in `accumulate`.
        task: An accumulator, or a mapping of names to accumulators, which share the pass. They stay unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        workers: As in `accumulate`.
        progress: As in `accumulate`.
        storage_options: As in `accumulate`.

    Returns:
        A report, or a dictionary of reports for several accumulators.

    Raises:
        SourceError: If the source is missing, unreadable, or has no rows.
        MetricError: If a metric is unknown or not available.
        SpecificationError: If ``task`` is not an accumulator, or ``confidence`` is not between 0 and 1.

    >>> import streammetrics as sm
    >>> rows = [{"y": 1, "p": 0.9}, {"y": 0, "p": 0.2}, {"y": 1, "p": 0.4}]
    >>> sm.evaluate(rows, sm.binary(y_true="y", y_score="p"), metrics=["accuracy"])["accuracy"].value
    0.6666666666666666
    """
    tasks = accumulators(source, task)
    for each in tasks.values():
        each.empty().finalize(metrics, confidence=confidence)  # invalid ones raise before anything is read
    filled = accumulate(source, tasks, workers=workers, progress=progress, storage_options=storage_options)
    require_rows(filled.values(), source)
    reports = {name: each.finalize(metrics, confidence=confidence) for name, each in filled.items()}
    return reports[""] if isinstance(task, Accumulator) else reports


def accumulators(source: Source, task: Any) -> Mapping[str, Accumulator]:
    """The accumulators of a pass by name; a single one has an empty name."""
    if isinstance(task, Accumulator):
        return {"": task}
    if _named(task):
        return task  # type: ignore[no-any-return]
    if isinstance(source, Accumulator) or _named(source):
        raise SpecificationError("The arguments are swapped. Pass the source first, then the accumulator.")
    raise SpecificationError(
        Argument("task"), f" must be an accumulator or a mapping of names to accumulators, got {type(task).__name__}."
    )


def _named(several: Any) -> bool:
    return isinstance(several, Mapping) and bool(several) and all(isinstance(a, Accumulator) for a in several.values())


def require_rows(filled: Iterable[Accumulator], source: Source) -> None:
    """Reject a source without rows, by its paths if it has any."""
    if not any(acc.seen for acc in filled):
        paths = paths_of(source)
        raise SourceError(f"No rows in {few(map(str, paths)) or 'the source'}.")


class _Part:
    """One content per accumulator, all of the same batches: those of a thread, or those that threads count together."""

    def __init__(self, targets: Sequence[Accumulator]) -> None:
        self.contents = [target._content.empty() for target in targets]
        self.numbering = threading.Lock()
        self.failed = False  # if memory runs out, contents can contain different batches, or a part of one
        self.busy = False  # whether its thread has drawn a batch and not yet processed it
        self.begun = False  # whether its thread runs; without memory, a thread can end before its first line
        self.done = threading.Event()  # an interrupted Thread.join would consider a thread ended

    def add(self, rows: Sequence[Batch]) -> None:
        """Add one batch to all contents, or to none if one of them rejects it."""
        for content, more in zip(self.contents, rows, strict=True):
            content.require(more)
        with self._counting():
            for content, more in zip(self.contents, rows, strict=True):
                content.add(more)

    def add_together(self, rows: Sequence[Batch]) -> bool:
        """Add one batch while other threads add others, if they would need as many cells each. Return whether it is."""
        pairs = list(zip(self.contents, rows, strict=True))
        if not any(content.fills_many_cells(more) for content, more in pairs):
            return False
        with self.numbering:
            if not all(content.takes(more.groups) for content, more in pairs):
                return False
            for content, more in pairs:
                content.require(more)
            numbers = [content.number(more) for content, more in pairs]
        with self._counting():
            for (content, more), of_groups in zip(pairs, numbers, strict=True):
                content.count(more, of_groups)
        return True

    def observe(self) -> None:
        """Count the buffered rows."""
        with self._counting():
            for content in self.contents:
                content.observe()

    @contextmanager
    def _counting(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.failed = True
            raise


class _Feed:
    """Gives batches to several threads, one at a time, until it is stopped."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._lock = threading.Lock()
        self.stopped = False
        self.closed = False  # whether it is too late for batches that the source still returns
        self.error: BaseException | None = None

    def to(self, part: _Part) -> Iterator[Any]:
        """Batches for a thread, which is busy with each, and after the last."""
        while True:
            with self._lock:
                batch = END if self.stopped else next(self._batches, END)
                part.busy = True
            if batch is END or self.closed:
                return
            yield batch
            part.busy = False

    def stop(self, error: BaseException | None = None) -> None:
        """Hand out no more batches. Store the first error."""
        self.stopped = True
        self.error = self.error or error


def _run(feed: _Feed, parts: Sequence[_Part], shared: _Part, bar: Any) -> None:

    def work(part: _Part) -> None:
        part.begun = True
        try:
            for batch in feed.to(part):
                rows = [read(batch, content.roles) for content in part.contents]
                if not shared.add_together(rows):
                    part.add(rows)
                if bar is not None:
                    bar.update(_height(batch))
            if not feed.closed:
                part.observe()  # here, where several threads do it in parallel
        except BaseException as error:
            feed.stop(error)
        finally:
            part.busy = False
            part.done.set()

    try:
        for part in parts:
            start(partial(work, part))
        for part in parts:  # other threads take the batches of one that never begins
            steps = STEPS
            while not part.begun and not part.done.wait(STEP) and not feed.stopped and steps > 0:
                steps -= 1
        if not any(part.begun for part in parts):
            raise StreamMetricsError("Cannot start a thread: too many threads, or too little memory.")
        for part in parts:
            while part.begun and not (part.done.wait(STEP) or feed.stopped):
                pass
    finally:  # an error or an interrupt: let every thread finish its batch, but do not wait for a source forever
        feed.stop()
        with uninterrupted():
            _let_finish(feed, parts)
    if feed.error is not None:
        raise feed.error


def _let_finish(feed: _Feed, parts: Sequence[_Part]) -> None:
    steps = GRACE  # not a time, which passes while a busy machine runs no thread
    for part in parts:
        while steps > 0 and not part.done.wait(STEP):
            steps -= 1
    feed.closed = True
    for part in parts:
        while part.busy and not part.done.wait(STEP):
            pass


def _merge(targets: Sequence[Accumulator], parts: Sequence[_Part]) -> None:
    """Merge what the threads have counted into the accumulators: into all, or into none if one of them rejects it."""
    total, error = _Part(targets), None
    for part in (part for part in parts if not part.failed):
        pairs = list(zip(total.contents, part.contents, strict=True))
        try:
            part.observe()
            for content, more in pairs:
                content.require_content(more)
        except StreamMetricsError as conflict:  # group columns of different types in two threads
            error = error or conflict
        else:
            for content, more in pairs:
                content.absorb(more)
    filled = [(target, content.as_state()) for target, content in zip(targets, total.contents, strict=True)]
    for target, content in filled:
        with target._lock:
            target._content.require_content(content)
    for target, content in filled:
        with target._lock:
            target._content.require_content(content)  # again, since another pass could have ended in between
            target._content.absorb(content)
    if error is not None:
        raise error


def _height(batch: Any) -> int:
    return len(next(iter(batch.values()))) if isinstance(batch, Mapping) else len(batch)


def _progress_bar(stream: Stream, progress: bool) -> AbstractContextManager[Any]:
    if not progress:
        return nullcontext()
    tqdm = of_extra("progress", "tqdm", "The progress bar requires").tqdm
    bar: AbstractContextManager[Any] = tqdm(total=stream.rows, unit=" rows", unit_scale=True)
    return bar


def verify(
    receipt: Receipt | str | Path,
    source: Source,
    *,
    workers: int | None = None,
    progress: bool = False,
    storage_options: StorageOptions = None,
) -> Verification:
    """Evaluate rows again, and compare the result with a receipt.

    Args:
        receipt: A receipt (see `Accumulator.receipt`), or the path of its file.
        source: The rows, as in `accumulate`, in any order and any number of files; a saved state, as the path of a
            ``.state`` file; or an accumulator.
        workers: As in `accumulate`.
        progress: As in `accumulate`.
        storage_options: As in `accumulate`.

    Returns:
        Whether everything is identical, or what differs.

    Raises:
        StateError: If the receipt or the state cannot be read, or the receipt has no specification because it is long.
            Then pass a state or an accumulator.
        SourceError: If the source is missing or unreadable.
        ColumnError: If a column is missing, such as one that was computed by an expression.

    >>> import streammetrics as sm
    >>> rows = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}
    >>> receipt = sm.binary(y_true="y", y_score="p", fingerprint=True).update(rows).receipt()
    >>> print(sm.verify(receipt, [{"y": [1], "p": [0.4]}, {"y": [0, 1], "p": [0.2, 0.9]}]))
    Identical: 3 rows, with the same fingerprints, counts, metrics, and verdicts.
    >>> print(sm.verify(receipt, [{"y": [1, 0, 1], "p": [0.9, 0.2, 0.3]}]).identical)
    False
    """
    stated = receipt if isinstance(receipt, Receipt) else Receipt.load(receipt)
    if isinstance(source, Accumulator):
        again = source
    elif isinstance(source, str | Path | ObjectPath) and str(source).endswith(".state"):
        again = Accumulator.load(str(source), storage_options=storage_options)
    else:
        task = Accumulator.from_arrow(stated.no_rows())
        again = accumulate(source, task, workers=workers, progress=progress, storage_options=storage_options)
    metrics, required = [*stated.metrics], [*stated.verdicts]
    return compared(stated, again.receipt(metrics, confidence=stated.confidence, require=required))


publish("streammetrics", accumulate, evaluate, verify)
