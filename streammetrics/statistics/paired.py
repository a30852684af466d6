"""Common base of statistics of two models on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from streammetrics.data import Kind, Pair, Roles, Rows
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.counter import PAIR, Counter, KeyedCounter
from streammetrics.statistics.statistic import Statistic, Types, View
from streammetrics.statistics.summed import Summed


@dataclass(frozen=True)
class Paired(Statistic):
    """A statistic of rows predicted by two models, for pairs of models.

    Its table belongs to the groups of the first model of each pair; its first key is the number of the pair. It is not
    used for metrics of a single model, but for confidence intervals of differences, which depend on how the models
    differ row by row.
    """

    pairs: tuple[Pair, ...] = ()

    keys: ClassVar[Types] = {PAIR: pl.UInt32()}

    def __post_init__(self) -> None:
        try:
            pairs = tuple((one, other) for one, other in self.pairs)
        except (TypeError, ValueError):
            pairs = (("", ""),)
        named = all(isinstance(name, str) for pair in pairs for name in pair)
        if not named or any(len(set(pair)) < 2 for pair in pairs) or len({frozenset(p) for p in pairs}) < len(pairs):
            raise SpecificationError(Argument("pairs"), f" must list different pairs of models, got {self.pairs!r}.")
        self._set(pairs=pairs)

    def serves(self, kind: Kind) -> bool:
        """Whether it can be accumulated in a task."""
        return kind == self.kind

    def misfit(self, roles: Roles) -> str:
        """Why it cannot be computed from columns of these roles; empty if it can."""
        if unknown := {name for pair in self.pairs for name in pair} - {*roles.models}:
            return f"contains the unknown model {min(unknown)!r}"
        return super().misfit(roles)

    def empty_table(self, groups: int, weighted: bool) -> pl.DataFrame:
        """Return the table of groups without rows: no cells."""
        return pl.DataFrame(schema=self.schema(weighted))

    def views(self) -> tuple[View, ...]:
        """No views, since metrics are of one model."""
        return ()

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid(labels) & (pl.col(PAIR) < len(self.pairs))

    def between(self, table: pl.DataFrame, one: str, other: str) -> pl.DataFrame | None:
        """The rows of a table for two models, in this order, or None if they are not one of its pairs."""
        for number, pair in enumerate(self.pairs):
            if {*pair} == {one, other}:
                rows = table.filter(pl.col(PAIR) == number).drop(PAIR)
                return rows if pair == (one, other) else self.turned(rows)
        return None

    def counter_of_pairs(self, make: Callable[[], Counter]) -> KeyedCounter:
        """A counter for each pair, of the groups of its first model."""
        return KeyedCounter(PAIR, [make() for _ in self.pairs], self._rows_of_pairs)

    def _rows_of_pairs(self, rows: Rows) -> Iterator[Rows | None]:
        for pair in self.pairs:
            yield replace(rows.beside[pair], numbers=rows.numbers) if pair in rows.beside else None

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        return table


class PairedSums(Paired, Summed):
    """A paired statistic that sums values of rows in the same cells for every group."""

    def counter(self, weighted: bool) -> KeyedCounter:
        """A counter of the cells for each pair."""
        return self.counter_of_pairs(lambda: Summed.counter(self, weighted))


def pairs_kept(statistics: Iterable[Statistic]) -> tuple[Pair, ...]:
    """All pairs of models of these statistics."""
    return tuple(dict.fromkeys(pair for s in statistics if isinstance(s, Paired) for pair in s.pairs))
