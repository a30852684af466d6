"""Small tables of blocks of rows, collected and merged periodically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import polars as pl

from streammetrics.core import Codes
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.counter import Counter

LOOSE = 131_072  # minimum number of unmerged table rows that triggers a merge
FACTOR = 2  # minimum ratio of unmerged to merged table rows that triggers a merge


@dataclass
class Tables(Counter):
    """The tables since the last merge, and the merged table."""

    observe: Callable[[Rows], pl.DataFrame]  # returns the table of a block, with the group numbers of the block
    merge: Callable[[pl.DataFrame], pl.DataFrame]
    merged: pl.DataFrame | None = None
    loose: list[pl.DataFrame] = field(default_factory=list)

    def add(self, rows: Rows, groups: int) -> None:
        """Append the table of more rows."""
        self._put(self.observe(rows), rows.numbers)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Append the table of another counter."""
        self._put(other.table(), numbers)

    def table(self) -> pl.DataFrame:
        """Return all tables, concatenated."""
        tables = [*([] if self.merged is None else [self.merged]), *self.loose]
        return pl.concat(tables, how="vertical_relaxed")

    def _put(self, table: pl.DataFrame, numbers: Codes) -> None:
        renumbered = table.with_columns(pl.Series("group", numbers, pl.UInt32).gather(table["group"]))
        self.loose = [*self.loose, renumbered]
        merged = 0 if self.merged is None else self.merged.height
        if sum(t.height for t in self.loose) >= max(FACTOR * merged, LOOSE):
            self.merged, self.loose = self.merge(self.table()), []
