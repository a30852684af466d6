"""Compaction, files, and what other programs read of them."""

import os
from datetime import date
from pathlib import Path

import deltalake
import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from stores import COUNTS, ERRORS, TASKS, answers, appended, predictions

import streammetrics as sm


@pytest.mark.parametrize("most", [15, 14, 16, 30])
def test_compaction_changes_no_bit_however_many_groups_come_together(most, store, monkeypatch):
    for limit in ("GROUPS", "SMALL_GROUPS"):
        monkeypatch.setattr(f"streammetrics.monitor.history.specification.{limit}", most)
    make = lambda: sm.Accumulator(sm.statistics.ErrorMoments(), sample_weight="w", **ERRORS)  # noqa: E731
    appended(store, make, [predictions(200, 0), predictions(200, 1)])  # of 15 groups
    before = [store.query(**query).to_bytes() for query in ({}, {"every": "3d"})]
    store.compact()
    assert [store.query(**query).to_bytes() for query in ({}, {"every": "3d"})] == before


def test_only_windows_with_several_parts_are_written_again(store):
    frame = predictions(200, 0)
    appended(store, COUNTS, [frame, frame.filter(pl.col("day").dt.day() == 2)])
    store.compact()
    parts = pl.read_delta(store.uri).group_by("day").agg(pl.col("batch_id").is_null().all()).sort("day")
    assert parts["batch_id"].to_list() == [False, True, False, False, False]
    version = deltalake.DeltaTable(store.uri).version()
    store.compact(vacuum=False)
    assert deltalake.DeltaTable(store.uri).version() == version


def files_of(store):
    return deltalake.DeltaTable(store.uri).file_uris()


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Datetime("ms", "Asia/Tokyo")])
def test_small_files_are_merged_once(kind, store):
    make = lambda: sm.Accumulator(y_true="y", by="day")  # noqa: E731
    days = pl.Series([date(2026, 1, 1), date(2026, 1, 9), None]).cast(kind)
    frames = [pl.DataFrame({"day": days[n : n + 1], "y": [1]}) for n in (0, 1, 2)]
    appended(store, make, frames)
    before = store.query(by="day").to_bytes()
    assert len(files_of(store)) == 3
    for _ in range(2):
        store.compact(vacuum=False)
        assert store.query(by="day").to_bytes() == before
        (file,) = files_of(store)
    store.append(make().update(frames[2]), batch_id="null, too")
    store.compact(vacuum=False)
    assert files_of(store) != [file]
    assert [len(files_of(store)), store.query().seen] == [1, 4]


def test_large_files_are_left_alone(store, monkeypatch):
    appended(store, COUNTS, [predictions(9, 0).with_columns(day=date(2026, 1, day)) for day in (1, 2)])
    before = files_of(store)
    monkeypatch.setattr("streammetrics.monitor.history.table.SMALL", 1)
    store.compact(vacuum=False)
    assert files_of(store) == before


def test_files_that_are_needed_or_new_are_not_deleted(store):
    appended(store, COUNTS, [predictions(50, 0), predictions(50, 1)])
    new = Path(store.uri, "part-00000-of-another-writer.parquet")
    old = Path(store.uri, "part-00000-of-a-crash.parquet")
    for path in (new, old):
        pl.DataFrame({"x": [1]}).write_parquet(path)
    os.utime(old, (0, 0))
    before = answers(store)
    store.compact()
    assert new.exists()
    assert not old.exists()
    assert answers(store) == before
    again = pl.read_delta(store.uri, version=2)
    assert again.select(pl.col("row_counts").list.first().struct.field("rows").sum()).item() == 100


def test_files_are_skipped_by_the_window(store):
    for day in range(1, 6):
        frame = predictions(30, day).with_columns(day=pl.lit(date(2026, 2, day)))
        store.append(COUNTS().update(frame), batch_id=f"{day}")
    for path in deltalake.DeltaTable(store.uri).file_uris(file_pruning_predicate="day < '2026-02-03'"):
        Path(path).unlink()
    assert store.query("2026-02-03").seen == 90
    with pytest.raises(sm.errors.StateError, match="Cannot read the table"):
        store.query()


def test_compacted_files_are_in_the_order_of_windows(store):
    """So that a narrow question reads a few rows of them."""
    days = pl.DataFrame({"day": pl.date_range(date(2020, 1, 1), date(2020, 4, 30), eager=True), "y": 1})
    frame = days.join(pl.DataFrame({"s": range(20)}), how="cross")
    for number in range(2):
        store.append(sm.Accumulator(y_true="y", by=["s", "day"]).update(frame), batch_id=f"{number}")
    store.compact()
    files = [pl.read_parquet(path) for path in files_of(store)]
    assert sum(file.height for file in files) == frame.height
    assert all(file["day"].is_sorted() for file in files)


def test_other_programs_read_the_table(store):
    """Whose cells add up to the rows."""
    frames = [predictions(200, seed) for seed in range(3)]
    appended(store, TASKS["binary"], frames)
    expected = pl.concat(frames).group_by("country").agg(pl.len(), pl.sum("y")).sort("country")
    rows = duckdb.sql(
        """
        select country, sum(cell.neg + cell.pos)::bigint as len, sum(cell.pos)::bigint as y
        from (select country, unnest(score_histogram) as cell from read_parquet($files)) group by all
        order by country nulls first
        """,
        params={"files": files_of(store)},
    ).pl()
    assert_frame_equal(rows, expected, check_dtypes=False)
