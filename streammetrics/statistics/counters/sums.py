"""Sums in fixed cells, which are the same for every group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.core import Codes
from streammetrics.core.definition.sums import settled
from streammetrics.errors import DataError, MergeError
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.counters.counter import Counter


class Summing(Protocol):
    """A statistic that sums values of rows in the same cells for every group."""

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Return the shape of the cells of a group."""

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Add rows to the cells of their groups: shape (groups, ...)."""

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Return the table of the cells of all groups."""


@dataclass
class Sums(Counter):
    """Sums of the cells of all groups: floats, or integers.

    If ``counts`` is set, cells of integers have so many counts, followed by two integers per sum, as described in
    ``core/definition/sums.py``. Otherwise, all integers are counts.
    """

    statistic: Summing
    weighted: bool
    integers: bool
    counts: int | None = None
    values: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))
    groups: int = 0

    def add(self, rows: Rows, groups: int) -> None:
        """Add more rows to the sums of their groups.

        Raises:
            DataError: If a sum is too large.
        """
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
        total = self.values[numbers] + other.values[: other.groups]
        if self.integers and self.counts is not None:
            try:
                total[..., self.counts :] = settled(total[..., self.counts :])
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
