"""Fixes of columns with text in place of numbers or dates, for messages."""

from __future__ import annotations

import re

import polars as pl

from streammetrics.errors import Argument, Part
from streammetrics.system.foreign import reason

DATES = {  # by a pattern in the message of Polars, which lacks the fix; {0} is the column, {1} the message
    "define a format": "the format of the dates is unknown. Pass it, such as DATE({0}, '%Y-%m') in SQL or "
    "str.to_date('%Y-%m') in Polars. For text with a time, write DATE(LEFT({0}, 10)).",
    "from `str` to `date`": "{1}. Dates such as 04/03/2026 are read day first. For other formats, pass the format: "
    "DATE({0}, '%m/%d/%Y') in SQL or str.to_date('%m/%d/%Y') in Polars.",
    "expected `String`, got `date": "{0} is not text. Write CAST({0} AS DATE) in SQL or dt.date() in Polars.",
    "from string to date": "{0} is text. Write DATE({0}) in SQL, or DATE(LEFT({0}, 10)) for text with a time.",
}
TEXT = re.compile(r"'String' datatypes|arithmetic on dtypes .*\bstr\b|from `str` to `f64`")
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*%?\s*$"


def quoted(name: str) -> str:
    """Return a column name as SQL."""
    return name if name.isidentifier() else '"{}"'.format(name.replace('"', '""'))


def to_fix(error: BaseException, used: pl.DataFrame) -> tuple[Part, ...]:
    """Return the reason and the fix of an expression that fails on the columns that it uses, without the full stop."""
    text = [column for column in used if column.dtype == pl.String and column.null_count() < len(column)]
    if TEXT.search(str(error)) and len(text) == 1:
        return (f"{text[0].name!r} is text (first: {text[0].drop_nulls()[0]!r}). ", *to_number(text[0]))
    advice = next((advice for part, advice in DATES.items() if re.search(part, str(error))), "{1}.")
    column = quoted(used.columns[0]) if used.width == 1 else "column"
    return (advice.format(column, reason(error)).removesuffix("."),)


def to_number(column: pl.Series) -> tuple[Part, ...]:
    """Return the fix of text that should be numbers, without the full stop.

    >>> "".join(map(str, to_number(pl.Series("p", ["15,9 %", "7 %"]))))
    "Convert the text: CAST(TRIM(REPLACE(REPLACE(p, '%', ''), ',', '.')) AS DOUBLE) / 100 in SQL"
    """
    wrong = column.filter(not_numbers(column))
    has_digits = wrong.str.contains(r"\d")
    numbers, others = wrong.filter(has_digits), wrong.filter(~has_digits)
    sql = _conversion(quoted(column.name), numbers) if len(others) <= len(numbers) else None
    if sql is None:
        return null_instead_of(wrong[0]) if 2 * len(wrong) < len(column) else ("Pass a numeric column",)
    polars = ", or polars.scan_csv(decimal_comma=True)" if sql.startswith("CAST(REPLACE") and "'.'" in sql else ""
    nulls = (". ", *null_instead_of(others[0])) if len(others) else ()
    return (f"Convert the text: {sql} in SQL{polars}", *nulls)


def _conversion(sql: str, texts: pl.Series) -> str | None:
    """The SQL that converts these texts to numbers, if all have the same of the usual formats."""
    percent = len(texts) > 0 and bool(texts.str.contains("%").all())
    thousands = len(texts) > 0 and bool(texts.str.contains(THOUSANDS).all())
    for needed, old, new in (
        (percent, "%", ""),
        (thousands, ",", ""),
        (not thousands and texts.str.contains(",").any(), ",", "."),
    ):
        if needed:
            sql, texts = f"REPLACE({sql}, '{old}', '{new}')", texts.str.replace_all(old, new, literal=True)
    if (texts != texts.str.strip_chars()).any():
        sql, texts = f"TRIM({sql})", texts.str.strip_chars()
    return None if not_numbers(texts).any() else f"CAST({sql} AS DOUBLE){' / 100' if percent else ''}"


def null_instead_of(text: str) -> tuple[Part, ...]:
    """Return the fix of text among numbers, without the full stop."""
    option = Argument("null_values", text, python=f"polars.scan_csv(null_values={text!r})")
    return ("Fix the values, or read the CSV files with ", option, " if it stands for null")


def not_numbers(texts: pl.Series) -> pl.Series:
    """Return which texts are not numbers. Nulls are not such texts.

    >>> not_numbers(pl.Series(["1e3", "1,5", None])).to_list()
    [False, True, False]
    """
    return texts.is_not_null() & texts.cast(pl.Float64, strict=False).is_null()
