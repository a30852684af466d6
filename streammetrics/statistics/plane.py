"""Pairs of numbers as the keys of one histogram, whose bins are rectangles of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core.definition.pairs import DROPPED, SIDE, sides
from streammetrics.core.lattice import Domain, Keys, Lattice, Values

PLANE = Lattice("real")  # domain of the keys of pairs
NUMBERS = Lattice("real")
FINITE = NUMBERS.keys(np.array([-np.finfo(float).max, np.finfo(float).max]))


def keys_of(one: Values, other: Values, domain: Domain) -> Values:
    """Return the keys of pairs, rounded to six digits, as values of a histogram in the domain of the plane."""
    keys = np.empty(len(one), dtype=np.int64)
    core.interleave(one, other, domain == "probability", keys)
    return PLANE.values(keys)


def on_plane(cells: pl.Series) -> pl.Series:
    """Return whether each bin, a struct of ``shift`` and ``bin``, is a rectangle of the plane."""
    bins, shifts = (cells.struct.field(name).fill_null(0).to_numpy() for name in ("bin", "shift"))
    low = bins << np.minimum(shifts, 2 * SIDE).astype(np.int64)
    return pl.Series(PLANE.holds(bins, shifts) & (low >= 0) & (low < 1 << 2 * SIDE))


def corners(table: pl.DataFrame) -> tuple[Keys, Keys]:
    """Return the position of each bin along both numbers, as bits that are in their order."""
    return sides(table["bin"].to_numpy() << table["shift"].to_numpy().astype(np.int64))


def rectangles(table: pl.DataFrame) -> list[NDArray[Any]]:
    """Return the lowest and the highest first number of each bin, and the same of the second; both of real numbers."""
    shift, ends = table["shift"].to_numpy().astype(np.int64), []
    for low, bits in zip(corners(table), (shift // 2, (shift + 1) // 2), strict=True):
        ends += [_number(low, 0), _number(low + (np.int64(1) << bits), -1)]
    return ends


def _number(bits: Keys, beside: int) -> Values:
    """The number at a position, or one beside it."""
    keys = ((bits << 1) - (1 << SIDE) << DROPPED) + beside
    keys -= keys == -1  # -0.0, which counts as 0.0
    return NUMBERS.values(np.clip(keys, *FINITE))
