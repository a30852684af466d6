"""Histograms: bins of each group that adapt to the data, at the finest resolution that fits the capacity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.base import as_float, shown, whole
from streammetrics.core import Codes, Domain, Floats, Lattice
from streammetrics.data import Rows, several
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.counter import GROUP, Counter
from streammetrics.statistics.statistic import Statistic, Types

CAPACITY = 16_384
MOST_CAPACITY = 1 << 30  # of which one group already takes gigabytes
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

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
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


Read = Callable[[Rows], tuple[Floats, NDArray[np.uint8] | None]]


@dataclass
class Bins(Counter):
    """Counts or weights of rows by group and bin, and by label if ``read`` returns labels.

    The table does not depend on the order of the rows.
    """

    read: Read
    lattice: Lattice
    capacity: int
    sides: int
    weighted: bool

    @cached_property
    def lock(self) -> AbstractContextManager[Any]:
        """None: the core lets several threads count at once."""
        return nullcontext()

    def __post_init__(self) -> None:
        self.cells: core.Bins = empty(self.lattice, self.capacity, self.sides, self.weighted)

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        values, label = self.read(rows)
        self.cells.add(values, label, rows.weight, rows.runs, groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        self.cells.absorb(other.cells, numbers, groups)

    def table(self) -> pl.DataFrame:
        """Return the columns group, shift, bin, and either neg and pos or count."""
        *keys, amounts = self.cells.cells()
        columns: list[Any] = [*amounts[::-1], *keys[::-1]]
        del keys, amounts
        sides = ("count",) if self.sides == 1 else ("neg", "pos")
        return pl.DataFrame([pl.Series(name, columns.pop()) for name in ("group", "shift", "bin", *sides)])


def empty(lattice: Lattice, capacity: int, sides: int, weighted: bool) -> core.Bins:
    """The bins of no rows."""
    return core.Bins(capacity, lattice.domain == "probability", lattice.atom_keys, sides, weighted)


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int = 1) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which at most ``capacity`` bins are left.

    This shift depends only on the rows, not on how they were split, because a part never has more bins than the whole.
    Therefore a part never raises the shift further than the whole requires.

    The table has the columns group, shift, bin, and values to sum, and is returned sorted by group and value. As many
    consecutive groups as ``sharing`` says share one shift and one capacity.
    """
    if table.is_empty():
        return table
    group = table["group"].to_numpy()
    if (group[1:] < group[:-1]).any():
        few = group.max() < 1 << 16  # which are sorted in linear time
        order = np.argsort(group.astype(np.uint16) if few else group, kind="stable")
        table, group = table[order], group[order]
    shift, bin, *values = (column.to_numpy() for column in table if column.name != "group")
    amount = np.float64 if any(value.dtype.kind == "f" for value in values) else np.int64
    values = [np.ascontiguousarray(value, dtype=amount) for value in values]
    wholes = group // sharing
    starts = np.append(np.flatnonzero(changes(wholes)), len(group))
    if sharing == 1 and core.is_fitted(starts, bin, shift, lattice.atom_keys, capacity):
        return table
    low = bin << shift.astype(np.int64)
    least = np.maximum.reduceat(shift, starts[:-1])
    if sharing > 1:
        *_, least = core.fit(starts, low, least, [], lattice.atom_keys, capacity)
        of_whole = np.repeat(least, np.diff(starts))
        starts = np.append(np.flatnonzero(changes(group)), len(group))
        least, capacity = of_whole[starts[:-1]], len(group)
    run, shift, bin, sums, _ = core.fit(starts, low, least, values, lattice.atom_keys, capacity)
    columns = (group[starts[:-1]][run], shift, bin, *sums)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def fit_by(
    table: pl.DataFrame, by: Sequence[str], lattice: Lattice, capacity: int, share: bool = False
) -> pl.DataFrame:
    """Merge bins as `fit` does, by key columns. If ``share``, groups that differ only in the last share a shift."""
    if table.is_empty():
        return table
    sizes = tuple(int(size) + 1 for size in table.select(pl.max(*by)).row(0))
    numbers = pl.Series("group", np.ravel_multi_index([table[key].to_numpy() for key in by], sizes))
    cells = fit(table.drop(by).insert_column(0, numbers), lattice, capacity, sizes[-1] if share else 1)
    keys = dict(zip(by, np.unravel_index(cells["group"].to_numpy(), sizes), strict=True))
    return cells.with_columns(**keys).select(pl.col(name).cast(kind) for name, kind in table.schema.items())


def changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value differs from the one before it."""
    new = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=new[1:])
    return new
