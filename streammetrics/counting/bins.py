"""Histogram bins of each group, at the finest resolution that fits the capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, Floats, Labels, Runs
from streammetrics.core.lattice import Lattice
from streammetrics.counting.counter import Counter
from streammetrics.counting.fitting import Cells, fit_cells, sort_order
from streammetrics.counting.listed import Listed, as_cells, some
from streammetrics.counting.tabled import Tabled
from streammetrics.rows.arrays import Rows

FEWEST, MOST = 1 << 16, 1 << 21  # range of the number of listed rows at which they are counted
ROWS_OF_A_BIN = 2  # listed rows per bin of the capacity of all groups, within this range
AT_ONCE = 1 << 19  # rows and bins that are merged at once, to fit into the cache
REPEATED = 2  # rows per bin from which counting in a table is faster than listing

Read = Callable[[Rows], tuple[NDArray[np.float64], NDArray[np.uint8] | None]]


@dataclass
class Bins(Counter):
    """Counts or weights of rows by group and bin, and by label if ``read`` returns labels.

    A group with many rows has a hash table of bins, in which its rows are counted immediately. All other rows are
    listed. Once the list is long, it is counted at the smallest shift at which the bins of each group fit the capacity.
    Therefore the merged table does not depend on the order of the rows.
    """

    read: Read
    lattice: Lattice
    capacity: int
    sides: int
    weighted: bool
    most: int = MOST
    tabled: Tabled = field(init=False)
    loose: list[Cells] = field(init=False)
    listed: list[Listed] = field(init=False)
    held: int = 0
    waiting: int = 0

    def __post_init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.tabled = Tabled(self.lattice, self.sides, self.weighted)
        self.loose = [self.tabled.bins(none)]
        label, weight = None if self.sides == 1 else np.zeros(0, np.uint8), np.zeros(0) if self.weighted else None
        self.listed = [Listed(Runs(np.zeros(1, dtype=np.intp), none), none, label, weight)]

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        self.tabled.know(groups)
        values, label = self.read(rows)
        if len(rows.runs.groups) != 1 or self.held or rows.size <= FEWEST:
            self._add(values, label, rows.weight, rows.runs)
            return
        for start, end in pairwise([0, FEWEST, rows.size]):  # the first rows create a table for the other rows
            block, runs = slice(start, end), Runs(np.array([0, end - start]), rows.runs.groups)
            self._add(values[block], some(label, block), some(rows.weight, block), runs)

    def _add(self, values: Floats, label: Labels | None, weight: Floats | None, runs: Runs) -> None:
        new: Any = core.count_bins(values, label, weight, runs, self.lattice, self.tabled.tables)
        if len(new):
            self.waiting += len(new)
            if len(new) == len(values):
                new = slice(None)
            else:
                runs = Runs.of(runs.codes_of(new))
            self.listed.append(Listed(runs, self.lattice.keys(values[new]), some(label, new), some(weight, new)))
            self._settle_if_many()

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        self.tabled.know(groups)
        cells = other._cells()
        self.waiting += len(cells.low)
        self.loose.append(cells._replace(group=numbers[cells.group]))
        self._settle_if_many()

    def table(self) -> pl.DataFrame:
        """Return the columns group, shift, bin, and either neg and pos or count."""
        group, low, shift, values = self._cells()
        sides = ("count",) if self.sides == 1 else ("neg", "pos")
        return pl.DataFrame(
            {"group": group, "shift": shift, "bin": low >> shift, **dict(zip(sides, values, strict=True))},
            schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
        )

    def _settle_if_many(self) -> None:
        few = min(max(FEWEST, ROWS_OF_A_BIN * self.capacity * self.tabled.groups), self.most)
        if self.waiting >= max(few, self.held // 2):
            self._settle()

    def _settle(self) -> None:
        """Count all listed rows, and create tables for groups with many rows per bin."""
        groups, listed = self.tabled.groups, Listed.of(self.listed)
        parts = list(self._joint(listed))
        rows, number, shifts = np.zeros((3, groups), dtype=np.int64)
        rows[listed.runs.groups] = np.diff(listed.runs.starts)
        for cells in parts:
            number += np.bincount(cells.group, minlength=groups)
            np.maximum.at(shifts, cells.group, cells.shift)
        tabled = (number > 0) & (self.tabled.has | (shifts > 0) | (rows >= REPEATED * number))
        self.tabled.give_tables(np.flatnonzero(tabled), number[tabled], shifts[tabled])
        cells = Cells.of([self.loose[0].take(slice(0)), *parts])
        counted = tabled[cells.group]
        self.tabled.fill(cells if counted.all() else cells.take(np.flatnonzero(counted)))
        loose = cells.take(np.flatnonzero(~counted))
        self.loose, self.listed, self.waiting = [loose], self.listed[:1], 0
        self.held = int(self.tabled.sizes().sum()) + len(loose.low)

    def _cells(self) -> Cells:
        """All bins of tables and listed rows."""
        others = self.tabled.has
        parts = list(self._joint(Listed.of(self.listed)))
        for cells in parts:
            others[cells.group] = False
        return Cells.of([self.tabled.bins(np.flatnonzero(others)), *parts])

    def _joint(self, listed: Listed) -> Iterator[Cells]:
        """Merge waiting rows and bins with the tables of their groups. Yields each bin once, a few groups at a time."""
        loose = Cells.of(self.loose)
        loose = loose.take(sort_order(loose.group))
        number = np.bincount(loose.group, minlength=self.tabled.groups)
        number[listed.runs.groups] += np.diff(listed.runs.starts)
        touched = np.flatnonzero(number)
        number[touched] += self.tabled.sizes()[touched]
        ends = np.flatnonzero(np.diff(np.cumsum(number) // AT_ONCE, append=-1)) + 1
        for groups in pairwise([0, *ends.tolist()]):
            cells = loose.take(slice(*np.searchsorted(loose.group, groups)))
            had = touched[slice(*np.searchsorted(touched, groups))]
            bins = Cells.of([self.tabled.bins(had[self.tabled.has[had]]), cells, as_cells(listed.of_groups(*groups))])
            if len(bins.low):
                yield fit_cells(bins, self.lattice, self.capacity)
