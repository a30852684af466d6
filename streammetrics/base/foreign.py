"""Errors of other libraries on invalid content, raised as errors of this library."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from streammetrics.errors import Argument, StreamMetricsError

FOREIGN = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    EOFError,
    zlib.error,
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
)
STATUS = re.compile(r"non-2xx status code\W+(\d{3} [A-Za-z ]+)(?:.*?<Code>(\w+))?", re.DOTALL)  # of an object store
COLOR = re.compile(r"\x1b\[\d*m")
DETAIL = re.compile(r"^.*Detail: \[errno \d+\] ")  # of pyarrow, before the reason
ADVICE = re.compile(r"[.,]? (?:hint:|consider passing)", re.IGNORECASE)  # of Polars to its callers
NAMES = {"ArrowException", "DeltaError", "PanicException"}  # of libraries imported at first use, and their panics


@contextmanager
def translated(kind: type[StreamMetricsError], *what: str | Argument) -> Iterator[None]:
    """Raise errors of other libraries as ``kind``, with ``what`` before the first line of the reason.

    This includes panics of compiled code, which derive from `BaseException`. Interrupts, exits, and errors of this
    library are not changed.
    """
    try:
        yield
    except BaseException as error:
        foreign = isinstance(error, FOREIGN) or not NAMES.isdisjoint(base.__name__ for base in type(error).__mro__)
        if isinstance(error, StreamMetricsError) or not foreign:
            raise
        raise kind(*what, f": {reason(error)}.") from error


def reason(error: BaseException) -> str:
    """Return the first line of an error message, without a full stop, and its causes as Delta Lake lists them.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'No such file or directory'
    """
    text = (getattr(error, "strerror", None) or str(error)).strip() or type(error).__name__
    plain = COLOR.sub("", str(text))
    if status := STATUS.search(plain):
        answer = " ".join(filter(None, status.groups()))
        return f"the object store answered {answer}: check the bucket, its region, and the credentials"
    first, *others = plain.splitlines()
    first = ADVICE.split(DETAIL.sub("", first))[0]
    causes = [cause.strip() for _, arrow, cause in (line.partition("↳") for line in others) if arrow]
    return ": ".join([first, *causes]).rstrip(".: ")
