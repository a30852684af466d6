"""Search for slices that are worse, and not explained by larger or worse slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.metrics import discoveries
from streammetrics.reading.slicing.lots import Columns, Lot
from streammetrics.reading.slicing.remainders import Remainders, Tables

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Failing:
    """The failing slices by the same columns, p-values, and how much worse they are."""

    lot: Lot
    p: pl.Series
    effect: Values

    @property
    def of_groups(self) -> Values:
        """How much worse the slice of each group is, 0 for groups without a slice."""
        found: Values = np.append(self.effect, 0.0)[self.lot.numbers]
        return found

    def only(self, kept: NDArray[np.bool_]) -> Failing:
        """Some of the slices."""
        return Failing(self.lot.only(kept), self.p.filter(pl.Series(kept)), self.effect[kept])


@dataclass(frozen=True)
class Search:
    """The searched slices with their tables, the slice of all rows first."""

    remainders: Remainders
    lots: Sequence[Lot]
    tables: dict[Columns, Tables]
    fdr: float

    @classmethod
    def of(cls, remainders: Remainders, lots: Sequence[Lot], fdr: float) -> Search:
        """A search with the tables of all slices."""
        return cls(remainders, lots, {lot.columns: remainders.tables(lot.numbers, len(lot.rows)) for lot in lots}, fdr)

    def findings(self) -> list[Failing]:
        """Slices that are worse, and not explained by other slices."""
        found = _ordered(self._significant())
        return [self._unexplained(finding, found) for finding in found]

    def _significant(self) -> list[Failing]:
        """Slices that are worse than all other rows, and worse than the rest of each larger slice."""
        lots = self.lots[1:]
        compared = [self._against(lot, self.lots[0], np.ones(len(lot.rows), bool)) for lot in lots]
        p = [self._with_parents(lot, result["p_value"]) for lot, result in zip(lots, compared, strict=True)]
        effects = [result["difference"].abs().to_numpy() for result in compared]
        return discovered([Failing(*found) for found in zip(lots, p, effects, strict=True)], self.fdr)

    def _with_parents(self, lot: Lot, p: pl.Series) -> pl.Series:
        """The largest p-value of each slice. Slices that cannot be findings keep their p-value."""
        largest = p.fill_null(np.nan).to_numpy().copy()
        for parent in self._parents(lot, self.lots[1:]):
            candidates = largest <= self.fdr
            found = self._against(lot, parent, candidates)["p_value"].fill_null(1)
            largest[candidates] = np.maximum(largest[candidates], found.to_numpy())
        return pl.Series(largest, nan_to_null=True)

    def _unexplained(self, finding: Failing, found: Sequence[Failing]) -> Failing:
        """The findings that are still worse without the rows that they share with worse findings."""
        lot = finding.lot
        others = [other for other in found if not other.lot.holds(lot)]
        nowhere = np.zeros(len(lot.numbers), bool)
        elsewhere = np.any([nowhere, *(other.lot.numbers >= 0 for other in others)], axis=0)
        worse = np.any([nowhere, *(other.of_groups > finding.of_groups for other in others)], axis=0)
        touched = np.isin(np.arange(len(lot.rows)), lot.numbers[worse])
        left = np.where(worse, -1, lot.numbers)
        still = touched.copy()
        for parent in self._parents(lot, self.lots) if touched.any() else ():
            besides = np.where(elsewhere & (left < 0), -1, parent.numbers)
            slices = self.remainders.tables(left, len(lot.rows))
            wholes = self.remainders.tables(besides, len(parent.rows))
            p = self.remainders.compare(slices, wholes, parent.numbers[lot.first])["p_value"]
            still &= p.fill_null(1).to_numpy() <= self.fdr
        return finding.only(still | ~touched)

    def _against(self, lot: Lot, larger: Lot, kept: NDArray[np.bool_]) -> pl.DataFrame:
        """Slices of a lot compared with the rest of the larger slices of another lot."""
        tables = self.remainders.only(self.tables[lot.columns], kept)
        return self.remainders.compare(tables, self.tables[larger.columns], larger.numbers[lot.first[kept]])

    @staticmethod
    def _parents(lot: Lot, lots: Sequence[Lot]) -> list[Lot]:
        """The lot of all rows, and the lots of one column less, whose slices contain those of a lot."""
        return [other for other in lots if other.holds(lot) and len(other.columns) in {0, len(lot.columns) - 1}]


def discovered(tested: Sequence[Failing], fdr: float) -> list[Failing]:
    """Return the slices that are discoveries among all tested ones. Slices without a p-value are not tested."""
    every = pl.concat([pl.Series(dtype=pl.Float64), *(of_lot.p for of_lot in tested)])
    stands = np.zeros(len(every), bool)
    stands[every.is_not_null().to_numpy()] = discoveries(every.drop_nulls(), fdr)
    parts = np.split(stands, np.cumsum([len(of_lot.p) for of_lot in tested])[:-1])
    return [of_lot.only(kept) for of_lot, kept in zip(tested, parts, strict=False) if kept.any()]


def _ordered(found: Sequence[Failing]) -> list[Failing]:
    """The findings with distinct ranks instead of effects. Of equal effects, that of fewer columns ranks worse."""
    every = np.concatenate([np.zeros(0), *(finding.effect for finding in found)])
    place = np.empty(len(every))
    place[np.argsort(-every, kind="stable")] = np.arange(len(every), 0, -1)
    parts = np.split(place, np.cumsum([len(finding.effect) for finding in found])[:-1])
    return [replace(finding, effect=part) for finding, part in zip(found, parts, strict=False)]
