"""Fixes of columns with text in place of numbers, for messages."""

from __future__ import annotations

import polars as pl


def to_number(column: pl.Series) -> str:
    """Return the fix of text that should be numbers, without the full stop: few such values can stand for null.

    >>> to_number(pl.Series(["15,9 %", "7 %"]))
    'Pass a numeric column, or convert the text'
    """
    wrong = column.filter(not_numbers(column))
    few = 0 < 2 * len(wrong) < len(column)
    return null_instead_of(wrong[0]) if few else "Pass a numeric column, or convert the text"


def null_instead_of(text: str) -> str:
    """Return the fix of text among numbers, without the full stop."""
    return f"Fix the values, or read the CSV files with null_values={text!r} if it stands for null"


def not_numbers(texts: pl.Series) -> pl.Series:
    """Return which texts are not numbers. Nulls are not such texts.

    >>> not_numbers(pl.Series(["1e3", "1,5", None])).to_list()
    [False, True, False]
    """
    return texts.is_not_null() & texts.cast(pl.Float64, strict=False).is_null()
