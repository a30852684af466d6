"""How metrics see the table of a statistic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

GROUP = "group"


def nothing_wide(table: pl.DataFrame) -> pl.DataFrame:
    """Columns group and wide, of a table that hides nothing."""
    return pl.DataFrame(schema={GROUP: pl.UInt32, "wide": pl.String})


def exact(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The one case of a table that hides nothing."""
    return {"exact": table}


def with_weighted(table: pl.DataFrame, count: str) -> pl.DataFrame:
    """The table with ``weighted``: whether a count is a sum of weights, and not a number of rows.

    The type of the column says so, since it follows from the specification. Its numbers cannot: fractional weights may
    add up to whole numbers.

    >>> with_weighted(pl.DataFrame({"count": [2.0]}), "count").row(0)
    (2.0, True)
    """
    return table.with_columns(weighted=pl.lit(table.schema[count].is_float()))


@dataclass(frozen=True)
class View:
    """A table that metrics are computed from, made from that of a statistic.

    - ``columns``: what formulas can read;
    - ``kept``: the keys that reports show;
    - ``folds``: whether formulas fold the rows of a group and of kept keys, or are read in every row;
    - ``cases``: makes the tables between which the truth lies; the first holds the value;
    - ``support``: over the rows of a label, the number of rows that have it, by which averages are weighted;
    - ``wide``: makes columns group and wide, a word on each group whose table hides so much that bounds are wide.
    """

    columns: frozenset[str]
    kept: tuple[str, ...]
    folds: bool
    cases: Callable[[pl.DataFrame], dict[str, pl.DataFrame]]
    support: pl.Expr | None = None
    wide: Callable[[pl.DataFrame], pl.DataFrame] = nothing_wide
