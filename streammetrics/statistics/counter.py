"""The base class of counters of rows by group, and one counter for each value of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from threading import Lock
from typing import Any, Self

import polars as pl

from streammetrics.core import Codes
from streammetrics.data import Rows

GROUP = "group"
PAIR = "pair"  # number of a pair of models


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
        """Add another counter, whose groups have these numbers in this counter. The other counter stays unchanged.

        There can be more numbers than the other counter has groups.
        """

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """Return the counts as a table. A cell can occur more than once."""


@dataclass
class KeyedCounter(Counter):
    """A counter for each value of a key, such as the number of a label or of a pair of models.

    ``parts`` returns the rows for each value, or None without any; by default all rows.
    """

    key: str
    counters: Sequence[Counter]
    parts: Callable[[Rows], Iterable[Rows | None]] = repeat

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        for counter, part in zip(self.counters, self.parts(rows), strict=False):
            if part is not None:
                counter.add(part, groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        for counter, more in zip(self.counters, other.counters, strict=True):
            counter.absorb(more, numbers, groups)

    def table(self) -> pl.DataFrame:
        """Return the concatenated tables, with the number of the key."""
        return pl.concat(
            counter.table().select(GROUP, pl.lit(number, pl.UInt32).alias(self.key), pl.exclude(GROUP))
            for number, counter in enumerate(self.counters)
        )
