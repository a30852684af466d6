"""Counters: rows of some groups, counted in arrays that more rows can be added to, and read as a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.kernels import Codes
from streammetrics.rows import Rows


class Counter(ABC):
    """Rows counted so far. Counters are values: adding rows makes a new one."""

    @abstractmethod
    def add(self, rows: Rows, numbers: Codes, groups: int) -> Counter:
        """The counter of these rows too. ``numbers`` gives for each of their groups its number, below ``groups``."""

    @abstractmethod
    def absorb(self, other: Self, numbers: Codes, groups: int) -> Counter:
        """The counter of the rows of another too, whose groups have these numbers here."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """What was counted, as a table; a cell may come twice."""

    @property
    def loose(self) -> int:
        """Rows of tables that came since the last compaction, and could be added up."""
        return 0

    @property
    def fitted(self) -> int:
        """Rows of the table that the last compaction left."""
        return 0

    @property
    def settled(self) -> bool:
        """Whether rows of the groups so far are counted in arrays."""
        return True

    def compact(self) -> Counter:
        """The counter with equal cells added up."""
        return self


class Sparse(Protocol):
    """What makes a small table of each chunk."""

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The table of a chunk, with the numbers that its groups have there."""
        ...

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with every cell once."""
        ...


@dataclass(frozen=True, kw_only=True)
class Piled(Counter):
    """A counter that keeps tables: those that came since the last compaction, and the one that it left."""

    loose_tables: tuple[pl.DataFrame, ...] = ()
    fitted_tables: tuple[pl.DataFrame, ...] = ()

    def with_table(self, table: pl.DataFrame) -> Self:
        """The counter with one table more."""
        return replace(self, loose_tables=(*self.loose_tables, table))

    @property
    def loose(self) -> int:
        """Rows of the tables that came since the last compaction."""
        return sum(table.height for table in self.loose_tables)

    @property
    def fitted(self) -> int:
        """Rows of the table that the last compaction left."""
        return sum(table.height for table in self.fitted_tables)

    def tables(self) -> tuple[pl.DataFrame, ...]:
        """All the tables."""
        return (*self.fitted_tables, *self.loose_tables)

    def table(self) -> pl.DataFrame:
        """All the tables as one."""
        return pl.concat(self.tables(), how="vertical_relaxed")

    def absorb(self, other: Self, numbers: Codes, groups: int) -> Self:
        """The tables of another beside those of this one."""
        return replace(self, loose_tables=(*self.loose_tables, *(_renumbered(t, numbers) for t in other.tables())))


@dataclass(frozen=True)
class Tables(Piled):
    """A table for each chunk, added up now and then."""

    statistic: Sparse

    def add(self, rows: Rows, numbers: Codes, groups: int) -> Tables:
        """The table of more rows beside those of others."""
        return self.with_table(_renumbered(self.statistic.observe(rows), numbers))

    def compact(self) -> Tables:
        """Every cell once, as in a single chunk's table."""
        if self.loose_tables and len(self.tables()) == 1:
            return Tables(self.statistic, fitted_tables=self.loose_tables)
        return Tables(self.statistic, fitted_tables=(self.statistic.merge(self.table()),))


def _renumbered(table: pl.DataFrame, numbers: Codes) -> pl.DataFrame:
    return table.with_columns(pl.Series("group", numbers, pl.UInt32).gather(table["group"]))


class Dense(Protocol):
    """What keeps the same cells for every group."""

    def count(self, rows: Rows) -> NDArray[Any]:
        """The values of the cells: shape (groups, ...)."""
        ...

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of such values."""
        ...


@dataclass(frozen=True)
class Sums(Counter):
    """The values of cells that are the same for every group, added up.

    Values of more rows wait in parts, with the numbers of their groups, until they are as many as those known: so a
    chunk that has few of the groups costs little.
    """

    statistic: Dense
    weighted: bool
    values: NDArray[Any] | None = None
    parts: tuple[tuple[Codes, NDArray[Any]], ...] = ()
    groups: int = 0

    def add(self, rows: Rows, numbers: Codes, groups: int) -> Sums:
        """The values of more rows added to their groups'."""
        return self._with(numbers, self.statistic.count(rows), groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> Sums:
        """The values of another added to those of this one."""
        return self._with(numbers, other.total(), groups)

    def _with(self, numbers: Codes, values: NDArray[Any], groups: int) -> Sums:
        counter = replace(self, parts=(*self.parts, (numbers, values)), groups=groups)
        waiting, known = sum(len(n) for n, _ in counter.parts), 0 if self.values is None else len(self.values)
        return replace(counter, values=counter.total(), parts=()) if waiting > known else counter

    def total(self) -> NDArray[Any]:
        """The values of all groups: shape (groups, ...)."""
        arrays = [*([] if self.values is None else [self.values]), *(values for _, values in self.parts)]
        total = np.zeros((self.groups, *arrays[0].shape[1:]), np.result_type(*arrays))
        if self.values is not None:
            total[: len(self.values)] = self.values
        for numbers, values in self.parts:
            own = np.take(total, numbers, axis=0)  # twice as fast as total[numbers] += values
            own += values
            total[numbers] = own
        return total

    def table(self) -> pl.DataFrame:
        """The table of the statistic."""
        return self.statistic.tabulate(self.total(), self.weighted)
