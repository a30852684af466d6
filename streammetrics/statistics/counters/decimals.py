"""Exact sums, counted in millionths and units of 1e-18, as decimals."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.core.definition.sums import CARRY
from streammetrics.system.lazy import pa

Integers = NDArray[np.int64]


def as_decimals(micros: Integers, rest: Integers) -> pl.Series:
    """The sums as Decimal(38, 18), exactly.

    >>> as_decimals(np.array([1, 2_500_000]), np.array([0, 1])).to_list()
    [Decimal('0.000001000000000000'), Decimal('2.500000000000000001')]
    """
    parts = pl.DataFrame({"micros": micros, "rest": rest}).cast(pl.Int128)
    units = parts.select(pl.col("micros") * pl.lit(CARRY, pl.Int128) + pl.col("rest")).to_series()
    whole = units.cast(pl.Decimal(38, 0)).rechunk().to_arrow()
    placed = pa.Array.from_buffers(pa.decimal128(38, 18), len(whole), whole.buffers(), offset=whole.offset)
    return pl.Series(placed)
