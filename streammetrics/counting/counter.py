"""The base class of counters of rows by group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import polars as pl

from streammetrics.core import Codes
from streammetrics.rows.arrays import Rows


class Counter(ABC):
    """Counts the rows of some groups in place."""

    @abstractmethod
    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows. All group numbers are below ``groups``."""

    @abstractmethod
    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add another counter, whose groups have these numbers in this counter. The other counter stays unchanged."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """Return the counts as a table. A cell can occur more than once."""
