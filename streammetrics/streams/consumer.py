"""The loop that reads a source into a history, batch by batch, until it is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.history.store import MetricStore
from streammetrics.rows.frames import to_frame

WAIT = 1.0  # seconds that a source may wait for rows, at most, so that the loop can be stopped


class Source(Protocol):
    """Rows in the order of their offsets, such as one partition of a topic.

    Attributes:
        name: Under which the history stores the offset.

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
        """Read some rows, wherever the last call ended.

        Args:
            start: The offset to begin with, 0 or one that an earlier call returned.
            seconds: How long to wait for the first row.

        Returns:
            Batches as `Accumulator.update` takes them, and the offset after their last row. If no rows came, no
            batches and ``start``.
        """
        ...


class Consumer:
    """Reads a source and adds its rows to a history, each row once.

    The history stores the offset up to which it has the source, in the commit that adds the rows. After a crash, the
    next consumer begins there. If two consumers read the same source, nothing is counted twice, and one of them fails.

    Args:
        source: What to read.
        acc: An accumulator with the specification. It stays unchanged.
        store: The history.
        rows: Number of rows after which a batch is added.
        seconds: Time after which a batch is added, however few rows it has.

    Raises:
        SpecificationError: If an argument is of another type, or not positive.

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
                raise SpecificationError(f"{name} must be of type {kind.__name__}, got {type(given).__name__}.")
        if not rows > 0 or not seconds > 0:
            raise SpecificationError(f"rows and seconds must be positive, got {rows!r} and {seconds!r}.")
        self.source, self.acc, self.store, self.rows, self.seconds = source, acc, store, rows, seconds
        self._stopped = threading.Event()

    def run(self) -> None:
        """Add batch after batch until `stop` is called.

        In the main thread, SIGTERM and SIGINT call it.

        Raises:
            ColumnError: If a batch lacks a column or has one of an unusable type.
            DataError: If a batch contains values that a role cannot use, or another consumer reads the same source.
            MergeError: If the specification is not that of the history.
            SourceError: If the source cannot be read.
            StateError: If the history cannot be read or written.
        """
        with _signals(self.stop):
            while not self._stopped.is_set():
                self.step()

    def stop(self) -> None:
        """Let `run` return once the rows read so far are in the history."""
        self._stopped.set()

    def step(self) -> int:
        """Read one batch and add it to the history. Return its number of rows.

        Raises:
            StreamMetricsError: As `run`.
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
    """Call ``stop`` at SIGTERM and SIGINT."""
    if threading.current_thread() is not threading.main_thread():  # which alone receives signals
        yield
        return
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: stop()) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler or signal.SIG_DFL)
