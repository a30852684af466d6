"""Sums of cells of integers as decimals with 18 digits after the point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.sums import CARRY, Integers

WORD = 1 << 64


def as_decimals(cells: Integers, counts: int) -> NDArray[np.uint64]:
    """The sums in units of 1e-18, of 128 bits, the lower 64 first: shape (sums, cells, 2).

    ``cells`` has so many counts, then ``micros`` and ``rest`` of each sum (see `streammetrics.core.definition.sums`).

    >>> as_decimals(np.array([[7, 0, 3, 1, 5]]), counts=1).tolist()
    [[[3, 0]], [[1000000000005, 0]]]
    """
    parts = cells[:, counts:].astype(object)
    sums = parts.reshape(len(cells), parts.shape[1] // 2, 2).transpose(1, 0, 2)
    units = sums[..., 0] * CARRY + sums[..., 1]
    return np.stack([units % WORD, units // WORD % WORD], axis=-1).astype(np.uint64, order="C")
