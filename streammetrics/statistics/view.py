"""Views of the table of a statistic, from which metrics are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from streammetrics.metrics import Influence

GROUP = "group"
PAIR = "pair"  # number of a pair of models


def nothing_wide(table: pl.DataFrame) -> pl.DataFrame:
    """Columns group and wide of a table without coarse bins."""
    return pl.DataFrame(schema={GROUP: pl.UInt32, "wide": pl.String})


def exact(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The only case of an exact table."""
    return {"exact": table}


def with_weighted(table: pl.DataFrame, count: str) -> pl.DataFrame:
    """Return the table with ``weighted``: whether a count is a sum of weights rather than a number of rows.

    This follows from the type of the column, not from its numbers, since fractional weights can sum to integers.

    >>> with_weighted(pl.DataFrame({"count": [2.0]}), "count").row(0)
    (2.0, True)
    """
    return table.with_columns(weighted=pl.lit(table.schema[count].is_float()))


@dataclass(frozen=True)
class View:
    """A table that metrics are computed from, derived from the table of a statistic.

    - ``columns``: the columns for formulas;
    - ``kept``: the keys that reports show;
    - ``folds``: whether formulas aggregate the rows of a group and its kept keys, or are computed in every row;
    - ``cases``: returns the tables that bracket the exact metric; the first one gives the value;
    - ``support``: the number of rows with a label, the weight of the label in averages;
    - ``wide``: returns columns group and wide, a note for each group whose coarse bins make its bounds wide;
    - ``influences``: the influences of a row on metrics that name no method for their interval.
    """

    columns: frozenset[str]
    kept: tuple[str, ...]
    folds: bool
    cases: Callable[[pl.DataFrame], dict[str, pl.DataFrame]]
    support: pl.Expr | None = None
    wide: Callable[[pl.DataFrame], pl.DataFrame] = nothing_wide
    influences: tuple[Influence, ...] = ()


def first_case(view: View, table: pl.DataFrame) -> pl.DataFrame:
    """The table that gives the values of metrics."""
    return next(iter(view.cases(table).values()))
