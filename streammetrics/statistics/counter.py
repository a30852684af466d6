"""The base class of counters of rows by group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from functools import cached_property
from threading import Lock
from typing import Any, Self

import polars as pl

from streammetrics.core import Codes
from streammetrics.data import Rows


class Counter(ABC):
    """Counts the rows of some groups in place."""

    def count(self, rows: Rows, groups: int) -> None:
        """Count more rows, also while other threads count others."""
        with self.lock:
            self.add(rows, groups)

    @cached_property
    def lock(self) -> AbstractContextManager[Any]:
        """What a thread holds while it counts."""
        return Lock()

    @abstractmethod
    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows. All group numbers are below ``groups``."""

    @abstractmethod
    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add another counter, whose groups have these numbers in this counter. The other counter stays unchanged."""

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """Return the counts as a table. A cell can occur more than once."""
