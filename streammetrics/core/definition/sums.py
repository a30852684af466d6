"""Sums of values of rows by cell, and the steps that compiled loops repeat exactly.

A cell of rows without weights consists of integers: the number of rows, then two numbers for each sum, ``micros`` and
``rest``. The sum is ``micros`` millionths and ``rest`` units of 1e-18, with ``rest`` from 0 to 10**12 - 1. Integers
have the same sum in any order, so the cells depend on the rows alone, of which each can stand for several equal ones. A
cell of weighted rows consists of floats: the weight of the rows, then each sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import CLIP, Codes, Counts, Floats, Runs, add_runs

Integers = NDArray[np.int64]

CARRY = 10**12
MOST_MICROS = 2**62
TOO_LARGE = "A sum of losses exceeds 4e12. Split the rows into several accumulators."
SQRT_HALF = np.sqrt(0.5).view(np.int64)
LN2 = 0.6931471803691238  # rounded, so that its product with an exponent is exact
LN2_REST = 1.9082149292705877e-10


def add_values(out: Counts, cells: Codes, values: Sequence[Floats], weight: Counts | None) -> None:
    """Add the values of each row to its cell: ``out`` is (..., 1 + 2 sums) of int64, or (..., 1 + sums) of float64."""
    flat = out.reshape(-1, out.shape[-1])
    if out.dtype == np.int64:
        parts = [part for value in values for part in as_integers(value, weight)]
        add_each(flat, cells, [1 if weight is None else weight, *parts])
        touched = np.unique(cells)
        flat[touched, 1:] = settled(flat[touched, 1:])
    else:
        w = 1.0 if weight is None else weight
        add_each(flat, cells, [w, *(w * value for value in values)])


def add_sums(out: Integers, values: NDArray[Any], count: Integers | None, runs: Runs) -> None:
    """Sum ``values``, of shape (sums, rows), by group, in two integers per sum: ``out`` is (groups, 2 sums)."""
    add_runs(out, np.stack([part for value in values for part in as_integers(value, count)]), runs)
    out[runs.groups] = settled(out[runs.groups])


def add_each(flat: NDArray[Any], cells: Codes, values: Sequence[NDArray[Any] | float]) -> None:
    """Add one number per column to the cell of each row."""
    for column, value in zip(flat.T, values, strict=True):
        np.add.at(column, cells, value)


def as_integers(values: Floats, count: Counts | None = None) -> tuple[Integers, Integers]:
    """Numbers as millionths, rounded, and the rest in units of 1e-18, rounded: each times its number of rows."""
    micros = np.rint(values * 1e6)
    units = np.rint((values - micros * 1e-6) * 1e18).astype(np.int64)
    if count is None:
        return micros.astype(np.int64), units
    if (np.abs(micros) * count).sum() >= MOST_MICROS:
        raise OverflowError(TOO_LARGE)
    product = units.astype(object) * count  # of any size
    carry, rest = product // CARRY, product % CARRY
    micros_of_rows: Integers = micros.astype(np.int64) * count.astype(np.int64) + carry.astype(np.int64)
    return micros_of_rows, rest.astype(np.int64)


def settled(sums: NDArray[Any]) -> Integers:
    """Sums, of shape (..., 2 sums), after carrying from each rest to its millionths."""
    carry, units = np.divmod(sums[..., 1::2], CARRY)
    micros = sums[..., ::2] + carry
    if (micros >= MOST_MICROS).any():
        raise OverflowError(TOO_LARGE)
    return np.stack([micros, units], axis=-1).reshape(sums.shape)


def log(x: Floats) -> Floats:
    """Natural logarithm of normal positive numbers: x = m 2**k with m near 1, and log(m) = 2 artanh(s) as a series."""
    bits = x.view(np.int64)
    exponent = (bits - SQRT_HALF) >> 52
    f = (bits - (exponent << 52)).view(np.float64) - 1.0
    s, half = f / (f + 2.0), 0.5 * f * f
    z = s * s
    series: Floats | float = 1 / 21
    for odd in (19, 17, 15, 13, 11, 9, 7, 5, 3):
        series = series * z + 1 / odd
    k = exponent.astype(np.float64)
    logarithm: Floats = k * LN2 - ((half - (s * (half + 2.0 * z * series) + k * LN2_REST)) - f)
    return logarithm


def clipped(p: Floats) -> Floats:
    """Probabilities without 0 and 1."""
    within: Floats = np.clip(p, CLIP, 1.0 - CLIP)
    return within
