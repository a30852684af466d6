"""The loop that reads a source into a history, batch by batch, until it is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from streammetrics import Accumulator, MetricStore
from streammetrics.errors import SpecificationError
from streammetrics.rows.frames import to_frame

WAIT = 1.0  # maximum seconds that a source waits for rows, so that the loop can be stopped


class Source(Protocol):
    """Rows in the order of their offsets, such as one partition of a topic.

    Attributes:
        name: Name under which the history stores the offset.

    >>> class Numbers:
    ...     name = "numbers"
    ...
    ...     def read(self, start, seconds):
    ...         return [{"y": [n % 2], "p": [n / 10], "day": [date(2026, 1, 31)]} for n in range(start, 10)], 10
    >>> from datetime import date
    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by="day")
    >>> with TemporaryDirectory() as directory:
    ...     consumer = Consumer(Numbers(), acc, sm.MetricStore(directory), rows=10)
    ...     consumer.step(), consumer.store.offset("numbers")
    (10, 10)
    """

    name: str

    def read(self, start: int, seconds: float) -> tuple[Sequence[Any], int]:
        """Read some rows, starting at an offset.

        Args:
            start: The offset of the first row, either 0 or an offset that an earlier call returned.
            seconds: How long to wait for the first row.

        Returns:
            Batches in any form that `Accumulator.update` accepts, and the offset after their last row. If no rows
            arrived, no batches and ``start``.
        """
        ...


class Consumer:
    """Reads a source and adds each of its rows to a history exactly once.

    The commit that adds rows also stores the offset after them. After a crash, the next consumer starts at this offset.
    If two consumers read the same source, nothing is counted twice, and one of them fails.

    Args:
        source: The source.
        acc: An accumulator with the specification. It stays unchanged.
        store: The history.
        rows: Number of rows after which a batch is added.
        seconds: Time after which a batch is added even if it has fewer rows.

    Raises:
        SpecificationError: If an argument has the wrong type, or ``rows`` or ``seconds`` is not positive.

    >>> from tempfile import TemporaryDirectory
    >>> import redis
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by="day")
    >>> def serve():  # until SIGTERM
    ...     with TemporaryDirectory() as directory:
    ...         stream = RedisStream(redis.Redis(), "predictions")
    ...         Consumer(stream, acc, sm.MetricStore(directory), seconds=30).run()
    """

    def __init__(
        self, source: Source, acc: Accumulator, store: MetricStore, *, rows: int = 1_000_000, seconds: float = 60.0
    ) -> None:
        for name, given, kind in (("acc", acc, Accumulator), ("store", store, MetricStore)):
            if not isinstance(given, kind):
                raise SpecificationError(f"{name}= must be of type {kind.__name__}, got {type(given).__name__}.")
        if not rows > 0 or not seconds > 0:
            raise SpecificationError(f"rows= and seconds= must be positive, got {rows!r} and {seconds!r}.")
        self.source = source
        self.acc = acc
        self.store = store
        self.rows = rows
        self.seconds = seconds
        self._stopped = threading.Event()

    def run(self) -> None:
        """Read batches into the history until `stop` is called.

        If this method runs in the main thread, SIGTERM and SIGINT call `stop`.

        Raises:
            ColumnError: If a column is missing or has an unsupported type.
            DataError: If a batch contains values that are invalid for their role, or another consumer reads the same
                source.
            MergeError: If the specification differs from that of the history.
            SourceError: If the source cannot be read.
            StateError: If the history cannot be read or written.
        """
        with _signals(self.stop):
            while not self._stopped.is_set():
                self.step()

    def stop(self) -> None:
        """Make `run` return as soon as all rows read so far are in the history."""
        self._stopped.set()

    def step(self) -> int:
        """Read one batch and add it to the history. Return its number of rows.

        Raises:
            StreamMetricsError: As in `run`.
        """
        start = upto = self.store.offset(self.source.name) or 0
        acc, rows, end = self.acc.empty(), 0, time.monotonic() + self.seconds
        while rows < self.rows and (left := end - time.monotonic()) > 0 and not self._stopped.is_set():
            batches, upto = self.source.read(upto, min(left, WAIT))
            for batch in batches:
                frame = to_frame(batch, acc.roles.sources)
                acc.update(frame)
                rows += frame.height
        if upto > start:
            self.store.append(acc, source=self.source.name, start=start, upto=upto)
        return rows


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: stop()) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler or signal.SIG_DFL)
