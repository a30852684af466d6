"""What tables that are read from a file, which is not trusted, are checked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from streammetrics.base import SUM_ROUNDING
from streammetrics.data import LABEL, ascending
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.merging import summed


@dataclass(frozen=True)
class Checks:
    """What the cells of a statistic satisfy, besides their types and keys.

    - ``rows``: the counts whose sum over all cells of a group is its number of rows, or their weight;
    - ``per``: the keys, such as the threshold, besides ``label``, for each value of which all rows are counted again;
    - ``some``: whether only some rows of a group are counted, as for pairs of models;
    - ``most``: the largest value that a row of weight 1 adds to a count or a nonnegative sum;
    - ``signed``: the columns that can be negative;
    - ``unbounded``: the columns to which a row adds any number. Their sum can exceed the largest float, so that metrics
      of the group are undefined.
    """

    rows: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    some: bool = False
    most: Mapping[str, float] = field(default_factory=dict)
    signed: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()

    def valid(self, counts: Sequence[str], sums: Sequence[str]) -> pl.Expr:
        """Whether the values of a cell are possible."""
        rows = pl.sum_horizontal(pl.col(self.rows).cast(pl.Float64))
        return pl.all_horizontal(
            pl.lit(True),
            *(pl.col(c) >= 0 for c in counts),
            *(pl.col(c).is_finite() for c in (*counts, *sums) if c not in self.unbounded),
            *((pl.col(c) >= 0) & up_to(c, rows * most) for c, most in self.most.items()),
        )

    def rows_of_groups(self, table: pl.DataFrame, parts: int) -> pl.DataFrame:
        """Columns group, fewest, and most: the range of the number of rows of a group over so many parts.

        The parts are the labels and the values of ``per``. A part without cells has no rows. Numbers are floats, since
        the sum of integers of a file could overflow.
        """
        if table.is_empty():
            return table.select(GROUP, fewest=pl.lit(0.0), most=pl.lit(0.0))
        per = [GROUP, *({LABEL} & {*table.columns}), *self.per]
        rows = table.select(*per, rows=pl.sum_horizontal(pl.col(self.rows).cast(pl.Float64)))
        sums = summed(rows, per)
        if parts == 1 and ascending(sums.select(GROUP)):
            return sums.select(GROUP, fewest="rows", most="rows")
        fewest = pl.when(pl.len() >= parts).then(pl.min("rows")).otherwise(0.0)
        return sums.group_by(GROUP).agg(fewest=fewest, most=pl.max("rows"))


def up_to(value: str, limit: pl.Expr) -> pl.Expr:
    """Whether a sum is at most a limit, up to rounding. True for NaN."""
    return (pl.col(value) <= limit + SUM_ROUNDING * limit.abs()) | pl.col(value).cast(pl.Float64).is_nan()
