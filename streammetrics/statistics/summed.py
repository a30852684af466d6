"""Statistics that sum values of rows in cells, which are the same for every group, and their counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, settled
from streammetrics.data import Rows
from streammetrics.errors import DataError, MergeError
from streammetrics.statistics.counter import PAIR, Counter
from streammetrics.statistics.exact_sums import decimals_of_words
from streammetrics.statistics.statistic import Statistic


class Summed(Statistic):
    """A statistic that sums values of rows in cells, which are the same for every group.

    A subclass returns the `values` of each row, or defines `count`, a loop that sums them. The cells of a group have an
    axis of so many numbers for each key as `axes` returns.
    """

    first: ClassVar[int] = 0  # value of the keys of the first cell

    def axes(self, labels: int) -> tuple[int, ...]:
        """Number of values of each key, in a task with so many labels."""
        return ()

    def values(self, rows: Rows) -> Mapping[str, Any]:
        """Numbers of each row to sum, by column."""
        raise NotImplementedError

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Add rows to the cells of their groups, of shape (groups, ...)."""
        values, numbers, weight = self.values(rows), self.integers, rows.weight
        columns = [values[name] for name in self.cell_columns]
        if out.dtype == np.float64:
            stacked = np.stack(columns, dtype=np.float64)
            core.add_runs(out, stacked if weight is None else stacked * weight, rows.runs)
            return
        stacked = np.stack(columns[:numbers], dtype=np.int64)
        core.add_runs(out[:, :numbers], stacked if weight is None else stacked * weight, rows.runs)
        if self.decimals:
            core.add_sums(out[:, numbers:], np.stack(columns[numbers:]), rows.count, rows.runs)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of the cells of all groups. If there are keys, cells without rows are omitted."""
        counts = values[..., : len(self.counts)]
        rows = counts[..., 0] if len(self.counts) == 1 else counts.any(axis=-1)
        group, *place = np.nonzero(rows) if self.keys else (np.arange(len(values)),)
        keys = {key: at + self.first for key, at in zip(self._numbered, place, strict=False)}
        columns = zip(self.cell_columns, self.read_cells(values[group, *place]), strict=True)
        return self.table(weighted, group=group, **keys, **dict(columns))

    def counter(self, weighted: bool) -> Counter:
        """Counter of the cells: integers without weights, unless what a row adds has no limit."""
        return Sums(self, weighted, integers=not weighted and not self.checks.unbounded)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns in the order of a cell: decimals are the last."""
        return (*self.counts, *(c for c in self.sums if c not in self.decimals), *self.decimals)

    @property
    def integers(self) -> int:
        """Number of columns of a cell before the decimals."""
        return sum(column not in self.decimals for column in self.cell_columns)

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """The shape of the cells of a group. A decimal takes two integers, or one float if rows have weights."""
        decimals = len(self.cell_columns) - self.integers
        width = self.integers + decimals * (1 if rows.is_weighted else 2)
        return *self.axes(0 if rows.labels is None else len(rows.labels)), width

    def read_cells(self, cells: NDArray[Any]) -> list[Any]:
        """The columns of cells, of shape (cells, width)."""
        if not self.decimals or cells.dtype == np.float64:
            return [*cells.T]
        return [*cells[:, : self.integers].T, *map(decimals_of_words, core.as_decimals(cells, self.integers))]

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a cell of a table read from a file is valid: it has possible values, and is one of the cells."""
        sizes = zip(self._numbered, self.axes(len(labels)), strict=False)
        within = [pl.col(key).is_between(self.first, self.first + size - 1) for key, size in sizes]
        return pl.all_horizontal(super().valid(labels), *within)

    @property
    def _numbered(self) -> list[str]:
        return [key for key in self.keys if key != PAIR]


@dataclass
class Sums(Counter):
    """Sums of the cells of all groups: floats, or integers as described in ``core/definition/sums.py``."""

    statistic: Summed
    weighted: bool
    integers: bool
    values: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))
    groups: int = 0

    def add(self, rows: Rows, groups: int) -> None:
        """Add more rows to the sums of their groups."""
        self._make_room(groups, self.statistic.cells(rows))
        try:
            self.statistic.count(rows, self.values)
        except OverflowError as error:
            raise DataError(str(error)) from None

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the sums of another counter.

        Raises:
            MergeError: If a sum is too large. The sums stay unchanged.
        """
        self._make_room(groups, other.values.shape[1:])
        numbers = numbers[: other.groups]
        total = self.values[numbers] + other.values[: other.groups]
        if self.integers and self.statistic.decimals:
            decimals = total[..., self.statistic.integers :]
            try:
                decimals[:] = settled(decimals)
            except OverflowError as error:
                raise MergeError(str(error)) from None
        self.values[numbers] = total

    def table(self) -> pl.DataFrame:
        """Return the table of the statistic."""
        return self.statistic.tabulate(self.values[: self.groups], self.weighted)

    def _make_room(self, groups: int, cells: tuple[int, ...]) -> None:
        """Allocate room for more groups, and half as many again because more groups usually follow."""
        if groups > len(self.values) or not self.groups:
            room = groups if not self.groups else max(groups, 3 * len(self.values) // 2)
            more = np.zeros((room, *cells), dtype=np.int64 if self.integers else np.float64)
            if self.groups:
                more[: self.groups] = self.values[: self.groups]
            self.values = more
        self.groups = max(groups, self.groups)
