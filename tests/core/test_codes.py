"""Numbers of groups, and rows in order: as Polars sorts them, equal ones as they come."""

import math
from datetime import date

import numpy as np
import polars as pl
import pytest

from streammetrics.rows.codes import ascending, encode, places, summed

RANDOM = np.random.default_rng(0)
COLUMNS = {
    "bytes": lambda n: pl.Series(RANDOM.integers(-3, 3, n), dtype=pl.Int8),
    "unsigned": lambda n: pl.Series(RANDOM.integers(0, 9, n), dtype=pl.UInt64),
    "zeros": lambda n: pl.Series(RANDOM.choice([0.1, -0.0, 0.0, np.inf, -1e300], n), dtype=pl.Float64),
    "texts": lambda n: pl.Series(RANDOM.choice(["b", "a", "a text of more than twelve"], n), dtype=pl.String),
    "beyond": lambda n: pl.Series(RANDOM.integers(2**63, 2**63 + 9, n, dtype=np.uint64), dtype=pl.UInt64),
    "far": lambda n: pl.Series(RANDOM.choice([-(2**63), 2**63 - 1, 0], n), dtype=pl.Int64),
    "wide": lambda n: pl.Series(RANDOM.integers(0, 2**40, n)),
    "nulls": lambda n: pl.Series([None if v < 0.3 else v < 0.6 for v in RANDOM.random(n)], dtype=pl.Boolean),
    "days": lambda n: pl.Series([date(2026, 1, 1 + int(9 * v)) for v in RANDOM.random(n)], dtype=pl.Date),
}


@pytest.mark.parametrize("height", [50, 0, 1, 2, 5_000])
@pytest.mark.parametrize(
    "names",
    [("texts", "zeros", "nulls"), ("bytes",), ("unsigned", "days"), ("far", "wide"), ("wide", "wide"), ("beyond",)],
)
def test_the_order_is_that_of_polars(names, height):
    rows = pl.DataFrame([COLUMNS[name](height).rename(f"{i}") for i, name in enumerate(names)])
    expected = rows.with_row_index("row").sort(rows.columns, maintain_order=True)
    place, first = places(rows)
    distinct = expected.unique(rows.columns, keep="first", maintain_order=True)
    assert first.tolist() == distinct["row"].to_list()
    numbered = distinct.with_columns(row=pl.int_range(pl.len()))
    found = rows.join(numbered, on=rows.columns, nulls_equal=True, maintain_order="left")["row"]
    assert place.tolist() == found.to_list()
    assert ascending(rows[first].drop_nulls())
    assert height < 2 or not ascending(pl.concat([rows, rows]))


@pytest.mark.parametrize("groups", [1, 3, 40_000])
def test_sums_are_right_to_the_last_digits(groups):
    group, value = RANDOM.integers(0, groups, 200_000), RANDOM.choice([0.1, 1e-9, -3e5], 200_000)
    table = pl.DataFrame({"group": group, "sum": value, "count": 3 * group - 7})
    found = summed(table, ["group"])
    expected = table.group_by("group").agg(pl.col("sum"), pl.sum("count")).sort("group")
    assert found.select("group", "count").equals(expected.select("group", "count"))
    for total, parts in zip(found["sum"], expected["sum"], strict=True):
        assert abs(total - math.fsum(parts)) <= 1e-14 * math.fsum(abs(part) for part in parts)


def test_a_sum_of_many_equal_values_does_not_drift():
    table = pl.DataFrame({"group": [0], "sum": [0.1]}).select(pl.all().repeat_by(1_000_000).explode())
    assert abs(summed(table, ["group"])["sum"].item() - 1e5) < 1e-8  # one after the other it is 1.3e-6 off


@pytest.mark.parametrize("length", [3, 30], ids=["inside the view", "in a buffer of the chunk"])
def test_groups_of_text_in_several_chunks(length):
    parts = [["a", "b", "a"], ["b", "c"], [], ["c", None, "a"]]
    chunks = [pl.Series("x", [value and value * length for value in part], pl.String) for part in parts]
    frame = pl.concat([chunk.to_frame() for chunk in chunks], rechunk=False)
    assert frame["x"].n_chunks() > 2
    groups, codes = encode(frame)
    assert groups[codes].equals(frame)
    assert groups.height == 4
