"""Common base of statistics of two models on the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.errors import SpecificationError
from streammetrics.rows.arrays import Pair
from streammetrics.rows.roles import Kind, Roles
from streammetrics.statistics.counters.paired import PAIR
from streammetrics.statistics.counters.paired import Paired as PairedCounter
from streammetrics.statistics.statistic import Statistic
from streammetrics.statistics.summed import Summed
from streammetrics.statistics.view import View

MANY = 4  # models; of more, each is paired with the first only


def model_pairs(models: Iterable[str]) -> tuple[Pair, ...]:
    """Return the pairs of models: all, in the order of names; for more than four models, each with the first.

    >>> model_pairs(["new", "old"]), model_pairs("cabde")
    ((('new', 'old'),), (('c', 'a'), ('c', 'b'), ('c', 'd'), ('c', 'e')))
    """
    first, *others = models
    if len(others) < MANY:
        return tuple(combinations(sorted([first, *others]), 2))
    return tuple((first, other) for other in others)


@dataclass(frozen=True)
class Paired(Statistic):
    """A statistic of rows predicted by two models, for pairs of models.

    Its table belongs to the groups of the first model of each pair; its first key is the number of the pair. It is not
    used for metrics of a single model, but for confidence intervals of differences, which depend on how the models
    differ row by row.
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
            raise SpecificationError(f"pairs= must list different pairs of models, got {self.pairs!r}.")
        object.__setattr__(self, "pairs", pairs)

    def serves(self, kind: Kind) -> bool:
        """Whether it can be accumulated in a task."""
        return kind == self.task()

    def misfit(self, roles: Roles) -> str:
        """Why it cannot be computed from columns of these roles; empty if it can."""
        if unknown := {name for pair in self.pairs for name in pair} - {*roles.models}:
            return f"contains the unknown model {min(unknown)!r}"
        return super().misfit(roles)

    def views(self) -> tuple[View, ...]:
        """No views, since metrics are of one model."""
        return ()

    def valid(self) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid() & (pl.col(PAIR) < len(self.pairs))

    def between(self, table: pl.DataFrame, one: str, other: str) -> pl.DataFrame | None:
        """The rows of a table for two models, in this order, or None if they are not one of its pairs."""
        for number, pair in enumerate(self.pairs):
            if {*pair} == {one, other}:
                own = table.filter(pl.col(PAIR) == number).drop(PAIR)
                return own if pair == (one, other) else self.turned(own)
        return None

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        return table


class PairedSums(Paired, Summed):
    """A paired statistic that sums values of rows in the same cells for every group."""

    def counter(self, weighted: bool) -> PairedCounter:
        """A counter of the cells for each pair."""
        return PairedCounter(self.pairs, partial(Summed.counter, self, weighted))

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The counts and sums of a pair, in the groups that have rows of it."""
        group = np.flatnonzero(values.any(axis=1))
        return self.table(
            weighted, group=group, **dict(zip((*self.counts, *self.sums), self.read_cells(values[group]), strict=True))
        )


def pairs_kept(statistics: Iterable[Statistic]) -> tuple[Pair, ...]:
    """All pairs of models of these statistics."""
    return tuple(dict.fromkeys(pair for s in statistics if isinstance(s, Paired) for pair in s.pairs))
