"""A history of states answers like one accumulator of all rows, whatever came when, and however it was compacted."""

import contextlib
import os
import random
import re
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import deltalake
import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from steps import around, rival

import streammetrics as sm
from streammetrics import accumulator
from streammetrics.history import layout, table, versions
from streammetrics.state import storage
from streammetrics.testing.same import require_same

SCORES = {label: label for label in "abc"}
COLUMNS = {"y_true": "y", "y_score": "p", "by": ["day", "country"]}
ERRORS = {"y_true": "amount", "y_pred": "guess", "by": ["day", "country"]}
TASKS = {
    "binary": lambda: sm.binary(capacity=16, **COLUMNS),
    "models": lambda: sm.binary(
        capacity=16, sample_weight="w", unit="h", **COLUMNS | {"y_score": {"a": "p", "b": "q"}}
    ),
    "classes": lambda: sm.multiclass(
        capacity=16, one_vs_one=True, y_true="k", y_score=SCORES, by=["country", "day"], sample_weight="w"
    ),
    "several labels": lambda: sm.multilabel(
        capacity=16, y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}, by=["day", "country"]
    ),
    "regression": lambda: sm.regression(capacity=16, families=["log", "poisson"], sample_weight="w", **ERRORS),
}
DIGEST = lambda: sm.Accumulator(sm.TDigest(compression=10), **ERRORS)  # noqa: E731
COUNTS = lambda: sm.Accumulator(sm.ConfusionCounts(), y_true="y", y_score="p", by=["day", "country"])  # noqa: E731
task = pytest.mark.parametrize("make", [*TASKS.values(), DIGEST], ids=[*TASKS, "digest"])
QUERIES = {
    "all": {},
    "some": {"since": "2026-01-02", "until": date(2026, 1, 4), "by": "country"},
    "windows": {"every": "1d", "by": ["country"]},
    "coarser windows": {"every": "3d"},
    "segments": {"by": ["country", "day"]},
    "one": {"where": pl.col("country") == "DE", "every": "1d"},
    "none": {"since": "2027-01-01", "every": "1d", "by": "country"},
}


def predictions(count, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.random(count), rng.random(count)
    return pl.DataFrame(
        {
            "day": pl.Series([date(2026, 1, d) for d in range(1, 6)]).gather(rng.integers(0, 5, count)),
            "country": pl.Series(["DE", "FR", None]).gather(rng.integers(0, 3, count)),
            "y": rng.random(count) < p,
            "z": rng.random(count) < 0.5,
            "p": p,
            "q": q,
            "w": rng.random(count) + 0.01,
            "h": rng.integers(0, 4, count),
            "amount": rng.gamma(2, 10, count) + 0.01,
            "guess": rng.gamma(2, 10, count) + 0.01,
            "a": p,
            "b": (1 - p) * q,
            "c": (1 - p) * (1 - q),
            "k": pl.Series([*"abc"]).gather(rng.integers(0, 3, count)),
        }
    )


def asked(acc, since=None, until=None, by=(), every=None, where=None, window="day"):
    """The answer that an accumulator of all rows gives."""
    if since is not None:
        acc = acc.filter(pl.col(window) >= pl.lit(str(since)).str.to_date())
    if until is not None:
        acc = acc.filter(pl.col(window) < until)
    if where is not None:
        acc = acc.filter(where)
    by = [by] if isinstance(by, str) else by
    return acc.rollup(*([pl.col(window).dt.truncate(every)] if every else []), *by)


def answers(store):
    """What a store answers, to the last bit."""
    return [store.query(**query).to_bytes() for query in ({"by": "day"}, {"since": "2026-01-02", "every": "3d"})]


def appended(store, make, frames):
    for number, frame in enumerate(frames):
        assert store.append(make().update(frame), batch_id=f"batch {number}")
    return store


@pytest.fixture
def store(tmp_path):
    return sm.MetricStore(str(tmp_path / "store"))


@pytest.mark.thorough
@task
def test_batches_add_up_to_all_rows_and_compaction_changes_no_bit(make, store, monkeypatch):
    for limit in ("GROUPS", "SMALL_GROUPS"):
        monkeypatch.setattr(layout, limit, 9)  # so that windows are taken in several parts
    frames = [predictions(size, seed) for seed, size in enumerate((60, 1, 40))]
    appended(store, make, frames)
    groups = make().roles.group_columns
    assert pl.read_delta(store.uri).select(*groups, "version").is_unique().all()
    before = answers(store)
    store.compact()
    assert answers(store) == before
    assert pl.read_delta(store.uri).select(groups).is_unique().all()
    late = predictions(30, seed=9)
    store.append(make().update(late), batch_id="late")
    after = answers(store)
    assert after != before
    store.compact()
    assert answers(store) == after
    if make is not DIGEST:
        whole = make().update(pl.concat([*frames, late]))
        require_same(store.query(by=whole.roles.by), whole)


@pytest.mark.parametrize("day", [None, date(2026, 1, 31)])
def test_groups_that_came_once_and_several_times_add_up(day, store):
    rows = pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "day": pl.Series([day] * 3, dtype=pl.Date)})
    for batch, countries in enumerate(([None, "DE", "FR"], [None, "DE", "DE"], [None, "IT", "DE"])):
        store.append(COUNTS().update(rows.with_columns(country=pl.Series(countries))), batch_id=f"{batch}")
    found = dict(store.query(by="country").finalize(["rows"]).frame.select("country", "value").iter_rows())
    assert found == {None: 3, "DE": 4, "FR": 1, "IT": 1}


@pytest.mark.parametrize("most", [15, 14, 16, 30])
def test_compaction_changes_no_bit_however_many_groups_come_together(most, store, monkeypatch):
    for limit in ("GROUPS", "SMALL_GROUPS"):
        monkeypatch.setattr(layout, limit, most)
    make = lambda: sm.Accumulator(sm.ErrorMoments(), sample_weight="w", **ERRORS)  # noqa: E731
    appended(store, make, [predictions(200, 0), predictions(200, 1)])  # of 15 groups
    before = [store.query(**query).to_bytes() for query in ({}, {"every": "3d"})]
    store.compact()
    assert [store.query(**query).to_bytes() for query in ({}, {"every": "3d"})] == before


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_questions_are_answered_as_by_one_accumulator_of_all_rows(query, store):
    frames = [predictions(60, seed) for seed in range(3)]
    appended(store, TASKS["binary"], frames)
    require_same(store.query(**query), asked(TASKS["binary"]().update(pl.concat(frames)), **query))


@pytest.mark.thorough
def test_sums_of_many_groups_are_rounded_alike_each_time(store):
    rng = np.random.default_rng(0)
    size = 40_000
    frame = pl.DataFrame({"y": rng.random(size) < 0.3, "p": rng.random(size), "s": rng.integers(0, 400, size)})
    for hour in range(2):
        acc = sm.Accumulator(sm.CalibrationBins(), y_true="y", y_score="p", by=["day", "s"])
        store.append(acc.update(frame.with_columns(day=date(2026, 1, 1))), batch_id=f"{hour}")
    answer = store.query().to_bytes()
    assert all(store.query().to_bytes() == answer for _ in range(8))


def test_a_known_batch_changes_nothing(store):
    make = COUNTS
    appended(store, make, [predictions(20, 0), predictions(20, 1)])
    before = answers(store), store.windows()
    assert not store.append(make().update(predictions(20, 0)), batch_id="batch 0")
    assert not store.append(make().update(predictions(5, 7)), batch_id="batch 1")
    store.compact()
    store.retain("2026-01-05")
    deltalake.DeltaTable(store.uri).create_checkpoint()
    deltalake.DeltaTable(store.uri).cleanup_metadata()
    assert not store.append(make().update(predictions(20, 0)), batch_id="batch 0")
    store.append(make().update(predictions(20, 0)), batch_id="batch 2")
    assert before[0] != answers(store)


@pytest.mark.thorough
def test_the_order_of_batches_makes_no_difference_to_counts(tmp_path):
    frames = [predictions(40, seed) for seed in range(3)]
    make = TASKS["regression"]
    one, other = (
        appended(sm.MetricStore(str(tmp_path / name)), make, order)
        for name, order in (("one", frames), ("other", frames[::-1]))
    )
    require_same(one.query(by=["day", "country"]), other.query(by=["day", "country"]))


def test_an_accumulator_without_rows_adds_nothing(store):
    assert not store.append(COUNTS().update(predictions(0, 0)), batch_id="empty")
    with pytest.raises(sm.StateError, match="No history at"):
        store.query()
    assert store.append(COUNTS().update(predictions(1, 0)), batch_id="empty")


VALUES = {
    "text": ["DE", "a very long text " * 100, "", None],
    "unsigned": pl.Series([0, 2**62, None], dtype=pl.UInt64),
    "small": pl.Series([0, 200, None], dtype=pl.UInt8),
    "category": pl.Series(["x", "y", None], dtype=pl.Categorical),
    "enum": pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])),
    "float": [0.1, -0.0, float("inf"), 1e-310, None],
    "boolean": [True, False, None],
    "date": [date(1, 1, 1), date(9999, 12, 31), None],
    "naive": [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2026, 1, 1, 0, 0, 0, 1), None],
    "nanoseconds": pl.Series([10**18 + 7, None]).cast(pl.Datetime("ns")),
    "zoned": pl.Series([datetime(2026, 3, 29, 1), None]).dt.replace_time_zone("Europe/Berlin"),
    "time": [time(1, 2, 3, 4), None],
    "duration": [timedelta(days=-3, microseconds=1), None],
    "decimal": [Decimal("1.25"), Decimal("-99999999999999999999.99"), None],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_segments_come_back_in_the_types_that_they_had(values, store):
    segment = pl.Series("s", values)
    frame = pl.DataFrame({"y": [1] * len(segment), "day": [date(2026, 1, 1)] * len(segment), "s": segment})
    acc = sm.Accumulator(y_true="y", by=["day", "s"]).update(frame)
    store = sm.MetricStore(store.uri, window="day")
    store.append(acc, batch_id="1")
    assert_frame_equal(store.query(by="s").state.keys, acc.rollup("s").state.keys, check_row_order=False)
    for value in acc.state.keys["s"]:
        chosen = pl.col("s").eq_missing(pl.lit(value, acc.state.keys.schema["s"]))
        assert store.query(where=chosen).seen == 1
    store.append(acc, batch_id="2")
    store.compact()
    require_same(store.query(by="s"), (acc + acc).rollup("s"))
    none = acc.update(frame.with_columns(s=pl.lit(None)))
    assert store.append(none, batch_id="of null, in no type")


WINDOWS = {
    "date": (pl.Series([date(2026, 3, 28), date(2026, 3, 29)]), "2026-03-29"),
    "naive": (pl.Series([datetime(2026, 3, 28, 23), datetime(2026, 3, 29, 0, 0, 0, 1)]), "2026-03-29T00:00:00.000001"),
    "UTC": (pl.Series([datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, tzinfo=UTC)]), "2026-03-29"),
    "Berlin": (
        pl.Series([datetime(2026, 3, 28, 23), datetime(2026, 3, 29)]).dt.replace_time_zone("Europe/Berlin"),
        "2026-03-29",
    ),
    "Berlin, asked in UTC": (
        pl.Series([datetime(2026, 3, 28, 23), datetime(2026, 3, 29)]).dt.replace_time_zone("Europe/Berlin"),
        "2026-03-28T23:00Z",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("windows", "second"), WINDOWS.values(), ids=WINDOWS)
def test_windows_of_every_type(windows, second, store):
    for number, values in enumerate([windows, windows, windows[:1], pl.Series([None], dtype=windows.dtype)]):
        frame = pl.DataFrame({"y": [1] * len(values), "hour": values})
        store.append(sm.Accumulator(y_true="y", by="hour").update(frame), batch_id=f"{number}")
    for _ in range(2):
        assert [store.query(second).seen, store.query(None, second).seen, store.query().seen] == [2, 3, 6]
        assert (
            store.query(by="hour").state.keys.schema["hour"]
            == sm.Accumulator(y_true="y", by="hour").update({"y": [1], "hour": windows[:1]}).state.keys.schema["hour"]
        )
        days = store.query(every="1d").finalize(["rows"]).frame
        assert dict(days.select(pl.col("hour").dt.day(), "value").iter_rows()) == {28: 3, 29: 2, None: 1}
        assert store.windows()["parts"].to_list() in ([1, 3, 2], [1, 1, 1])
        store.compact()
    store.retain(second)
    assert [store.query(second).seen, store.query(None, second).seen, store.query().seen] == [2, 0, 3]


def test_a_date_window_begins_at_midnight(store):
    frame = {"y": [1, 1], "day": [date(2026, 1, 1), date(2026, 1, 2)]}
    store.append(sm.Accumulator(y_true="y", by="day").update(frame), batch_id="1")
    assert store.query(datetime(2026, 1, 1, 0, 0, 1)).seen == 1
    assert store.query(until=datetime(2026, 1, 2, 0, 0, 1)).seen == 2
    assert store.query(until="2026-01-02T00:00").seen == 1


def test_conditions_may_look_at_several_groups(store):
    appended(store, COUNTS, [predictions(50, 0), predictions(50, 1)])
    latest = store.query(where=pl.col("day") == pl.col("day").max())
    assert latest.seen == store.query("2026-01-05").seen > 0


def test_windows_tells_what_is_there(store):
    make = lambda: sm.binary(capacity=16, **COLUMNS | {"y_score": {"a": "p", "b": "q"}})  # noqa: E731
    appended(store, make, [predictions(90, 0), predictions(90, 1)])
    found = store.windows()
    rows = pl.concat([predictions(90, 0), predictions(90, 1)]).group_by("day").len("rows").sort("day")
    assert_frame_equal(found.select("day", "rows"), rows, check_dtypes=False)
    assert found["groups"].to_list() == [6] * 5
    assert found["parts"].to_list() == [12] * 5
    store.compact()
    assert_frame_equal(store.windows(), found.with_columns(parts="groups"))


def test_only_windows_with_several_parts_are_written_again(store):
    frame = predictions(200, 0)
    make = COUNTS
    appended(store, make, [frame, frame.filter(pl.col("day").dt.day() == 2)])
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
    days = pl.Series([*pl.date_range(date(2026, 1, 1), date(2026, 1, 9), eager=True), None]).cast(kind)
    for number, day in enumerate(days):
        frame = pl.DataFrame({"day": pl.Series([day], dtype=kind), "y": [1]})
        store.append(make().update(frame), batch_id=f"{number}")
    before = store.query(by="day").to_bytes()
    assert len(files_of(store)) == 10
    store.compact(vacuum=False)
    (file,) = files_of(store)
    assert store.query(by="day").to_bytes() == before
    store.compact(vacuum=False)
    assert files_of(store) == [file]
    store.append(make().update(frame), batch_id="null, too")
    store.compact(vacuum=False)
    assert [len(files_of(store)), store.query().seen] == [1, 11]


def test_large_files_are_left_alone(store, monkeypatch):
    monkeypatch.setattr(table, "SMALL", 1)
    appended(store, COUNTS, [predictions(9, 0).with_columns(day=date(2026, 1, day)) for day in (1, 2)])
    before = files_of(store)
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
    with pytest.raises(sm.StateError, match="Cannot read the table"):
        store.query()


def test_compacted_files_are_in_the_order_of_windows(store):
    """So that a narrow question reads a few rows of them."""
    rows = pl.DataFrame({"day": pl.date_range(date(2020, 1, 1), date(2021, 12, 31), eager=True), "y": 1})
    frame = rows.join(pl.DataFrame({"s": range(20)}), how="cross")
    for number in range(2):
        store.append(sm.Accumulator(y_true="y", by=["s", "day"]).update(frame), batch_id=f"{number}")
    store.compact()
    files = [pl.read_parquet(path) for path in deltalake.DeltaTable(store.uri).file_uris()]
    assert sum(file.height for file in files) == frame.height
    assert all(file["day"].is_sorted() for file in files)


def test_other_programs_read_the_table(store):
    frames = [predictions(200, seed) for seed in range(3)]
    make = TASKS["binary"]
    appended(store, make, frames)
    store.compact()
    store.append(make().update(frames[0]), batch_id="late")
    expected = pl.concat([*frames, frames[0]]).group_by("country").agg(pl.len(), pl.sum("y")).sort("country")
    histogram = pl.read_delta(store.uri).select("country", "score_histogram").explode("score_histogram")
    cells = (
        histogram.unnest("score_histogram").group_by("country").agg(len=pl.sum("neg") + pl.sum("pos"), y=pl.sum("pos"))
    )
    assert_frame_equal(cells.sort("country"), expected, check_dtypes=False)
    files = deltalake.DeltaTable(store.uri).file_uris()
    rows = duckdb.sql(
        """
        select country, sum(cell.neg + cell.pos)::bigint as len, sum(cell.pos)::bigint as y
        from (select country, unnest(score_histogram) as cell from read_parquet($files)) group by all
        order by country nulls first
        """,
        params={"files": files},
    ).pl()
    assert_frame_equal(rows, expected, check_dtypes=False)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: sm.binary(capacity=16, sample_weight="w", **COLUMNS), "differ in sample_weight"),
        (lambda: sm.binary(capacity=16, **COLUMNS | {"y_true": "z"}), r"differ in y_true: '\w+' and '\w+'\."),
    ],
)
def test_another_specification_is_refused(make, word, store):
    appended(store, TASKS["binary"], [predictions(10, 0)])
    before = answers(store)
    with pytest.raises(sm.MergeError, match=word):
        store.append(make().update(predictions(10, 1)), batch_id="other")
    assert answers(store) == before
    assert store.append(TASKS["binary"]().update(predictions(10, 1)), batch_id="other")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (["a"], [1]),
        ([1], [1.5]),
        ([1], [True]),
        (pl.Series([1], dtype=pl.UInt64), pl.Series([2**63], dtype=pl.UInt64)),
        ([date(2026, 1, 1)], [datetime(2026, 1, 1)]),
    ],
)
def test_a_segment_of_another_type_is_refused_by_name(first, then, store):
    def acc(values):
        return sm.Accumulator(y_true="y", by=["day", "s"]).update({"y": [1], "day": [date(2026, 1, 1)], "s": values})

    store = sm.MetricStore(store.uri, window="day")
    store.append(acc(first), batch_id="1")
    with pytest.raises(sm.ColumnError, match="'s'"):
        store.append(acc(then), batch_id="2")
    assert store.query().seen == 1


def test_whole_floats_are_integers(store):
    for number, values in enumerate(([1, 2], [1.0, 2.0])):
        acc = sm.Accumulator(y_true="y", by=["day", "s"])
        store.append(acc.update({"y": [1, 1], "day": [date(2026, 1, 1)] * 2, "s": values}), batch_id=f"{number}")
    assert store.query(by="s").state.keys["s"].to_list() == [1, 2]


def test_first_batches_that_cannot_be(store):
    def acc(by, **columns):
        return sm.Accumulator(y_true="y", by=by).update({"y": [1], **columns})

    day, other = [date(2026, 1, 1)], [datetime(2026, 1, 1)]
    with pytest.raises(sm.SpecificationError, match=r"The accumulator has none\. Convert dates that are text"):
        store.append(acc("s", s=["a"]), batch_id="1")
    with pytest.raises(sm.SpecificationError, match="Select one of day, other with window="):
        store.append(acc(["day", "other"], day=day, other=other), batch_id="1")
    with pytest.raises(sm.SpecificationError, match="'s' must be a group column of type Date"):
        sm.MetricStore(store.uri, window="s").append(acc(["day", "s"], day=day, s=["a"]), batch_id="1")
    with pytest.raises(sm.SpecificationError, match="the name 'Version'"):
        store.append(acc(["day", "Version"], day=day, Version=[1]), batch_id="1")
    with pytest.raises(sm.SpecificationError, match="the name 's'"):
        store.append(acc(["day", "s", "S"], day=day, s=[1], S=[1]), batch_id="1")
    with pytest.raises(sm.ColumnError, match="type of column 's': all values"):
        store.append(acc(["day", "s"], day=day, s=[None]), batch_id="1")
    for batch_id in ("", None, 7):
        with pytest.raises(sm.SpecificationError, match="batch_id="):
            store.append(acc("day", day=day), batch_id=batch_id)
    assert not Path(store.uri).exists()
    named = sm.MetricStore(store.uri, window="other")
    assert named.append(acc(["day", "other"], day=day, other=other), batch_id="1")
    assert named.query(every="1d").roles.by == ("other",)
    with pytest.raises(sm.SpecificationError, match="The window of the table is 'other', not 'day'"):
        sm.MetricStore(store.uri, window="day").query()


def test_questions_that_cannot_be(store):
    for ask in (store.query, store.windows, store.compact, lambda: store.retain("2026-01-01")):
        with pytest.raises(sm.StateError, match="No history at"):
            ask()
    appended(store, COUNTS, [predictions(10, 0)])
    for arguments, word in (
        ({"since": "yesterday"}, "'yesterday'"),
        ({"until": 7}, "Cannot read 7 as a time"),
        ({"until": datetime.max}, "Cannot read '9999-12-31 23:59:59.999999' as a time: date value out of range"),
        ({"since": "2026-01-01T00:00Z"}, "has a time zone"),
        ({"by": "region"}, "Unknown group column 'region'"),
        ({"by": "day", "every": "1d"}, "Two different columns are named 'day'"),
        ({"every": "sometimes"}, "sometimes|duration"),
        ({"where": pl.col("region") == 1}, "country"),
        ({"where": pl.col("batch_id") == "1"}, "country"),
        ({"where": "country == 'DE'"}, "country"),
    ):
        with pytest.raises(sm.SpecificationError, match=word):
            store.query(**arguments)
    with pytest.raises(sm.SpecificationError, match="'yesterday'"):
        store.retain("yesterday")


def test_a_table_of_something_else_is_refused(tmp_path):
    uri = str(tmp_path / "store")
    deltalake.write_deltalake(uri, pl.DataFrame({"day": [date(2026, 1, 1)]}))
    store = sm.MetricStore(uri)
    for step in (store.query, lambda: store.append(COUNTS().update(predictions(9, 0)), batch_id="1")):
        with pytest.raises(sm.StateError, match="Not a streammetrics history"):
            step()


@pytest.mark.thorough
def test_a_store_goes_on_without_the_fields_that_were_added_after_it_was_made(store, monkeypatch):
    now = accumulator.to_arrow

    def before(saved):
        """As a state was saved when means had no rests, and weights of a digest were floats."""
        table = now(saved)
        frame = pl.DataFrame(pl.from_arrow(table))
        fields = frame.schema["error_moments"].inner.to_schema()
        kept = [name for name in fields if not (name.endswith("_rest") or name.startswith("moment_"))]
        moments = pl.col("error_moments").list.eval(pl.struct(pl.element().struct.field(c) for c in kept))
        weight = pl.element().struct.with_fields(pl.field("weight").cast(pl.Float64))
        frame = frame.with_columns(moments, pl.col("tdigest").list.eval(weight))
        return frame.to_arrow().replace_schema_metadata(table.schema.metadata)

    spec = sm.Accumulator(sm.ErrorMoments(), sm.TDigest(), y_true="amount", y_pred="guess", by="day")
    frames = [predictions(50, seed) for seed in range(3)]
    with monkeypatch.context() as earlier:
        for module in (accumulator, storage):
            earlier.setattr(module, "to_arrow", before)
        assert store.append(spec.empty().update(frames[0]), batch_id="0")
    assert store.append(spec.empty().update(frames[1]), batch_id="1")
    store.compact()
    assert store.append(spec.empty().update(frames[2]), batch_id="2")
    whole = spec.empty().update(pl.concat(frames))
    for _ in range(2):
        found = store.query()
        assert found.seen == whole.seen
        assert float(found.finalize(["r2"])["r2"]) == pytest.approx(
            float(whole.finalize(["r2"]).rollup()["r2"]), rel=1e-12
        )
        store.compact()


def test_a_store_of_weighted_rows_goes_on_without_squared_weights(tmp_path, monkeypatch):
    """Rows of earlier versions have none, and so neither has what is added to them: a report says so."""
    now = accumulator.to_arrow

    def before(saved):
        table = now(saved)
        frame = pl.DataFrame(pl.from_arrow(table))
        nested = {name: kind.inner.to_schema() for name, kind in frame.schema.items() if kind == pl.List}
        fields = {
            name: pl.struct(pl.element().struct.field(c) for c in schema if not c.endswith("_w2"))
            for name, schema in nested.items()
        }
        frame = frame.with_columns(pl.col(name).list.eval(kept) for name, kept in fields.items())
        return frame.to_arrow().replace_schema_metadata(table.schema.metadata)

    spec = sm.binary(y_true="y", y_score="p", sample_weight="w", by="day")
    day = {"y": [0, 1] * 50, "p": [i / 100 for i in range(100)], "w": [0.5, 1.5] * 50}
    store = sm.MetricStore(tmp_path / "weighted")
    with monkeypatch.context() as earlier:
        for module in (accumulator, storage):
            earlier.setattr(module, "to_arrow", before)
        store.append(spec.empty().update(day | {"day": [date(2026, 1, 1)] * 100}), batch_id="0")
    store.append(spec.empty().update(day | {"day": [date(2026, 1, 2)] * 100}), batch_id="1")
    for _ in range(2):
        found = store.query().finalize(confidence=0.95)
        assert found["roc_auc"].ci_lower is None
        assert "the state lacks required sums" in found["roc_auc"].note
        store.compact()


@pytest.mark.parametrize("content", ["é", "abc", "QUJD", ""], ids=["no ASCII", "no base64", "no Arrow", "empty"])
def test_a_table_whose_configuration_cannot_be_read_is_refused(content, tmp_path):
    uri, schema = str(tmp_path / "store"), pl.DataFrame({"day": [date(2026, 1, 1)]}).to_arrow().schema
    configuration = {versions.STATE: content, versions.WINDOW: "day"}
    deltalake.DeltaTable.create(uri, schema, configuration=configuration, raise_if_key_not_exists=False)
    store = sm.MetricStore(uri)
    for step in (store.query, lambda: store.append(TASKS["binary"]().update(predictions(9, 0)), batch_id="1")):
        with pytest.raises(sm.StateError):
            step()


def test_only_accumulators_are_appended(store):
    for thing in (5, None, predictions(9, 0), COUNTS().finalize()):
        with pytest.raises(sm.SpecificationError, match="acc= must be an Accumulator, got"):
            store.append(thing, batch_id="1")


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(sm.StateError, match="file"):
        sm.MetricStore(str(tmp_path / "file")).append(COUNTS().update(predictions(9, 0)), batch_id="1")
    with pytest.raises(sm.StateError, match="nowhere"):
        sm.MetricStore("nowhere://store").query()


@pytest.mark.parametrize("name", ["my history", "Märkte", "a#b*?"])
def test_directories_of_any_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    appended(sm.MetricStore(name), COUNTS, [predictions(99, 0), predictions(50, 1)])
    store = sm.MetricStore(tmp_path / name)
    assert store.query(by="country").seen == store.windows()["rows"].sum() == 149
    store.compact()
    assert store.query(where=pl.col("day") == pl.col("day").max(), every="1d").seen > 0
    store.retain("9999-12-31")
    assert store.windows().is_empty()


@pytest.mark.parametrize("window", ["a day", 'the "day"', "len"])
def test_names_of_any_kind(window, store):
    names = {window: [date(2026, 1, 1), date(2026, 1, 2)], 'so "called"': ["a", None], "version's": [1, 2]}
    acc = sm.Accumulator(y_true="y", by=list(names))
    for number in range(2):
        store.append(acc.empty().update({"y": [1, 0], **names}), batch_id=f"it's {number}")
    before = store.query(every="1d", by='so "called"').to_bytes()
    store.compact()
    assert store.query(every="1d", by='so "called"').to_bytes() == before
    store.retain("2026-01-02")
    assert store.query().seen == 2


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(sm.SpecificationError, match=r"streammetrics\[store\]"):
        sm.MetricStore("anywhere")


class Crash(Exception):
    """The end of a process."""


STEPS = [
    (deltalake, "write_deltalake"),
    (deltalake.DeltaTable, "create"),
    (deltalake.DeltaTable, "delete"),
    (deltalake.DeltaTable, "vacuum"),
]
COMMITS = [STEPS[0], *STEPS[2:]]  # of a table that exists


@contextlib.contextmanager
def crash(uri, moment):
    """End before or after one of the next steps that write; half-written files stay."""
    passed = iter(range(1000))

    def before():
        if next(passed) == moment:
            pl.DataFrame({"x": [1]}).write_parquet(Path(uri, f"part-{random.random()}.parquet"), mkdir=True)
            raise Crash

    def after():
        if next(passed) == moment:
            raise Crash

    with around(STEPS, before, after), contextlib.suppress(Crash):
        yield


def require_versions(store):
    """Each row that one batch brought says in which commit."""
    table = deltalake.DeltaTable(store.uri)
    appended = pl.read_delta(store.uri).drop_nulls("batch_id").select("batch_id", "version").unique()
    brought = {name: table.transaction_version(name) for name in appended["batch_id"]}
    assert dict(appended.iter_rows()) == brought
    for version in range(1, table.version() + 1):
        commit = Path(store.uri, "_delta_log", f"{version:020}.json").read_text()
        assert [n for n, found in brought.items() if found == version] == re.findall(r'"appId":"(.*?)"', commit)


def test_rows_say_which_commit_brought_them(store):
    make = COUNTS
    appended(store, make, [predictions(20, 0), predictions(20, 1)])
    require_versions(store)
    theirs = make().update(predictions(20, 2))
    with rival(lambda: store.append(theirs, batch_id="theirs"), *COMMITS):
        store.append(make().update(predictions(20, 3)), batch_id="ours")
    assert pl.read_delta(store.uri).group_by("batch_id").agg(pl.max("version")).sort("version").rows() == [
        ("batch 0", 1),
        ("batch 1", 2),
        ("theirs", 3),
        ("ours", 4),
    ]
    require_versions(store)


@pytest.mark.parametrize("other", ["compact", "replace", "retain"])
@pytest.mark.parametrize("days", [(1, 1), (1, 2)], ids=["groups of several rows", "small files"])
def test_rows_are_there_once_if_others_compact_or_drop_them_meanwhile(days, other, store):
    make = lambda day: COUNTS().update(predictions(9, 0).with_columns(day=date(2026, 1, day)))  # noqa: E731
    for number, day in enumerate([*days, 3]):
        store.append(make(day), batch_id=f"{number}")
    others = {
        "compact": store.compact,
        "replace": lambda: store.replace(COUNTS(), window="2026-01-03", batch_id="nothing"),
        "retain": lambda: store.retain("2026-01-02"),
    }
    store._retire_batches()  # so that the next commit is that of the compaction
    with rival(others[other], *COMMITS):
        store.compact()
    left = {"compact": {1, 2, 3}, "replace": {1, 2}, "retain": {2, 3}}[other]
    kept = [make(day) for day in [*days, 3] if day in left]
    require_same(store.query(by=["day", "country"]), sm.merge(kept))
    assert store.query().seen == 9 * len(kept)


@pytest.mark.parametrize("step", ["compact", "retain"])
@pytest.mark.parametrize("first", ["append", "step"])
def test_what_is_appended_meanwhile_is_neither_lost_nor_doubled(step, first, store):
    make = TASKS["regression"]
    frames = [predictions(40, seed) for seed in range(3)]
    appended(store, make, frames[:2])
    steps = {
        "append": lambda: store.append(make().update(frames[2]), batch_id="late"),
        "step": {"compact": store.compact, "retain": lambda: store.retain("2026-01-03")}[step],
    }
    kept = pl.col("day") >= date(2026, 1, 3 if step == "retain" else 1)
    rest = pl.concat([*(frame.filter(kept) for frame in frames[:2]), frames[2]])  # late rows are none of those dropped
    (second,) = steps.keys() - {first}
    store._retire_batches()  # so that the next commit is that of the step
    with rival(steps[second], *COMMITS):
        steps[first]()
    require_same(store.query(by=["day", "country"]), make().update(rest))
    assert store.query().seen == rest.height
    late = pl.read_delta(store.uri).filter(batch_id="late")
    assert late["version"].unique().to_list() == [deltalake.DeltaTable(store.uri).transaction_version("late")]


class Tried:
    """A store, and beside it the batches that it should hold."""

    def __init__(self, uri, seed):
        self.uri, self.rng = uri, random.Random(seed)
        self.frames, self.names = {}, map(str, range(1000))

    @property
    def store(self):
        """Opened anew each time."""
        return sm.MetricStore(self.uri)

    def batch(self):
        frame = predictions(self.rng.choice([1, 20, 60]), self.rng.randrange(10**6))
        return frame, TASKS["regression"]().update(frame)

    def append(self):
        name, (frame, acc) = next(self.names), self.batch()
        assert self.store.append(acc, batch_id=name)
        self.frames[name] = frame

    def append_again(self):
        assert not self.store.append(self.batch()[1], batch_id=self.rng.choice([*self.frames]))

    def compact(self):
        before = answers(self.store)
        self.store.compact(vacuum=self.rng.random() < 0.3)
        assert answers(self.store) == before

    def retain(self):
        day, before = date(2026, 1, self.rng.choice([1, 2, 3])), dict(self.frames)
        self.store.retain(day, vacuum=self.rng.random() < 0.3)
        self.frames |= {name: frame.filter(pl.col("day") >= day) for name, frame in before.items()}

    def crash_while_appending(self):
        name, (frame, acc), moment = next(self.names), self.batch(), self.rng.randrange(4)
        with crash(self.uri, moment):
            self.store.append(acc, batch_id=name)
        assert self.store.append(acc, batch_id=name) == (moment == 0 or not self.frames)
        self.frames[name] = frame

    def crash_while_compacting(self):
        before = answers(self.store)
        with crash(self.uri, self.rng.randrange(6)):
            self.store.compact()
        assert answers(self.store) == before

    def race(self):
        """One writer comes between what another has read and what it writes."""
        steps = [self.append, self.append, self.append_again, lambda: self.store.compact(vacuum=False), self.retain]
        first, second = self.rng.sample(steps, 2)
        self.store._retire_batches()  # so that the next commit is that of the step
        with rival(second, *COMMITS):
            first()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
def test_any_interleaving_answers_like_one_evaluation(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "GROUPS", 9)
    monkeypatch.setattr(table, "PAUSE", 0.001)
    tried = Tried(str(tmp_path / "store"), seed)
    actions = [tried.append] * 2 + [tried.append_again, tried.compact, tried.retain, tried.race, tried.race, tried.race]
    actions += [tried.crash_while_appending, tried.crash_while_compacting]
    tried.append()
    for action in tried.rng.choices(actions, k=9):
        action()
        whole = TASKS["regression"]().update(pl.concat(tried.frames.values()))
        require_same(tried.store.query(by=["day", "country"]), whole)
        assert pl.read_delta(tried.uri).select("day", "country", "version").is_unique().all()
    require_same(tried.store.query("2026-01-03", every="1w"), asked(whole, since="2026-01-03", every="1w"))


def test_a_crash_before_the_first_batch_leaves_nothing_of_it(store):
    acc = COUNTS().update(predictions(9, 0))
    for moment, made in (
        (0, False),
        (1, True),
        (0, True),
    ):  # before and after a table is made; before the batch is there
        with crash(store.uri, moment):
            store.append(acc, batch_id="1")
        assert deltalake.DeltaTable.is_deltatable(store.uri) == made
    assert store.query().seen == 0
    assert store.append(acc, batch_id="1")
    assert store.query().seen == 9


def test_two_that_make_the_table_at_once(store, monkeypatch):
    acc = COUNTS().update(predictions(9, 0))
    find = table.Table.find
    rivals = iter([lambda: store.append(acc, batch_id="theirs")])

    def late(self):
        found = find(self)
        next(rivals, lambda: None)()
        return found

    monkeypatch.setattr(table.Table, "find", late)
    assert store.append(acc, batch_id="ours")
    assert store.query().seen == 18


@pytest.mark.parametrize("every", ["x", "0d", "-1d", "", "weekly", 7, "1d12h", "9" * 30 + "d", "9223372036854775807d"])
def test_windows_of_no_length(store, every):
    appended(store, COUNTS, [predictions(20, 0)])
    with pytest.raises(sm.SpecificationError, match=r"as a duration|must be a duration|is too long"):
        store.query(every=every)


NIGHT = pl.Series([datetime(2026, 3, 28, 22), datetime(2026, 3, 28, 23), datetime(2026, 3, 29, 1)])


def of_hours(hours, name="hour"):
    return sm.Accumulator(y_true="y", by=[name, "s"]).update({"y": [1] * len(hours), name: hours, "s": [*"aba"]})


@pytest.mark.parametrize(
    ("first", "late"),
    [("UTC", "Europe/Berlin"), ("Europe/Berlin", "Asia/Kolkata"), ("Asia/Kolkata", "UTC"), ("Asia/Kolkata",) * 2],
)
def test_equal_instants_of_any_time_zone_are_equal_windows(first, late, store):
    hours = NIGHT.dt.replace_time_zone("UTC")
    store.append(of_hours(hours.dt.convert_time_zone(first)), batch_id="1")
    alone = store.query(by=["hour", "s"])
    store.append(of_hours(hours.dt.convert_time_zone(late)), batch_id="2")
    require_same(store.query(by=["hour", "s"]), alone + alone)
    assert store.windows()["rows"].to_list() == [2, 2, 2]
    assert store.windows()["hour"].dtype == pl.Datetime("us", first)
    days = store.query(every="1d").finalize(["rows"]).frame["value"].to_list()
    assert days == {"UTC": [4, 2], "Europe/Berlin": [2, 4], "Asia/Kolkata": [6]}[first]
    store.compact()
    require_same(store.query(by=["hour", "s"]), alone + alone)
    assert store.query("2026-03-28T23:00Z", "2026-03-29T00:00Z").seen == 2


def test_times_with_and_without_a_time_zone_do_not_mix(tmp_path):
    values = {"date": NIGHT.dt.date(), "naive": NIGHT, "UTC": NIGHT.dt.replace_time_zone("UTC")}
    for one, first in values.items():
        store = sm.MetricStore(tmp_path / one)
        store.append(of_hours(first), batch_id="1")
        for other in values.keys() - {one}:
            with pytest.raises(sm.ColumnError, match=r"Column 'hour' must be .* as in the store") as caught:
                store.append(of_hours(values[other]), batch_id="2")
            advice = eval(re.search(r"Use (.*)\.$", str(caught.value))[1], {"pl": pl})
            frame = pl.DataFrame({"hour": values[other]}).select(advice)
            assert store.append(of_hours(frame["hour"]), batch_id=other)
        assert store.query().seen == 9


BEYOND = "out of the range of|outside the years 1 to 9999"
FAR = {
    "year 12000": pl.Series([3_663_508], dtype=pl.Int32).cast(pl.Date),
    "before year 1": pl.Series([-719_163], dtype=pl.Int32).cast(pl.Date),
    "time": pl.Series([253_402_300_800_000_000]).cast(pl.Datetime("us")),
    "zoned": pl.Series([253_402_300_799_000_000]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Kolkata"),
}


@pytest.mark.parametrize("role", ["window", "segment"])
@pytest.mark.parametrize("time", FAR.values(), ids=FAR)
def test_dates_that_no_question_could_name_are_refused(time, role, store):
    columns = {"window": {"when": time}, "segment": {"day": [date(2026, 1, 1)], "when": time}}[role]
    store = sm.MetricStore(store.uri, window=next(iter(columns)))
    acc = sm.Accumulator(y_true="y", by=[*columns])
    with pytest.raises(sm.DataError, match=BEYOND):
        store.append(acc.empty().update({"y": [1], **columns}), batch_id="1")
    assert not Path(store.uri).exists()
    near = pl.select(pl.lit(datetime(2026, 1, 1)).cast(time.dtype)).to_series()
    assert store.append(acc.empty().update({"y": [1], **columns, "when": near}), batch_id="1")
    with pytest.raises(sm.DataError, match=f"olumn 'when' (has|contains) .*({BEYOND})"):
        store.append(acc.empty().update({"y": [1], **columns}), batch_id="2")
    assert store.query().seen == 1
    store.compact()
