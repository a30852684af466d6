"""Bring the bins of a histogram to a resolution that fits its capacity."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.lattice import MAX_SHIFT, Lattice


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which no more than ``capacity`` are left.

    That shift follows from the rows seen, not from how they were split: a part never holds more bins than the whole. So
    a group keeps the shift it has come to, and a shift is never raised further than it must be.

    Args:
        table: columns group, shift, bin and values to add up; shifts may differ within a group.
        lattice: what the bins mean.
        capacity: the number of bins that a group may keep.

    Returns:
        The same columns, every bin once, sorted by group and value.
    """
    low = table["bin"].to_numpy() << table["shift"].to_numpy().astype(np.int64)
    current = table.select(pl.max("shift").over("group").cast(pl.Int64)).to_series().to_numpy()
    cells = table.drop("bin").with_columns(pl.Series("low", low, dtype=pl.Int64))
    cells = _at(cells, current, lattice)
    cells = _at(cells, _fitting_shifts(cells, lattice, capacity), lattice)
    bin = cells["low"].to_numpy() >> cells["shift"].to_numpy().astype(np.int64)
    return cells.with_columns(pl.Series("bin", bin, dtype=pl.Int64)).select(table.columns)


def _at(cells: pl.DataFrame, wanted: NDArray[np.int64], lattice: Lattice) -> pl.DataFrame:
    """Cells at the wanted shifts, or less where a bin would span an atom: each once, sorted by group and low edge."""
    shift, low = cells["shift"].to_numpy().astype(np.int64), cells["low"].to_numpy()
    finer = np.flatnonzero(shift < wanted)
    shift[finer] = lattice.limit_shifts(low[finer], wanted[finer])
    coarse = cells.with_columns(
        pl.Series("shift", shift, dtype=pl.UInt8), pl.Series("low", (low >> shift) << shift, dtype=pl.Int64)
    )
    keys = ["group", "low"] if coarse["group"].n_unique() > 1 else ["low"]  # one key is hashed much faster than two
    others = [pl.first(c) for c in ("group", "shift") if c not in keys]
    return coarse.group_by(keys).agg(*others, pl.exclude("group", "shift", "low").sum()).sort(keys)


def _fitting_shifts(cells: pl.DataFrame, lattice: Lattice, capacity: int) -> NDArray[np.int64]:
    """For each cell the smallest shift that fits its group.

    At shift s a group holds one bin more than it has neighbours that only merge above s; so all but ``capacity - 1``
    neighbours must merge, and the shift is the ``capacity``-th highest of their levels.
    """
    levels = np.zeros(cells.height, dtype=np.int64)
    levels[1:] = np.minimum(lattice.merge_levels(cells["low"].to_numpy()), MAX_SHIFT)
    neighbours = pl.col("level").filter(pl.int_range(pl.len()) > 0)
    fitting = (
        cells.select("group", "shift", pl.Series("level", levels))
        .group_by("group", maintain_order=True)
        .agg(
            pl.col("shift").max().cast(pl.Int64).alias("current"),
            neighbours.sort(descending=True).get(capacity - 1, null_on_oob=True),
            pl.len().alias("bins"),
        )
        .select(pl.max_horizontal("current", "level").repeat_by("bins").explode())
    )
    return fitting.to_series().to_numpy()
