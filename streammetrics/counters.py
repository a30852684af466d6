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


@dataclass(frozen=True)
class Tables(Piled):
    """A table for each chunk, added up now and then."""

    statistic: Sparse

    def add(self, rows: Rows, numbers: Codes, groups: int) -> Tables:
        """The table of more rows beside those of others."""
        table = self.statistic.observe(rows)
        return self.with_table(table.with_columns(pl.Series("group", numbers, pl.UInt32).gather(table["group"])))

    def compact(self) -> Tables:
        """Every cell once, as in a single chunk's table."""
        if self.loose_tables and len(self.tables()) == 1:
            return Tables(self.statistic, fitted_tables=self.loose_tables)
        return Tables(self.statistic, fitted_tables=(self.statistic.merge(self.table()),))


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
    """The values of cells that are the same for every group, added up."""

    statistic: Dense
    weighted: bool
    values: NDArray[Any] | None = None

    def add(self, rows: Rows, numbers: Codes, groups: int) -> Sums:
        """The values of more rows added to their groups'."""
        found = self.statistic.count(rows)
        known = found[:0] if self.values is None else self.values
        values = np.zeros((groups, *found.shape[1:]), np.result_type(known, found))  # numpy sums no floats to integers
        values[: len(known)] = known
        values[numbers] += found
        return replace(self, values=values)

    def table(self) -> pl.DataFrame:
        """The table of the statistic."""
        assert self.values is not None
        return self.statistic.tabulate(self.values, self.weighted)
