"""Columns of rows as arrays."""

import numpy as np
import polars as pl
import pytest

from streammetrics.data.rows.arrays import _array


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100])
def test_slices_of_booleans_are_their_own_rows(length):
    values = np.random.default_rng(0).random(500) < 0.5
    for start in [*range(20), 399]:
        part = _array(pl.Series(values)[start : start + length])
        assert part.tolist() == values[start : start + length].tolist()
