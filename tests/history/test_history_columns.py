"""Columns of a history keep their types, and times their zones. Others are refused, which changes nothing."""

import re
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from refusals.histories import FAR
from stores import NIGHT, of_hours

import streammetrics as sm


def test_whole_floats_are_integers(store):
    for number, values in enumerate(([1, 2], [1.0, 2.0])):
        acc = sm.Accumulator(y_true="y", by=["day", "s"])
        store.append(acc.update({"y": [1, 1], "day": [date(2026, 1, 1)] * 2, "s": values}), batch_id=f"{number}")
    assert store.query(by="s").state.keys["s"].to_list() == [1, 2]


@pytest.mark.thorough
def test_times_with_and_without_a_time_zone_do_not_mix(tmp_path):
    """The message has an expression that mends it."""
    values = {"date": NIGHT.dt.date(), "naive": NIGHT, "UTC": NIGHT.dt.replace_time_zone("UTC")}
    for one, first in values.items():
        store = sm.MetricStore(tmp_path / one)
        store.append(of_hours(first), batch_id="1")
        for other in values.keys() - {one}:
            with pytest.raises(sm.errors.ColumnError, match="'hour'") as caught:
                store.append(of_hours(values[other]), batch_id="2")
            advice = eval(re.search(r"Use (.*)\.$", str(caught.value))[1], {"pl": pl})
            frame = pl.DataFrame({"hour": values[other]}).select(advice)
            assert store.append(of_hours(frame["hour"]), batch_id=other)
        assert store.query().seen == 9


@pytest.mark.parametrize("role", ["window", "segment"])
@pytest.mark.parametrize("time", FAR.values(), ids=FAR)
def test_dates_that_no_question_could_name_leave_a_history_as_it_was(time, role, store):
    columns = {"window": {"when": time}, "segment": {"day": [date(2026, 1, 1)], "when": time}}[role]
    store = sm.MetricStore(store.uri, window=next(iter(columns)))
    acc = sm.Accumulator(y_true="y", by=[*columns])
    near = pl.select(pl.lit(datetime(2026, 1, 1)).cast(time.dtype)).to_series()
    for rows in (0, 1):
        with pytest.raises(sm.errors.DataError):
            store.append(acc.empty().update({"y": [1], **columns}), batch_id="far")
        assert Path(store.uri).exists() == bool(rows)
        store.append(acc.empty().update({"y": [1], **columns, "when": near}), batch_id="1")
    assert store.query().seen == 1
    store.compact()
