"""The library's exceptions: every error a user can cause is one of these, with one sentence that says what to do.

Its one warning stands here too.
"""

from __future__ import annotations


class StreamMetricsError(Exception):
    """Base of every error that this library raises on purpose."""


class ColumnError(StreamMetricsError):
    """A batch lacks a column, or a column has a type that its role cannot use."""


class DataError(StreamMetricsError):
    """A column holds values that its role cannot use: nulls, NaN, scores outside [0, 1], a third label."""


class SpecificationError(StreamMetricsError):
    """An accumulator, statistic or metric is declared in a way that cannot work."""


class MergeError(StreamMetricsError):
    """Accumulators of different specifications cannot be added up."""


class MetricError(StreamMetricsError):
    """A metric is unknown, or the accumulator keeps nothing that it could be read from."""


class ReportError(StreamMetricsError):
    """A report holds no row, or several rows, where one was asked for."""


class SourceError(StreamMetricsError):
    """A source of batches is missing, empty or unreadable, or a file cannot be written."""


class StateError(StreamMetricsError):
    """A saved state is missing, damaged, foreign, newer than this library, or inconsistent, or cannot be written."""


class StateWarning(UserWarning):
    """A saved state has no checksum, so damage to it may go unnoticed."""
