"""Declared labels in a column: which values equal one, and the fix of any other."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from streammetrics.data.rows.roles import Roles
from streammetrics.errors import Argument, ColumnError, Parts

BOOLEANS = {"true": True, "false": False}
SOME_LABELS = 5  # that are remembered, for an error
SMALLEST, LARGEST = -(2**63), 2**64 - 1  # integers of 64 bits
WRITTEN_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)? ?%?")
MISSING = {"", "-", "--", ".", "?", "missing", "n/a", "na", "nan", "nil", "none", "null", "unknown"}


def instead_of_third(label: Any, roles: Roles) -> Parts:
    """Return the parts of the fix of a label that is neither positive nor negative, without the full stop.

    >>> roles = Roles("binary", positive="yes", negative="no")
    >>> for label in (" Yes", "maybe"):
    ...     print(*instead_of_third(label, roles), sep="")
    Write the labels with the same spaces and capital letters
    Drop these rows with a filter, or pass only positive= to count them as negative
    """
    if isinstance(label, str) and _bare(label) in map(_bare, (roles.positive, roles.negative)):
        return ("Write the labels with the same spaces and capital letters",)
    if is_missing(label):
        dropped: Parts = (", and pass ", Argument("nulls", "drop")) if roles.nulls == "raise" else ()
        return (*null_instead_of(label), *dropped)
    return ("Drop these rows with a filter, or pass only ", Argument("positive"), " to count them as negative")


def null_instead_of(text: str) -> Parts:
    """Return the parts of the fix of text among numbers or labels, without the full stop."""
    return ("Fix the values, or read the CSV files with ", Argument("null_values", text), " if it stands for null")


def number_instead_of(text: str, column: str) -> Parts:
    """Return the parts of the fix of numbers as text: their conversion from decimal commas and percentages.

    Before three digits, a comma can be a thousands separator.

    >>> print(*number_instead_of("15,9 %", "p"))
    Convert the column in SQL: CAST(TRIM(REPLACE(REPLACE(p, '%', ''), ',', '.')) AS DOUBLE) / 100
    >>> number_instead_of("1,500", "p")
    ('Pass a numeric column',)
    """
    if not WRITTEN_NUMBER.fullmatch(text) or re.search(r",\d{3}\b", text) or not column.isidentifier():
        return ("Pass a numeric column",)
    number, percent = f"REPLACE({column}, ',', '.')", ""
    if "%" in text:
        number, percent = f"TRIM(REPLACE(REPLACE({column}, '%', ''), ',', '.'))", " / 100"
    return (f"Convert the column in SQL: CAST({number} AS DOUBLE){percent}",)


def resembles(labels: pl.Series, positive: Any) -> pl.Series:
    """Return which labels are the positive one but for spaces and capital letters.

    >>> resembles(pl.Series([" Yes", "yes", "no"]), "yes").to_list()
    [True, False, False]
    """
    similar: pl.Series = (labels.str.strip_chars().str.to_lowercase() == _bare(positive)) & (labels != positive)
    return similar


def joint(some: frozenset[Any] | None, more: frozenset[Any] | None) -> frozenset[Any] | None:
    """Return the labels of both, or the first few of them; None if either has the positive label.

    >>> joint(frozenset(["no"]), frozenset(["maybe"])) == {"no", "maybe"}
    True
    """
    return None if some is None or more is None else frozenset(sorted(some | more, key=str)[:SOME_LABELS])


def is_missing(label: Any) -> bool:
    """Return whether a label is text that stands for a missing value.

    >>> is_missing("N/A"), is_missing("no")
    (True, False)
    """
    return isinstance(label, str) and _bare(label) in MISSING


def _bare(label: Any) -> Any:
    return label.strip().lower() if isinstance(label, str) else label


def equals(column: pl.Series, label: Any) -> pl.Series:
    """Return which values of a column equal a label. Text of a number or Boolean equals that value too.

    >>> equals(pl.Series([1, 0, None]), "1").to_list()
    [True, False, None]
    """
    try:
        equal: pl.Series | None = _equal(column, label)
    except (pl.exceptions.PolarsError, TypeError, ValueError, ArithmeticError, NotImplementedError):
        equal = None
    if equal is None:
        scores: Parts = (", or a column of scores as ", Argument("y_score")) if column.dtype.is_float() else ()
        fault = f"Column {column.name!r} cannot contain the label {label!r}, because it is {column.dtype}."
        raise ColumnError(f"{fault} Pass a label of that type", *scores, ".")
    return equal


def _equal(column: pl.Series, label: Any) -> pl.Series | None:
    dtype = column.dtype
    if dtype == pl.String:
        return column == label if isinstance(label, str) else None
    if dtype == pl.Boolean:
        label = BOOLEANS.get(label.lower()) if isinstance(label, str) else label
        return column == label if isinstance(label, bool) else None
    if not dtype.is_numeric():
        return column == label if isinstance(label, (date, time, timedelta)) else None
    number = _number(label)
    if dtype.is_decimal():
        return column == Decimal(str(number))
    if dtype.is_float():
        return column == float(number) if float(number) == number else None
    if number != int(number) or not SMALLEST <= number <= LARGEST:
        return None
    low, high = pl.select(low=pl.lit(0).cast(dtype).lower_bound(), high=pl.lit(0).cast(dtype).upper_bound()).row(0)
    return column == int(number) if low <= number <= high else column != column  # other batches can have wider types


def _number(label: Any) -> int | float:
    if isinstance(label, int | float):
        return label
    if not isinstance(label, str):
        raise ValueError(label)
    return int(label) if label.strip("+-").isdecimal() else float(label)
