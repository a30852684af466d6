"""Numbers of groups and rows in order, of columns of any type: as Polars sorts them, equal ones as they come."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streammetrics.data.rows.codes import ascending, encode, number
from streammetrics.statistics.merging import places, summed

SORTED = {  # types of groups, whose order is that of Polars
    pl.Int8: [-128, 0, 1, 2],
    pl.Int64: [-(2**63), 2**40, 0, 1, 2, 2**63 - 1],
    pl.UInt64: [0, 9, 2**63, 2**64 - 1],
    pl.Float64: [0.1, -0.0, 0.0, math.inf, -1e300],
    pl.String: ["", "a", "b", "ä", "twelve bytes", "a text of more than twelve bytes", "a text of more than twelve"],
    pl.Boolean: [False, True],
    pl.Date: [date(2026, 1, 1), date(1, 1, 1), date(2026, 1, 2)],
}
OTHERS = {
    pl.Binary: [b"", b"\x00", b"\x00\x00", b"more than twelve bytes of it"],
    pl.Decimal(9, 2): [Decimal("1.10"), Decimal("-3")],
    pl.Datetime: [datetime(2026, 1, 1), datetime(2026, 1, 1, 5)],
    pl.Time: [time(5), time(6)],
    pl.Duration: [timedelta(1), timedelta(-1)],
    pl.Categorical: ["b", "a", "c"],
    pl.Enum(["a", "b", "c"]): ["c", "a"],
    pl.Float32: [0.1, 0.5],
    pl.Float16: [0.1, 0.5],
}


@st.composite
def frames(draw, types):
    """Up to three columns, with nulls, a part of larger chunks, and sometimes many rows."""
    height = draw(st.integers(0, 20))
    columns = []
    for kind in draw(st.lists(st.sampled_from(list(types)), min_size=1, max_size=3)):
        of_rows = st.lists(st.sampled_from([None, *types[kind]]), min_size=height, max_size=height)
        columns.append(pl.Series(f"{len(columns)}", draw(of_rows), dtype=kind))
    frame = pl.DataFrame(columns)
    parts = [frame[draw(st.integers(0, 3)) :]] * draw(st.sampled_from([1, 3, 250]))
    return pl.concat(parts, rechunk=draw(st.booleans()))


@settings(max_examples=25)
@given(frames(SORTED | OTHERS))
def test_rows_of_one_number_are_equal(frame):
    distinct, codes = encode(frame)
    assert distinct.height == distinct.n_unique() == frame.n_unique()
    assert distinct[codes].equals(frame)
    for column in frame:
        codes, first = number(column)
        assert column.gather(first).gather(codes).equals(column, null_equal=True)


@settings(max_examples=25)
@given(frames(SORTED))
def test_the_order_is_that_of_polars(rows):
    expected = rows.with_row_index("row").sort(rows.columns, maintain_order=True)
    place, first = places(rows)
    distinct = expected.unique(rows.columns, keep="first", maintain_order=True)
    assert first.tolist() == distinct["row"].to_list()
    numbered = distinct.with_columns(row=pl.int_range(pl.len()))
    found = rows.join(numbered, on=rows.columns, nulls_equal=True, maintain_order="left")["row"]
    assert place.tolist() == found.to_list()
    assert ascending(rows[first].drop_nulls())
    assert rows.height < 2 or not ascending(pl.concat([rows, rows]))


@pytest.mark.parametrize("groups", [3, 1, 40_000])
def test_sums_are_right_to_the_last_digits(groups):
    random = np.random.default_rng(0)
    group, value = random.integers(0, groups, 200_000), random.choice([0.1, 1e-9, -3e5], 200_000)
    table = pl.DataFrame({"group": group, "sum": value, "count": 3 * group - 7})
    found = summed(table, ["group"])
    expected = table.group_by("group").agg(pl.col("sum"), pl.sum("count")).sort("group")
    assert found.select("group", "count").equals(expected.select("group", "count"))
    for total, parts in zip(found["sum"], expected["sum"], strict=True):
        assert abs(total - math.fsum(parts)) <= 1e-14 * math.fsum(abs(part) for part in parts)


def test_a_sum_of_many_equal_values_does_not_drift():
    table = pl.DataFrame({"group": [0], "sum": [0.1]}).select(pl.all().repeat_by(1_000_000).explode())
    assert abs(summed(table, ["group"])["sum"].item() - 1e5) < 1e-8  # one after the other it is 1.3e-6 off
