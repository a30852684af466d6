"""Rows in order: as Polars sorts them, equal ones as they come."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from streammetrics.rows.codes import ascending, in_order

RANDOM = np.random.default_rng(0)
COLUMNS = {
    "bytes": lambda n: pl.Series(RANDOM.integers(-3, 3, n), dtype=pl.Int8),
    "unsigned": lambda n: pl.Series(RANDOM.integers(0, 9, n), dtype=pl.UInt64),
    "zeros": lambda n: pl.Series(RANDOM.choice([0.1, -0.0, 0.0, np.inf, -1e300], n), dtype=pl.Float64),
    "texts": lambda n: pl.Series(RANDOM.choice(["b", "a", "a text of more than twelve"], n), dtype=pl.String),
    "far": lambda n: pl.Series(RANDOM.choice([-(2**63), 2**63 - 1, 0], n), dtype=pl.Int64),
    "wide": lambda n: pl.Series(RANDOM.integers(0, 2**40, n)),
    "nulls": lambda n: pl.Series([None if v < 0.3 else v < 0.6 for v in RANDOM.random(n)], dtype=pl.Boolean),
    "days": lambda n: pl.Series([date(2026, 1, 1 + int(9 * v)) for v in RANDOM.random(n)], dtype=pl.Date),
}


@pytest.mark.parametrize("height", [50, 0, 1, 2, 5_000])
@pytest.mark.parametrize(
    "names", [("texts", "zeros", "nulls"), ("bytes",), ("unsigned", "days"), ("far", "wide"), ("wide", "wide")]
)
def test_the_order_is_that_of_polars(names, height):
    rows = pl.DataFrame([COLUMNS[name](height).rename(f"{i}") for i, name in enumerate(names)])
    expected = rows.with_row_index("row").sort(rows.columns, maintain_order=True)
    order, starts = in_order(rows)
    assert order.tolist() == expected["row"].to_list()
    distinct = expected.unique(rows.columns, keep="first", maintain_order=True)
    assert order[starts].tolist() == distinct["row"].to_list()
    assert ascending(rows[order[starts]].drop_nulls())
    assert height < 2 or not ascending(pl.concat([rows, rows]))
