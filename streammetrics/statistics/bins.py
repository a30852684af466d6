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
    values = pl.exclude("group", "shift", "bin")
    table = table.group_by("group", "shift", "bin").agg(values.sum())
    table = table.with_columns(low=_low(table)).sort("group", "low")
    wanted = _wanted_shifts(table, lattice, capacity)
    shift = lattice.limit_shifts(table["low"].to_numpy(), wanted)
    if (shift == table["shift"].to_numpy()).all():
        return table.drop("low")
    coarse = table.with_columns(
        pl.Series("shift", shift, dtype=pl.UInt8), pl.Series("bin", table["low"].to_numpy() >> shift)
    )
    return coarse.drop("low").group_by("group", "shift", "bin", maintain_order=True).agg(values.sum())


def _low(table: pl.DataFrame) -> pl.Series:
    return pl.Series(table["bin"].to_numpy() << table["shift"].to_numpy().astype(np.int64), dtype=pl.Int64)


def _wanted_shifts(table: pl.DataFrame, lattice: Lattice, capacity: int) -> NDArray[np.int64]:
    """For each row the smallest shift that fits its group.

    At shift s a group holds one bin more than it has neighbours that only merge above s; so all but ``capacity - 1``
    neighbours must merge, and the shift is the ``capacity``-th highest of their levels.
    """
    levels = np.zeros(table.height, dtype=np.int64)
    levels[1:] = np.minimum(lattice.merge_levels(table["low"].to_numpy()), MAX_SHIFT)
    needed = (
        table.select("group", "shift", pl.Series("level", levels))
        .group_by("group", maintain_order=True)
        .agg(
            pl.col("shift").max().cast(pl.Int64).alias("current"),
            pl.col("level")
            .filter(pl.int_range(pl.len()) > 0)
            .sort(descending=True)
            .get(capacity - 1, null_on_oob=True),
            pl.len().alias("bins"),
        )
        .select(pl.max_horizontal("current", "level").repeat_by("bins").explode())
    )
    return needed.to_series().to_numpy()
