"""Arguments that must be integers or levels."""

from __future__ import annotations

import re
from math import nan
from operator import index
from typing import Any

import numpy as np

from streammetrics.errors import Argument, SpecificationError

SHOWN = 40  # characters of a value in a message
_FDR = re.compile(r"fdr (\d{1,9}(?:\.\d{1,9})?) ?%")


def whole(subject: str | Argument, value: Any, least: int | None = None, most: int = (1 << 63) - 1) -> int:
    """Return an argument that must be an integer, also of a numpy type, as an int.

    >>> import numpy as np
    >>> whole(Argument("capacity"), np.int32(64))
    64
    >>> whole(Argument("capacity"), 0, least=1)
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: capacity= must be an integer of at least 1, got 0.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        range = "" if least is None else f" of at least {least}"
        raise SpecificationError(subject, f" must be an integer{range}, got {shown(value)}.")
    if number > most:
        raise SpecificationError(subject, f" must be at most {most:,}, got {shown(number)}.")
    return number


def as_float(value: Any) -> float:
    """Return a number as a float, or NaN for anything else, such as text or an integer that is too large for a float.

    >>> as_float(2), as_float("2"), as_float(10**400)
    (2.0, nan, nan)
    """
    if isinstance(value, str | bytes | bool | np.bool_):
        return nan
    try:
        return float(value)
    except (TypeError, ValueError, ArithmeticError):
        return nan


def shown(value: Any) -> str:
    """Return the beginning of a value in Python, as messages show it.

    >>> shown("a" * 100), shown(10**5000)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 'an integer of more than 4,300 digits')
    """
    try:
        return f"{value!r:.{SHOWN}}"
    except ValueError:  # the limit of Python for texts of integers
        return "an integer of more than 4,300 digits"


def require_level(subject: str | Argument, value: Any, above: float = 0) -> None:
    """Reject a confidence level, or another share, out of its range.

    >>> require_level(Argument("confidence"), 95)
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: confidence= must be between 0 and 1, got 95. For 95%, pass 0.95.
    """
    number = as_float(value) if isinstance(value, float | np.floating) else nan
    if not above < number < 1 or 0.5 + number / 2 == 0.5:  # so small that an interval would be empty
        raise SpecificationError(subject, f" must be between {above:g} and 1, got {shown(value)}.{of_percent(value)}")


def false_discovery_rate(subject: str | Argument, value: Any) -> float:
    """Return a false discovery rate, given as a share or as ``"fdr 5 %"``.

    >>> segments = Argument("segments")
    >>> false_discovery_rate(segments, "fdr 5 %"), false_discovery_rate(segments, 0.1)
    (0.05, 0.1)
    >>> false_discovery_rate(segments, "5%")
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: segments= must be 'fdr 5 %' or a share, got '5%'.
    """
    match = _FDR.fullmatch(value) if isinstance(value, str) else None
    rate = float(match[1]) / 100 if match else as_float(value)
    if not 0 < rate < 1:
        raise SpecificationError(subject, f" must be 'fdr 5 %' or a share, got {shown(value)}.")
    return rate


def of_percent(value: Any) -> str:
    """Return the fix of a percentage that should be a share, after a space, or nothing.

    >>> of_percent(95), of_percent("50%"), of_percent(-1)
    (' For 95%, pass 0.95.', ' For 50%, pass 0.5.', '')
    """
    try:
        percent = float(value.strip().removesuffix("%") if isinstance(value, str) else value)
    except (TypeError, ValueError, ArithmeticError):
        return ""
    marked = isinstance(value, str) and 0 <= percent <= 1
    return f" For {percent:g}%, pass {percent / 100:.10g}." if marked or 1 < percent <= 100 else ""
