"""One pass over a source: batches go to worker threads, each with accumulators of its own, merged at the end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, overload

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SourceError, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.report import Report
from streammetrics.sources import Source, Stream, open_stream

BATCH = 1_048_576  # rows of a batch, where the source leaves that open


@overload
def accumulate(
    source: Source, acc: Accumulator, *, workers: int | None = None, progress: bool = False
) -> Accumulator: ...
@overload
def accumulate(
    source: Source, acc: Mapping[str, Accumulator], *, workers: int | None = None, progress: bool = False
) -> Mapping[str, Accumulator]: ...
def accumulate(
    source: Source,
    acc: Accumulator | Mapping[str, Accumulator],
    *,
    workers: int | None = None,
    progress: bool = False,
) -> Accumulator | Mapping[str, Accumulator]:
    """Take a whole source into an accumulator, and return it.

    The source is streamed: memory does not grow with its size. When the pass is interrupted or fails, what was taken in
    until then stays in the accumulator.

    Args:
        source: paths, folders or globs (Parquet, CSV, NDJSON, Arrow IPC; folders of Delta Lake and Iceberg tables), a
            LazyFrame, a pyarrow Dataset or RecordBatchReader, a frame or table of any kind, or an iterable of batches
            or of rows as dicts.
        acc: an accumulator, or several by name, which share the pass.
        workers: number of threads; one for each core where None.
        progress: show a progress bar (the extra ``progress``).

    Raises:
        SourceError: where the source is missing or unreadable.
        ColumnError: for a missing column or one of an unusable type.
        DataError: for values that a column's role cannot use.
        SpecificationError: for less than one worker, or if ``acc`` is not an accumulator.

    >>> import streammetrics as sm
    >>> batches = ({"y": [1, 0], "p": [0.9, p]} for p in (0.2, 0.3))
    >>> sm.accumulate(batches, sm.binary(y_true="y", y_score="p")).finalize()["rows"].value
    4.0
    """
    if workers is not None and workers < 1:
        raise SpecificationError(f"there must be at least one worker, not {workers}.")
    targets = list(accumulators(source, acc).values())
    columns = tuple(dict.fromkeys(c for target in targets for c in target.roles.sources))
    stream = open_stream(source, columns, BATCH)
    feed = _Feed(stream.batches)
    parts = [[target.empty() for target in targets] for _ in range(workers or os.cpu_count() or 1)]
    try:
        with stream.naming_rows([target.roles for target in targets]), _progress_bar(stream, progress) as bar:
            _run(feed, parts, bar)
    finally:
        for part in parts:
            for target, filled in zip(targets, part, strict=True):
                target.absorb(filled)
    return acc


@overload
def evaluate(
    source: Source,
    acc: Accumulator,
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Report: ...
@overload
def evaluate(
    source: Source,
    acc: Mapping[str, Accumulator],
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> dict[str, Report]: ...
def evaluate(
    source: Source,
    acc: Accumulator | Mapping[str, Accumulator],
    *,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Report | dict[str, Report]:
    """Evaluate a whole source in one pass.

    Args:
        source: As in `accumulate`.
        acc: An accumulator, or several by name, which share the pass. They are not filled.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        workers: As in `accumulate`.
        progress: As in `accumulate`.

    Returns:
        A report, or one for each of several accumulators.

    Raises:
        SourceError: If the source is missing, unreadable, or has no rows.
        MetricError: If a metric is unknown or not available.
        SpecificationError: If ``acc`` is not an accumulator, or ``confidence`` is not between 0 and 1.

    >>> import streammetrics as sm
    >>> rows = [{"y": 1, "p": 0.9}, {"y": 0, "p": 0.2}, {"y": 1, "p": 0.4}]
    >>> sm.evaluate(rows, sm.binary(y_true="y", y_score="p"), metrics=["accuracy"])["accuracy"].value
    0.6666666666666666
    """
    empty = {name: each.empty() for name, each in accumulators(source, acc).items()}
    for each in empty.values():
        each.finalize(metrics, confidence=confidence)  # what is wrong with them is told before anything is read
    filled = accumulate(source, empty, workers=workers, progress=progress)
    require_rows(filled.values())
    reports = {name: each.finalize(metrics, confidence=confidence) for name, each in filled.items()}
    return reports[""] if isinstance(acc, Accumulator) else reports


def accumulators(source: Source, acc: Any) -> Mapping[str, Accumulator]:
    """The accumulators of a pass by name, of which a single one has none.

    Raises:
        SpecificationError: If there are none.
    """
    if isinstance(acc, Accumulator):
        return {"": acc}
    if _named(acc):
        return acc  # type: ignore[no-any-return]
    if isinstance(source, Accumulator) or _named(source):
        raise SpecificationError("the arguments are swapped: the source comes first, then the accumulator.")
    raise SpecificationError(f"an accumulator is needed, or several by name, not a {type(acc).__name__}.")


def _named(several: Any) -> bool:
    return isinstance(several, Mapping) and bool(several) and all(isinstance(a, Accumulator) for a in several.values())


def require_rows(filled: Iterable[Accumulator]) -> None:
    """Refuse to read metrics off nothing.

    Raises:
        SourceError: where none of the accumulators has seen a row.
    """
    if not any(acc.seen for acc in filled):
        raise SourceError("the source has no rows.")


class _Feed:
    """Hands out batches to several threads, one at a time, until it is stopped."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._lock = threading.Lock()
        self._stopped = False
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._lock:
                if self._stopped:
                    return
                try:
                    batch = next(self._batches)
                except StopIteration:
                    return
            yield batch

    def stop(self, error: BaseException | None = None) -> None:
        """Hand out nothing more; remember the first error."""
        self._stopped = True
        self.error = self.error or error


def _run(feed: _Feed, parts: list[list[Accumulator]], bar: Any) -> None:
    def work(part: list[Accumulator]) -> None:
        try:
            for batch in feed:
                for target in part:
                    target.update(batch)
                if bar is not None:
                    bar.update(_height(batch))
            for target in part:
                target.flush()  # here, where several threads do it at once
        except BaseException as error:
            feed.stop(error)

    threads = [threading.Thread(target=work, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:  # an interrupt: let every thread end the batch it is at
        feed.stop()
        for thread in threads:
            thread.join()
    if feed.error is not None:
        raise feed.error


def _height(batch: Any) -> int:
    return len(next(iter(batch.values()))) if isinstance(batch, Mapping) else len(batch)


def _progress_bar(stream: Stream, wanted: bool) -> AbstractContextManager[Any]:
    if not wanted:
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise SpecificationError(
            "a progress bar needs the extra 'progress': pip install 'streammetrics[progress]'."
        ) from error
    bar: AbstractContextManager[Any] = tqdm(total=stream.rows, unit=" rows", unit_scale=True)
    return bar
