"""Small tables of blocks of rows, collected and merged periodically."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import polars as pl

from streammetrics.counting.counter import Counter
from streammetrics.kernels import Codes
from streammetrics.rows.arrays import Rows

LOOSE = 131_072  # rows of tables that wait to be merged, even after few merged rows,
FACTOR = 2  # or this multiple of the merged rows


class Observing(Protocol):
    """A statistic that makes a small table of a block of rows."""

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The table of the rows, with the numbers that groups have in the block."""
        ...

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """The merged table."""
        ...


@dataclass
class Tables(Counter):
    """The tables since the last merge, and the merged table."""

    statistic: Observing
    merged: pl.DataFrame | None = None
    loose: list[pl.DataFrame] = field(default_factory=list)

    def add(self, rows: Rows, groups: int) -> None:
        """Append the table of more rows."""
        self._put(self.statistic.observe(rows), rows.numbers)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Append the table of another counter."""
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
