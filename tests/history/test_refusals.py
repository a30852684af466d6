"""What a history refuses, and tables that are none of its own."""

import re
import sys
from datetime import date, datetime
from pathlib import Path

import deltalake
import polars as pl
import pytest
from stores import COUNTS, NIGHT, appended, of_hours, predictions

import streammetrics as sm


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


def test_the_first_append_needs_a_group_column(tmp_path):
    for number, options in enumerate(({}, {"window": "day"})):
        acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.9, 0.2]})
        for some in (acc, acc.empty()):
            with pytest.raises(
                sm.SpecificationError, match=r"requires a window, .* The accumulator has no group columns"
            ):
                sm.MetricStore(tmp_path / str(number), **options).append(some, batch_id="1")


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


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(sm.SpecificationError, match=r"\.\[store\]"):
        sm.MetricStore("anywhere")


@pytest.mark.parametrize("every", ["x", "0d", "-1d", "", "weekly", 7, "1d12h", "9" * 30 + "d", "9223372036854775807d"])
def test_windows_of_no_length(store, every):
    appended(store, COUNTS, [predictions(20, 0)])
    with pytest.raises(sm.SpecificationError, match=r"as a duration|must be a duration|is too long"):
        store.query(every=every)


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
