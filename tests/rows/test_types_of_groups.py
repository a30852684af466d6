"""Group columns whose type differs between batches, states, and files."""

from decimal import Decimal
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import streammetrics as sm

FLOATS = [0.1, 0.3, 16777216.0, -0.0, None]


def task():
    return sm.binary(y_true="y", y_score="p", by="g", metrics=["rows"])


def batch(groups):
    return pl.DataFrame({"y": [1, 0] * 8, "p": [0.9, 0.1] * 8}).head(len(groups)).with_columns(g=groups)


def same_in_any_order(parts):
    states = [task().update(batch(part)) for part in parts]
    wanted = sm.merge(states)
    for number, order in enumerate(permutations(range(len(parts)))):
        assert sm.merge(states[i] for i in order).to_bytes() == wanted.to_bytes()
        at_once = task()
        for i in order:
            at_once.update(batch(parts[i]))
        assert at_once.to_bytes() == wanted.to_bytes()
        if number % 5 == 0:
            one_by_one = task()
            for i in order:
                for row in parts[i]:
                    one_by_one.update(batch(pl.Series([row], dtype=parts[i].dtype)))
            assert one_by_one.finalize().frame["g"].equals(wanted.finalize().frame["g"])
    return wanted.finalize().frame["g"].to_list()


def test_floats_of_every_type_are_the_numbers_that_were_written():
    parts = [pl.Series(FLOATS, dtype=dtype) for dtype in (pl.Float32, pl.Float64)]
    small = pl.Series([0.1, 0.3], dtype=pl.Float16)
    assert same_in_any_order([*parts, small, pl.Series([0, 16777216])]) == [0.0, 0.1, 0.3, 16777216.0, None]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_floats_of_any_bits_are_written_as_numpy_does(dtype):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**16, 2_000).astype(np.uint16).view(np.float16) if dtype == np.float16 else None
    values = rng.integers(0, 2**32, 2_000).astype(np.uint32).view(np.float32) if values is None else values
    values = values[np.isfinite(values) & (values != 0)]
    rows = pl.DataFrame({"y": [1] * len(values), "p": [0.5] * len(values), "g": values})
    found = task().update(rows).finalize().frame["g"].to_list()
    assert found == sorted({float(str(value)) for value in values})


def test_labels_of_32_bits_are_the_numbers_that_were_written():
    labels = np.array([0.1, 0.2], dtype=np.float32)
    for declared in (labels, [0.1, 0.2]):
        acc = sm.multiclass(y_true="y", y_pred="p", labels=declared).update({"y": labels, "p": labels})
        assert acc.finalize()["accuracy"].value == 1
    acc = sm.multiclass(y_true="y", y_pred="p").update({"y": labels, "p": labels.astype(np.float64).round(1)})
    assert acc.finalize()["accuracy"].value == 1


def test_decimals_of_other_scales_are_equal_numbers():
    cents, mills = (
        pl.Series([Decimal("1.50"), Decimal(2)], dtype=pl.Decimal(10, 2)),
        pl.Series([Decimal("1.500"), Decimal("2.125")]),
    )
    far = pl.Series([Decimal(10) ** 30, None], dtype=pl.Decimal(38, 0))
    found = same_in_any_order([cents, mills, far])
    assert found == [Decimal("1.5"), Decimal(2), Decimal("2.125"), Decimal(10) ** 30, None]


def test_decimals_that_do_not_fit_together_are_rejected():
    acc = task().update(batch(pl.Series([Decimal(10) ** 30], dtype=pl.Decimal(38, 0))))
    before = acc.to_bytes()
    with pytest.raises(sm.ColumnError, match="'g' has different types in different batches: Decimal"):
        acc.update(batch(pl.Series([Decimal("1e-10")], dtype=pl.Decimal(38, 10))))
    assert acc.to_bytes() == before
