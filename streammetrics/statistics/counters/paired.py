"""Counters of rows that both models of a pair have predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import polars as pl

from streammetrics.core import Codes
from streammetrics.rows.arrays import Pair, Rows
from streammetrics.statistics.counters.counter import Counter

PAIR = "pair"


@dataclass
class Paired(Counter):
    """One counter per pair of models, by the groups of the first model. ``make`` creates an empty counter."""

    pairs: Sequence[Pair]
    make: Callable[[], Counter]
    counters: list[Counter] = field(init=False)
    known: list[int] = field(init=False)  # number of groups of each counter, which gets only groups of its first model

    def __post_init__(self) -> None:
        self.counters, self.known = [self.make() for _ in self.pairs], [0] * len(self.pairs)

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows if their model is the first of a pair."""
        for i, pair in enumerate(self.pairs):
            if pair in rows.beside:
                self.counters[i].add(replace(rows.beside[pair], numbers=rows.numbers), groups)
                self.known[i] = groups

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        for i, more in enumerate(other.counters):
            self.counters[i].absorb(more, numbers[: other.known[i]], groups)
            self.known[i] = groups

    def table(self) -> pl.DataFrame:
        """Return the concatenated tables of all pairs, with the number of the pair."""
        tables = (counter.table() for counter in self.counters)
        return pl.concat(
            table.select("group", pl.lit(i, pl.UInt32).alias(PAIR), pl.exclude("group"))
            for i, table in enumerate(tables)
        )
