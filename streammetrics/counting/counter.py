"""What counts rows by group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import polars as pl

from streammetrics.kernels import Codes
from streammetrics.rows.arrays import Rows


class Counter(ABC):
    """The rows of some groups, counted in place."""

    @abstractmethod
    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows. Numbers of groups are below ``groups``."""

    @abstractmethod
    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Count the rows of another, whose groups have these numbers here. The other stays as it is."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """What was counted, as a table; a cell may come twice."""
