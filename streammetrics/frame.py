"""The columns of a frame of estimates: keys, then the metric, its value with bounds, its interval, and a note."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

KEPT = ("threshold", "label")  # keys that only some metrics have
METRIC = "metric"  # columns before it are the keys of a row
VALUE = ("value", "lower", "upper")
LIMITS = ("ci_lower", "ci_upper")  # of confidence intervals, if requested
NO_LIMITS = [pl.lit(None, pl.Float64).alias(limit) for limit in LIMITS]
ESTIMATE = (METRIC, *VALUE, *LIMITS, "note")


def hidden(name: str) -> str:
    """Return the name of a column that no group column can have, since theirs have no null character.

    >>> hidden("rows")
    '\\x00rows'
    """
    return f"\0{name}"


RIGHT = hidden("right")  # suffix of columns of the right side of a join
A, B = hidden("a"), hidden("b")  # prefixes of columns of each side of a comparison


def keys_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that identify the rows of a metric.

    >>> keys_of(pl.DataFrame(schema=["country", "threshold", *ESTIMATE]))
    ['country', 'threshold']
    """
    return frame.columns[: frame.columns.index(METRIC)]


def no_limits(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the columns of intervals, with some keys, and no rows.

    >>> no_limits(pl.DataFrame({"metric": ["accuracy"], "value": [0.5]}), ["metric"]).columns
    ['metric', 'ci_lower', 'ci_upper']
    """
    return frame.select(keys).clear().with_columns(NO_LIMITS)


def noted(*notes: str | pl.Expr) -> pl.Expr:
    """Notes one after the other; null if all are.

    >>> pl.DataFrame({"a": ["wide", None], "b": ["exact", None]}).select(noted("a", "b")).to_series().to_list()
    ['wide; exact', None]
    """
    return pl.concat_str(notes, separator="; ", ignore_nulls=True).replace("", None)
