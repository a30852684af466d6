"""Small tables of blocks of rows, put together and merged now and then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import polars as pl

from streammetrics.counting.counter import Counter
from streammetrics.kernels import Codes
from streammetrics.rows.arrays import Rows

LOOSE = 131_072  # rows of tables that wait to be merged, even if few have been before,
FACTOR = 2  # or so many times as have been


class Observing(Protocol):
    """What makes a small table of a block of rows."""

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The table of the rows, with the numbers that groups have in the block."""
        ...

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with every cell once."""
        ...


@dataclass
class Tables(Counter):
    """Tables: those that came since the last merge, and the one that it left."""

    statistic: Observing
    merged: pl.DataFrame | None = None
    loose: list[pl.DataFrame] = field(default_factory=list)

    def add(self, rows: Rows, groups: int) -> None:
        """Put the table of more rows beside the others."""
        self._put(self.statistic.observe(rows), rows.numbers)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Put the table of another beside those of this one."""
        self._put(other.table(), numbers)

    def table(self) -> pl.DataFrame:
        """All the tables as one."""
        tables = [*([] if self.merged is None else [self.merged]), *self.loose]
        return pl.concat(tables, how="vertical_relaxed")

    def _put(self, table: pl.DataFrame, numbers: Codes) -> None:
        renumbered = table.with_columns(pl.Series("group", numbers, pl.UInt32).gather(table["group"]))
        self.loose = [*self.loose, renumbered]
        merged = 0 if self.merged is None else self.merged.height
        if sum(t.height for t in self.loose) >= max(FACTOR * merged, LOOSE):
            self.merged, self.loose = self.statistic.merge(self.table()), []
