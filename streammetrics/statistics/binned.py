"""Common base of histograms: bins that adapt to the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from streammetrics.base import as_float, shown, whole
from streammetrics.core import Domain, Lattice
from streammetrics.data import several
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.bins import fit
from streammetrics.statistics.statistic import Statistic, Types
from streammetrics.statistics.view import GROUP

CAPACITY = 16_384
MOST_CAPACITY = 1 << 30  # of which one group already takes gigabytes
CAPACITY_OF_A_GROUP = 4_096
LABELS = Lattice("real")  # on which a label is 0 or 1


@dataclass(frozen=True)
class Binned(Statistic):
    """A statistic whose keys are the bins of a lattice (see `streammetrics.core.lattice`)."""

    capacity: int = CAPACITY
    domain: Domain = "real"
    atoms: tuple[float, ...] = ()

    keys: ClassVar[Types] = {"shift": pl.UInt8(), "bin": pl.Int64()}

    def __post_init__(self) -> None:
        capacity = whole(Argument("capacity"), self.capacity, most=MOST_CAPACITY)
        if self.domain not in ("probability", "real"):
            raise SpecificationError(Argument("domain"), f" must be 'probability' or 'real', got {self.domain!r}.")
        atoms = set()
        for atom in several(self.atoms):
            number = as_float(atom)
            if number != number or (self.domain == "probability" and not 0 <= number <= 1):
                raise SpecificationError(
                    Argument("atoms"), f" contains {shown(atom)}, which is outside the domain {self.domain!r}."
                )
            atoms.add(number + 0.0)  # turns -0.0 into 0.0
        probabilities = self.domain == "probability" and "y_score" in self.roles
        self._set(capacity=capacity, atoms=tuple(sorted(atoms)), probabilities=probabilities)
        smallest = 8 + 64 * len(self.atoms)
        if capacity < smallest:
            raise SpecificationError(
                Argument("capacity"), f" must be at least {smallest} (8, plus 64 per atom), got {capacity}."
            )

    @property
    def lattice(self) -> Lattice:
        """The lattice of the bins."""
        return Lattice(self.domain, self.atoms)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge into one row per bin, at the smallest shift that fits the capacity, in ascending order."""
        return fit(table, self.lattice, self.capacity)

    def for_reports(self) -> Self:
        """The statistic with at least the capacity of an ungrouped histogram.

        Totals are then as fine as their coarsest group. Only for states that are not merged again: their shift would
        depend on the order of merges.
        """
        return replace(self, capacity=max(self.capacity, CAPACITY))

    def valid(self, labels: Sequence[Any] = ()) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid(labels) & valid_bins(self.lattice.holds)

    def edges(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with ``low`` and ``high``, the smallest and the largest value of each bin."""
        bins, shifts = table["bin"].to_numpy(), table["shift"].to_numpy().astype(np.int64)
        return table.with_columns(
            low=pl.Series(self.lattice.lowest(bins, shifts)), high=pl.Series(self.lattice.highest(bins, shifts))
        )


def valid_bins(holds: Callable[..., Any]) -> pl.Expr:
    """Whether a row of a table has a bin and a shift that a lattice holds."""

    def are_held(cells: pl.Series) -> pl.Series:
        columns = cells.struct.unnest().fill_null(0)
        return pl.Series(holds(columns["bin"].to_numpy(), columns["shift"].to_numpy()))

    possible = pl.struct("shift", "bin").map_batches(are_held, return_dtype=pl.Boolean)
    return pl.col("shift").is_not_null() & pl.col("bin").is_not_null() & possible


def bins_of_labels(table: pl.DataFrame, neg: pl.Expr, pos: pl.Expr) -> pl.DataFrame:
    """Negatives and positives of each group, as bins of the labels 0 and 1."""
    zero, one = LABELS.keys(np.array([0.0, 1.0])).tolist()
    sides = table.group_by(GROUP, maintain_order=True).agg(neg.alias("0"), pos.alias("1"))
    counts = sides.unpivot(["0", "1"], index=GROUP, variable_name="bin", value_name="count")
    bins = pl.col("bin").replace_strict({"0": zero, "1": one}, return_dtype=pl.Int64)
    return counts.select(GROUP, pl.lit(0, pl.UInt8).alias("shift"), bins, "count").sort(GROUP, "bin")
