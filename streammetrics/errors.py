"""The library's exceptions: every error a user can cause is one of these, with one sentence that says what to do.

Errors of arguments and data are also `ValueError`, those of what a report does not hold also `LookupError`.
Its one warning stands here too.
"""

from __future__ import annotations

from copy import copy

from streammetrics.text import escaped


class StreamMetricsError(Exception):
    """Base of every error that this library raises on purpose; control characters of names in it are escaped."""

    def __str__(self) -> str:
        return "\n".join(map(escaped, super().__str__().split("\n")))


class ColumnError(StreamMetricsError, ValueError):
    """A batch lacks a column, or a column has a type that its role cannot use."""


class DataError(StreamMetricsError, ValueError):
    """A column contains values that its role cannot use: nulls, NaN, scores outside [0, 1], a third label.

    Attributes:
        column: Name of the column, or None if the error is not about a batch.
        fault: The fault, such as ``"null or NaN"``.
        count: Number of faulty rows.
        height: Number of rows in the batch.
        row: Index of the first faulty row in the batch, from 0.

    >>> import streammetrics as sm
    >>> try:
    ...     sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, None, 0.2]})
    ... except sm.DataError as error:
    ...     error.column, error.fault, error.count, error.height, error.row
    ('p', 'null or NaN', 1, 3, 1)
    """

    def __init__(
        self,
        message: str,
        *,
        column: str | None = None,
        fault: str | None = None,
        count: int | None = None,
        height: int | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(message)
        self.column, self.fault, self.count, self.height, self.row = column, fault, count, height, row

    def at(self, place: str) -> DataError:
        """Return the same error with another place of the first faulty row, for example of a file.

        Args:
            place: Replaces the words ``row 3 of the batch`` in the message.

        >>> error = DataError("column 'p' has nulls (the first in row 3 of the batch).", column="p", row=3)
        >>> print(error.at("row 1003 of 'day.parquet'"))
        column 'p' has nulls (the first in row 1003 of 'day.parquet').
        """
        message, made = str(self), copy(self)
        before, found, after = message.rpartition(f"row {self.row} of the batch")  # a value may say the same, before
        made.args = (f"{before}{place}{after}" if found else message,)
        return made


class SpecificationError(StreamMetricsError, ValueError):
    """An accumulator, statistic or metric is declared in a way that cannot work."""


class MergeError(StreamMetricsError, ValueError):
    """Accumulators of different specifications cannot be added up."""


class MetricError(StreamMetricsError, ValueError):
    """A metric is unknown, or the accumulator keeps nothing that it could be read from."""


class ReportError(StreamMetricsError, LookupError):
    """A report holds no row, or several rows, where one was asked for."""


class SourceError(StreamMetricsError):
    """A source of batches is missing, empty or unreadable, or a file cannot be written."""


class StateError(StreamMetricsError):
    """A saved state is missing, damaged, foreign, newer than this library, or inconsistent, or cannot be written."""


class StateWarning(UserWarning):
    """A saved state has no checksum, so damage to it may go unnoticed."""
