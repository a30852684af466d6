"""Fixes of columns with text in place of numbers, for messages."""

from __future__ import annotations

import polars as pl

MARKS = {"%": "", " ": "", ",": "."}  # of numbers as text, and what SQL replaces them with
THOUSANDS = r"^-?[1-9]\d{0,2}(,\d{3})+$"  # or decimals: the text does not tell


def to_number(column: pl.Series) -> str:
    """Return the fix of text that should be numbers, without the full stop: few such values can stand for null.

    >>> to_number(pl.Series("p", ["15,9 %", "7 %"]))
    "Pass a numeric column, or convert the text with CAST(REPLACE(REPLACE(REPLACE(p, '%', ''), ' ', ''), ',', '.') \
AS DOUBLE) / 100"
    """
    wrong = column.filter(not_numbers(column))
    if 0 < 2 * len(wrong) < len(column):
        return null_instead_of(wrong[0])
    sql = _in_sql(column.drop_nulls())
    return "Pass a numeric column, or convert the text" + (f" with {sql}" if sql else "")


def _in_sql(texts: pl.Series) -> str | None:
    """An SQL expression of numbers that are written with a percent sign, spaces, or a decimal comma."""
    percent = texts.str.contains("%", literal=True)
    if percent.any() != percent.all() or texts.str.contains(THOUSANDS).all():
        return None
    sql = texts.name if texts.name.isidentifier() else f'"{texts.name}"'
    for mark, instead in MARKS.items():
        if texts.str.contains(mark, literal=True).any():
            sql, texts = f"REPLACE({sql}, '{mark}', '{instead}')", texts.str.replace_all(mark, instead, literal=True)
    if not_numbers(texts).any() or not len(texts):
        return None
    return f"CAST({sql} AS DOUBLE)" + (" / 100" if percent.any() else "")


def null_instead_of(text: str) -> str:
    """Return the fix of text among numbers, without the full stop."""
    return f"Fix the values, or read the CSV files with null_values={text!r} if it stands for null"


def not_numbers(texts: pl.Series) -> pl.Series:
    """Return which texts are not numbers. Nulls are not such texts.

    >>> not_numbers(pl.Series(["1e3", "1,5", None])).to_list()
    [False, True, False]
    """
    return texts.is_not_null() & texts.cast(pl.Float64, strict=False).is_null()
