"""Errors of other libraries on invalid content, raised as errors of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from streammetrics.errors import Part, StreamMetricsError

FOREIGN = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
)
NAMES = {"ArrowException", "DeltaError", "PanicException"}  # of libraries imported at first use, and their panics


@contextmanager
def translated(kind: type[StreamMetricsError], *what: Part) -> Iterator[None]:
    """Raise errors of other libraries as ``kind``, with ``what`` before the first line of the reason.

    This includes panics of compiled code, which derive from `BaseException`. Interrupts, exits, and errors of this
    library are not changed.

    >>> from streammetrics.errors import StateError
    >>> with translated(StateError, "Cannot read 'a.state'"):
    ...     int("a")
    Traceback (most recent call last):
    streammetrics.errors.StateError: Cannot read 'a.state': invalid literal for int() with base 10: 'a'.
    """
    try:
        yield
    except BaseException as error:
        if not is_foreign(error):
            raise
        raise kind(*what, f": {reason(error)}.") from error


def is_foreign(error: BaseException) -> bool:
    """Return whether the error comes from another library, because of invalid content.

    >>> is_foreign(OSError()), is_foreign(KeyboardInterrupt())
    (True, False)
    """
    if isinstance(error, StreamMetricsError):
        return False
    return isinstance(error, FOREIGN) or not NAMES.isdisjoint(base.__name__ for base in type(error).__mro__)


def reason(error: BaseException) -> str:
    """Return the first line of an error message, without a full stop.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'No such file or directory'
    """
    said = (getattr(error, "strerror", None) or str(error)).strip() or type(error).__name__
    return str(said).splitlines()[0].rstrip(".: ")
