"""Files of one source whose types differ, which are read together as batches are."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import permutations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from files import PAIR, put, task

import streammetrics as sm

pytestmark = pytest.mark.usefixtures("folder")

TIMES = [datetime(2026, 1, 1, 3), datetime(2026, 1, 2)]
CENTS = [Decimal("1.50"), Decimal(2)]
ALIKE = {
    "units": [pl.Series(TIMES, dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")],
    "durations": [pl.Series([timedelta(1)] * 2, dtype=pl.Duration(unit)) for unit in ("ms", "us", "ns")],
    "scales": [pl.Series(CENTS, dtype=pl.Decimal(10, 2)), pl.Series(CENTS, dtype=pl.Decimal(12, 3))],
    "dictionaries": [pl.Series(["a", "b"], dtype=dtype) for dtype in (pl.Categorical, pl.String, pl.Enum(["a", "b"]))],
    "categories": [pl.Series(["a", c], dtype=pl.Enum(["a", c])) for c in "bc"],
    "integers": [pl.Series([1, 2], dtype=dtype) for dtype in (pl.Int32, pl.Int64, pl.UInt8)],
    "numbers": [pl.Series([1, 2], dtype=pl.Int64), pl.Series([1.0, 2.5])],
    "floats": [pl.Series([0.1, 2.5], dtype=dtype) for dtype in (pl.Float32, pl.Float64)],
    "nulls": [pl.Series([None, None], dtype=dtype) for dtype in (pl.Float64, pl.Null, pl.Date)]
    + [pl.Series(["a", "b"])],
}


def rows(groups):
    return pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1], "other": [1, 2]}).with_columns(g=pl.Series(groups))


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_are_read_together_as_batches_are(kind, suffix):
    batches = [rows(groups) for groups in ALIKE[kind]]
    wanted = sm.accumulate(batches, task(by="g"))
    for order in (batches, batches[::-1]):
        others = [frame.with_columns(other=pl.Series([i, i] if i else ["a", "b"])) for i, frame in enumerate(order)]
        paths = [put(f"{i}.{suffix}", frame) for i, frame in enumerate(others)]
        assert sm.accumulate(paths, task(by="g")).to_bytes() == wanted.to_bytes()
        known = pl.col("g").is_not_null().alias("known")
        assert sm.evaluate(paths, task(by=known)).rollup()["rows"].value == 2 * len(batches)


@pytest.mark.parametrize(
    "frames",
    [
        [{"p": [1, 0]}, {"p": [0.5, 0.1]}],
        [{"g": [None, None]}, {"g": ["a", "b"]}],
        [{"g": [None, None]}, {"g": [1, 2]}, {"g": [1.5, 2.0]}],
    ],
)
def test_types_of_ndjson_files_are_those_of_each_file(frames):
    for order in permutations(frames):
        paths = [
            put(f"{i}.ndjson", rows(["a", "b"]).with_columns(pl.DataFrame(cells))) for i, cells in enumerate(order)
        ]
        assert sm.evaluate(paths, task(by="g" if "g" in order[0] else ())).rollup()["rows"].value == 2 * len(frames)


@pytest.mark.parametrize("column", ["p", "y"])
@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_booleans_of_one_text_file_are_no_numbers_of_another(suffix, column):
    for order in permutations([[1, 0], [True, True]]):
        for i, values in enumerate(order):
            frame = rows(["a", "b"]).with_columns(pl.Series(column, values))
            put(f"{i}.{suffix}", frame)
        with pytest.raises(
            sm.errors.SourceError, match=rf"{column!r} has a .* at row 0 \(line .\) of 1\.{suffix}, and a .* in"
        ):
            sm.evaluate([f"0.{suffix}", f"1.{suffix}"], task())


def test_dates_of_64_bits_are_dates():
    days = [date(2026, 1, 1)] * 2
    batch = pa.table({"y": [1, 0], "p": [0.9, 0.1], "g": pa.array(days, pa.date64())})
    with pa.OSFile("1.arrow", "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_table(batch)
    put("2.arrow", rows(days))
    pq.write_table(batch, "1.parquet")
    pq.write_table(batch.set_column(2, "g", batch["g"].dictionary_encode()), "2.parquet")
    put("3.parquet", rows(days))
    parquet = [list(order) for order in permutations(["1.parquet", "2.parquet", "3.parquet"])]
    for source in (["1.arrow", "2.arrow"], ["2.arrow", "1.arrow"], *parquet, [batch, rows(days)]):
        assert sm.evaluate(source, task(by="g")).frame["g"].to_list() == [date(2026, 1, 1)]


def test_scores_keep_the_type_of_their_file():
    put("1.parquet", rows(["a", "b"]).with_columns(p=pl.Series([0.7, 0.1], dtype=pl.Float32)))
    put("2.parquet", rows(["a", "b"]).with_columns(p=pl.Series([0.7, 0.1])))
    acc = sm.binary(y_true="y", y_score="p", thresholds=0.7)
    assert sm.evaluate(["1.parquet", "2.parquet"], acc)["recall"].value == 1


def test_folders_have_one_type_in_files_of_other_types():
    for shop, groups in (("007", [1, 2]), ("7", [1.5, 2.0])):
        put(f"shop={shop}/1.parquet", rows(groups))
    found = sm.evaluate("shop=*/*.parquet", task(by=["g", "shop"])).frame
    assert set(found["shop"]) == {"007", "7"}


def test_parquet_files_of_other_libraries_are_read_together():
    for i, kind in enumerate([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]):
        pq.write_table(pa.table({"y": [1, 0], "p": [0.9, 0.1], "g": pa.array(["a", "b"], kind)}), f"{i}.parquet")
    assert sm.evaluate("*.parquet", task(by="g")).get("rows", g="a").value == 3


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "ndjson"])
def test_columns_that_are_not_in_use_can_be_missing_or_of_any_type(suffix):
    others = [
        PAIR,
        PAIR.with_columns(c=1),
        PAIR.with_columns(c=pl.lit("a")),
        PAIR.select(pl.lit(1).alias("z"), "p", "y"),
    ]
    for first, second in permutations(others, 2):
        assert sm.evaluate([put(f"{1}.{suffix}", first), put(f"{2}.{suffix}", second)], task())["rows"].value == 4
