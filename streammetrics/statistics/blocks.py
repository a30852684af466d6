"""Blocks of rows, reduced to small tables that are collected and merged periodically."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

import polars as pl

from streammetrics.core import Codes, Floats
from streammetrics.data import Rows
from streammetrics.statistics.counter import GROUP, Counter

LOOSE = 131_072  # minimum number of unmerged table rows that triggers a merge
FACTOR = 2  # minimum ratio of unmerged to merged table rows that triggers a merge
Block = TypeVar("Block", pl.DataFrame, Floats)


@dataclass
class Blocks(Counter, Generic[Block]):
    """The reduced blocks since the last merge, with the numbers of their groups, and the merged tables before.

    ``reduce`` returns a table of a block with the group numbers of the block, or an array with a row per group.
    ``tabulate`` returns the table of several blocks. Arrays are much faster to collect if there are many columns.
    """

    reduce: Callable[[Rows], Block]
    tabulate: Callable[[Sequence[Codes], Sequence[Block]], pl.DataFrame]
    merge: Callable[[pl.DataFrame], pl.DataFrame]
    merged: list[pl.DataFrame] = field(default_factory=list)
    numbers: list[Codes] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    loose: int = 0

    def add(self, rows: Rows, groups: int) -> None:
        """Append the table of more rows."""
        self._put(rows.numbers, self.reduce(rows))

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Append the tables of another counter."""
        self.merged = [*self.merged, *(renumbered(table, numbers) for table in other.merged)]
        for of_block, block in zip(other.numbers, other.blocks, strict=True):
            self._put(numbers[of_block], block)

    def table(self) -> pl.DataFrame:
        """Return all tables, concatenated."""
        tables = [*self.merged]
        if self.blocks:
            tables.append(self.tabulate(self.numbers, self.blocks))
        return pl.concat(tables, how="vertical_relaxed")

    def _put(self, numbers: Codes, block: Block) -> None:
        self.numbers.append(numbers)
        self.blocks.append(block)
        self.loose += len(block)
        if self.loose >= max(FACTOR * sum(table.height for table in self.merged), LOOSE):
            self.merged, self.numbers, self.blocks, self.loose = [self.merge(self.table())], [], [], 0


def concatenated(numbers: Sequence[Codes], blocks: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables of several blocks, with the numbers of their groups."""
    return pl.concat(map(renumbered, blocks, numbers), how="vertical_relaxed")


def renumbered(table: pl.DataFrame, numbers: Codes) -> pl.DataFrame:
    """The table with other numbers of its groups."""
    return table.with_columns(pl.Series(GROUP, numbers, pl.UInt32).gather(table[GROUP]))
