"""Columns of a history keep their types, and times their zones; others are refused by name."""

import re
import sys
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from stores import COUNTS, NIGHT, of_hours, predictions

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
