"""What statistics of two models on the same rows have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import polars as pl

from streammetrics.counting.paired import PAIR
from streammetrics.counting.paired import Paired as PairedCounter
from streammetrics.errors import Argument, Part, SpecificationError
from streammetrics.rows.arrays import Pair
from streammetrics.rows.roles import Kind, Roles
from streammetrics.statistics.statistic import Statistic
from streammetrics.statistics.summed import Summed
from streammetrics.statistics.view import View

MANY = 4  # models, of more of which each is paired with the first alone


def model_pairs(models: Iterable[str]) -> tuple[Pair, ...]:
    """The pairs of models to keep: all of them, in the order of their names; of more than four each with the first.

    >>> model_pairs(["new", "old"]), model_pairs("cabde")
    ((('new', 'old'),), (('c', 'a'), ('c', 'b'), ('c', 'd'), ('c', 'e')))
    """
    first, *others = models
    if len(others) < MANY:
        return tuple(combinations(sorted([first, *others]), 2))
    return tuple((first, other) for other in others)


@dataclass(frozen=True)
class Paired(Statistic):
    """A statistic of the rows that two models have predicted, for some pairs of models.

    Its table lies in the groups of the first model of each pair, and has the number of the pair as its first key. No
    metric reads it: it tells how the two differ row by row, which the tables of either alone do not.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair is not two different names, or is given twice.
    """

    pairs: tuple[Pair, ...] = ()

    keys: ClassVar[dict[str, pl.DataType]] = {PAIR: pl.UInt32()}

    def __post_init__(self) -> None:
        try:
            pairs = tuple((one, other) for one, other in self.pairs)
        except (TypeError, ValueError):
            pairs = (("", ""),)
        named = all(isinstance(name, str) for pair in pairs for name in pair)
        if not named or any(len(set(pair)) < 2 for pair in pairs) or len({frozenset(p) for p in pairs}) < len(pairs):
            raise SpecificationError(Argument("pairs"), f" must list different pairs of models, got {self.pairs!r}.")
        object.__setattr__(self, "pairs", pairs)

    def serves(self, kind: Kind) -> bool:
        """Whether it can be kept in a task."""
        return kind == self.task()

    def misfit(self, roles: Roles) -> tuple[Part, ...]:
        """Why columns of these roles cannot feed it, as parts of a message; empty if they can."""
        if unknown := {name for pair in self.pairs for name in pair} - {*roles.models}:
            return (f"pairs the unknown model {min(unknown)!r}",)
        return super().misfit(roles)

    def views(self) -> tuple[View, ...]:
        """None: metrics are of one model."""
        return ()

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        return super().valid() & (pl.col(PAIR) < len(self.pairs))

    def of_a_pair(self, weighted: bool, **columns: Any) -> pl.DataFrame:
        """A table without the number of the pair."""
        schema = {name: kind for name, kind in self.schema(weighted).items() if name != PAIR}
        return pl.DataFrame([pl.Series(name, columns[name], kind) for name, kind in schema.items()])

    def between(self, table: pl.DataFrame, one: str, other: str) -> pl.DataFrame | None:
        """The part of a table that is of two models, in this order; None if they are no pair of it."""
        for number, pair in enumerate(self.pairs):
            if {*pair} == {one, other}:
                own = table.filter(pl.col(PAIR) == number).drop(PAIR)
                return own if pair == (one, other) else self.turned(own)
        return None

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The part of a table that is of two models, as if they had come in the other order."""
        return table


@dataclass(frozen=True)
class PairedSums(Paired, Summed):
    """One that adds up values of rows in cells that every group has."""

    def counter(self, weighted: bool) -> PairedCounter:
        """A counter of the cells for each pair."""
        return PairedCounter(self.pairs, partial(Summed.counter, self, weighted))


def pairs_kept(statistics: Iterable[Statistic]) -> tuple[Pair, ...]:
    """All pairs of models that some of the statistics keep."""
    return tuple(dict.fromkeys(pair for s in statistics if isinstance(s, Paired) for pair in s.pairs))
