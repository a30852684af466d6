"""A history of states answers like one accumulator of all rows, whatever came when, and however it was compacted."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import deltalake
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from stores import COLUMNS, COUNTS, ERRORS, NIGHT, TASKS, answers, appended, asked, of_hours, predictions

import streammetrics as sm
from streammetrics.testing.laws import require_same

DIGEST = lambda: sm.Accumulator(sm.statistics.TDigest(compression=10), **ERRORS)  # noqa: E731


QUERIES = (
    {},
    {"since": "2026-01-02", "until": date(2026, 1, 4), "by": "country"},
    {"every": "1d", "by": ["country"]},
    {"every": "3d"},
    {"by": ["country", "day"]},
    {"where": pl.col("country") == "DE", "every": "1d"},
    {"since": "2027-01-01", "every": "1d", "by": "country"},
)


@pytest.mark.thorough
@pytest.mark.parametrize("make", [TASKS["models"], TASKS["classes"], TASKS["regression"], DIGEST])
def test_batches_add_up_to_all_rows_and_compaction_changes_no_bit(make, store, monkeypatch):
    for limit in ("GROUPS", "SMALL_GROUPS"):  # so that windows are taken in several parts
        monkeypatch.setattr(f"streammetrics.monitor.history.specification.{limit}", 9)
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


def test_questions_are_answered_as_by_one_accumulator_of_all_rows(store):
    frames = [predictions(60, seed) for seed in range(3)]
    appended(store, TASKS["binary"], frames)
    for query in QUERIES:
        require_same(store.query(**query), asked(TASKS["binary"]().update(pl.concat(frames)), **query))
    midnight, later = datetime(2026, 1, 2), datetime(2026, 1, 2, 0, 0, 1)
    assert store.query(midnight).seen == store.query("2026-01-02").seen > store.query(later).seen
    assert (
        store.query(until=midnight).seen == store.query(until="2026-01-02T00:00").seen < store.query(until=later).seen
    )


@pytest.mark.thorough
def test_sums_of_many_groups_are_rounded_alike_each_time(store):
    rng = np.random.default_rng(0)
    size = 40_000
    frame = pl.DataFrame({"y": rng.random(size) < 0.3, "p": rng.random(size), "s": rng.integers(0, 400, size)})
    for hour in range(2):
        acc = sm.Accumulator(sm.statistics.CalibrationBins(), y_true="y", y_score="p", by=["day", "s"])
        store.append(acc.update(frame.with_columns(day=date(2026, 1, 1))), batch_id=f"{hour}")
    answer = store.query().to_bytes()
    assert all(store.query().to_bytes() == answer for _ in range(8))


def test_the_table_is_known_by_its_own_entries(store):
    appended(store, COUNTS, [predictions(5, 0)])
    configuration = deltalake.DeltaTable(store.uri).metadata().configuration
    own = {name for name in configuration if name.startswith("streammetrics.")}
    assert own == {"streammetrics.state", "streammetrics.window"}


def test_a_known_batch_stays_known_whatever_is_deleted(store):
    appended(store, COUNTS, [predictions(20, 0), predictions(20, 1)])
    store.compact()
    store.retain("2026-01-05")
    deltalake.DeltaTable(store.uri).create_checkpoint()
    deltalake.DeltaTable(store.uri).cleanup_metadata()
    before = answers(store)
    assert not store.append(COUNTS().update(predictions(5, 7)), batch_id="batch 0")
    assert answers(store) == before
    assert store.append(COUNTS().update(predictions(20, 0)), batch_id="batch 2")
    assert answers(store) != before


def test_an_accumulator_without_rows_adds_nothing(store):
    assert not store.append(COUNTS().update(predictions(0, 0)), batch_id="empty")
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


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("zone", "second"),
    [
        ("date", "2026-03-29"),
        (None, "2026-03-29T00:00:00.000000"),
        ("UTC", "2026-03-29"),
        ("Europe/Berlin", "2026-03-29"),
        ("Europe/Berlin", "2026-03-28T23:00Z"),
    ],
)
def test_windows_of_every_type(zone, second, store):
    windows = pl.Series([datetime(2026, 3, 28, 23), datetime(2026, 3, 29)])
    windows = windows.dt.date() if zone == "date" else windows.dt.replace_time_zone(zone)
    task = sm.Accumulator(y_true="y", by="hour")
    for number, values in enumerate([windows, windows, windows[:1], pl.Series([None], dtype=windows.dtype)]):
        frame = pl.DataFrame({"y": [1] * len(values), "hour": values})
        store.append(task.empty().update(frame), batch_id=f"{number}")
    for _ in range(2):
        assert [store.query(second).seen, store.query(None, second).seen, store.query().seen] == [2, 3, 6]
        assert store.query(by="hour").state.keys.schema["hour"] == windows.dtype
        days = store.query(every="1d").finalize(["rows"]).frame
        assert dict(days.select(pl.col("hour").dt.day(), "value").iter_rows()) == {28: 3, 29: 2, None: 1}
        assert store.windows()["parts"].to_list() in ([1, 3, 2], [1, 1, 1])
        store.compact()
    store.retain(second)
    assert [store.query(second).seen, store.query(None, second).seen, store.query().seen] == [2, 0, 3]


def test_windows_tells_what_is_there(store):
    make = lambda: sm.binary(capacity=16, **COLUMNS | {"y_score": {"a": "p", "b": "q"}})  # noqa: E731
    frames = [predictions(90, 0), predictions(90, 1)]
    appended(store, make, frames)
    found = store.windows()
    rows = pl.concat(frames).group_by("day").len("rows").sort("day")
    assert_frame_equal(found.select("day", "rows"), rows, check_dtypes=False)
    assert found.select("groups", "parts").rows() == [(6, 12)] * 5
    store.compact()
    assert_frame_equal(store.windows(), found.with_columns(parts="groups"))
    latest = store.query(where=pl.col("day") == pl.col("day").max())
    assert latest.seen == store.query("2026-01-05").seen > 0


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
