"""The columns of a frame of estimates: keys, then the metric, its value with bounds, its interval, and a note."""

from __future__ import annotations

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


def keys_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that identify the rows of a metric.

    >>> keys_of(pl.DataFrame(schema=["country", "threshold", *ESTIMATE]))
    ['country', 'threshold']
    """
    return frame.columns[: frame.columns.index(METRIC)]


def noted(*notes: str | pl.Expr) -> pl.Expr:
    """Notes one after the other; null if all are.

    >>> pl.DataFrame({"a": ["wide", None], "b": ["exact", None]}).select(noted("a", "b")).to_series().to_list()
    ['wide; exact', None]
    """
    return pl.concat_str(notes, separator="; ", ignore_nulls=True).replace("", None)
