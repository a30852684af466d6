"""The library's exceptions and its warning. Every error that a user can cause is one of these exceptions.

Errors of arguments and data are also `ValueError`; `ReportError` is also `LookupError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "ColumnError",
    "DataError",
    "MergeError",
    "MetricError",
    "ReportError",
    "SourceError",
    "SpecificationError",
    "StateError",
    "StateWarning",
    "StreamMetricsError",
]

LONGEST_SENTENCE = 1_000  # characters
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, change the direction of text, or cannot be encoded."""


def escaped(text: str) -> str:
    r"""Return a text with control characters escaped.

    >>> print(escaped("a\x1b[2Jb\r\u202ec"))
    a\x1b[2Jb\r\u202ec
    """
    return text if text.isprintable() else UNSAFE.sub(lambda match: repr(match[0])[1:-1], text)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis in the middle of a longer one.

    >>> cut("customer_segment_north_2026", 12), cut("short", 12)
    ('custom…_2026', 'short')
    """
    return text if len(text) <= most else f"{text[: most // 2]}…{text[most // 2 + 1 - most :]}"


@dataclass(frozen=True)
class Argument:
    """An argument in a message. The command writes its option instead.

    >>> print(Argument("confidence"), Argument("nulls", "drop"))
    confidence= nulls='drop'
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"


Parts: TypeAlias = tuple[str | Argument, ...]
"""A message, or a part of it: text, and the arguments that it names."""


class StreamMetricsError(Exception):
    """Base class of all errors of this library. Long messages are cut, and control characters escaped.

    >>> import streammetrics as sm
    >>> try:
    ...     sm.binary(y_true="y", y_score="p").finalize(confidence=95)
    ... except sm.errors.SpecificationError as error:
    ...     print(error.argument, error, sep="\\n")
    confidence
    confidence= must be between 0 and 1, got 95. For 95%, pass 0.95.
    """

    def __init__(self, *message: str | Argument) -> None:
        super().__init__(*message)

    def __str__(self) -> str:
        return self.message()

    @property
    def argument(self) -> str | None:
        """Name of the argument that the error is about, with which its message begins, or None."""
        subject = self.args[0] if self.args else None
        return subject.name if isinstance(subject, Argument) else None

    def message(self, written: Callable[[Argument], str] = str) -> str:
        """Return the message, in which a function writes the arguments."""
        text = "".join(written(part) if isinstance(part, Argument) else str(part) for part in self.args)
        return "\n".join(cut(escaped(line), LONGEST_SENTENCE) for line in text.split("\n"))


class ColumnError(StreamMetricsError, ValueError):
    """A column is missing, or its type is not supported for its role."""


class DataError(StreamMetricsError, ValueError):
    """A column contains invalid values: nulls, NaN, scores outside [0, 1], or a third label.

    Attributes:
        column: Name of the column, or None if the error does not concern a batch.
        fault: The fault, such as ``"null or NaN"``.
        count: Number of faulty rows.
        height: Number of rows in the batch.
        row: Index of the first faulty row in the batch, from 0.
        value: Value of that row.
        advice: The parts of the fix, without a full stop.

    >>> import streammetrics as sm
    >>> try:
    ...     sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, None, 0.2]})
    ... except sm.errors.DataError as error:
    ...     error.column, error.fault, error.count, error.height, error.row, error.value
    ('p', 'null or NaN', 1, 3, 1, None)
    """

    def __init__(
        self,
        *message: str | Argument,
        column: str | None = None,
        fault: str | None = None,
        count: int | None = None,
        height: int | None = None,
        row: int | None = None,
        value: Any = None,
        advice: Parts = (),
    ) -> None:
        super().__init__(*message)
        self.column: str | None = column
        self.fault: str | None = fault
        self.count: int | None = count
        self.height: int | None = height
        self.row: int | None = row
        self.value: Any = value
        self.advice: Parts = advice
        if row is not None:
            self._say(f"row {row} of the batch")

    def at(self, place: str, among: str | None = None) -> DataError:
        """Return the same error with another location of the first faulty row, for example in a file.

        Args:
            place: Text that replaces ``row 3 of the batch``.
            among: Text that replaces ``9 rows``. Defaults to the number of rows in the batch.

        >>> error = DataError(column="p", fault="nulls", count=2, height=9, row=3, advice=("Drop them",))
        >>> print(error.at("row 1003 of 'day.parquet'"))
        Column 'p' contains nulls in 2 of 9 rows (first: None at row 1003 of 'day.parquet'). Drop them.
        """
        made = copy(self)
        if self.row is not None:
            made._say(place, among)
        return made

    def _say(self, place: str, among: str | None = None) -> None:
        rows = f"{self.count:,} of {among or f'{self.height:,} rows'} (first: {self.value!r} at {place})"
        self.args: tuple[Any, ...] = (f"Column {self.column!r} contains {self.fault} in {rows}. ", *self.advice, ".")


class SpecificationError(StreamMetricsError, ValueError):
    """The arguments of an accumulator, statistic, or metric are invalid or contradict each other."""


class MergeError(StreamMetricsError, ValueError):
    """Accumulators have different specifications and cannot be merged."""


class MetricError(StreamMetricsError, ValueError):
    """A metric is unknown, or not available from the statistics of the accumulator."""


class ReportError(StreamMetricsError, LookupError):
    """The keys select no row of a report, or more than one."""


class SourceError(StreamMetricsError):
    """A source is missing, empty, or unreadable, or a file cannot be written."""


class StateError(StreamMetricsError):
    """A saved state is missing, damaged, inconsistent, of a newer format, or not a state, or cannot be written."""


class StateWarning(UserWarning):
    """A saved state has no checksum, so damage cannot be detected."""
