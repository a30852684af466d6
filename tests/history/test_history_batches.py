"""What comes into a history once: batches with names, stretches of a source, replaced windows."""

from datetime import UTC, date, datetime, time, timedelta

import polars as pl
import pytest

import streammetrics as sm

DAYS = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]


def rows(count, day=DAYS[0]):
    """As many rows of one day."""
    acc = sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p", by="day")
    return acc.update({"y": [1.0] * count, "p": [0.5] * count, "day": [day] * count})


def by_day(store):
    """How many rows each day has."""
    found = store.query(every="1d").finalize(["rows"]).frame
    return dict(found.select(pl.col("day"), pl.col("value").cast(int)).iter_rows())


@pytest.fixture
def store(tmp_path):
    return sm.MetricStore(tmp_path / "store")


def test_a_source_goes_on_where_it_was_left(store):
    assert store.offset("topic/3") is None
    assert store.append(rows(10), source="topic/3", upto=10)
    assert store.offset("topic/3") == 10
    assert not store.append(rows(10), source="topic/3", upto=10)
    assert not store.append(rows(4), source="topic/3", upto=4)
    assert store.append(rows(2, DAYS[1]), source="topic/3", start=10, upto=12)
    assert store.append(rows(7), source="topic/4", start=500, upto=507)
    assert [store.offset(name) for name in ("topic/3", "topic/4", "topic/5")] == [12, 507, None]
    store.compact()
    store.retain(DAYS[1])
    assert not store.append(rows(10), source="topic/3", upto=12)
    assert by_day(store) == {DAYS[1]: 2}
    assert store.append(rows(1), batch_id="topic/3")  # names and sources do not meet
    assert store.offset("topic/3") == 12


def test_a_stretch_without_rows_moves_the_offset(store):
    empty = rows(1).empty()
    assert not store.append(empty, source="s", upto=5)
    assert store.offset("s") is None
    store.append(rows(1), source="s", upto=6)
    assert store.append(empty, source="s", start=6, upto=9)
    assert store.offset("s") == 9
    assert store.query().seen == 1


def test_a_replaced_window_holds_what_came_last_and_the_others_stay(store):
    for number, day in enumerate(DAYS):
        store.append(rows(number + 1, day), batch_id=f"{day}")
    store.append(rows(5, DAYS[1]), batch_id="late")
    assert store.replace(rows(9, DAYS[1]), window=DAYS[1], batch_id="again")
    assert by_day(store) == {DAYS[0]: 1, DAYS[1]: 9, DAYS[2]: 3}
    assert not store.replace(rows(8, DAYS[1]), window=DAYS[1], batch_id="again")
    assert not store.append(rows(5, DAYS[1]), batch_id="late")
    store.append(rows(1, DAYS[1]), batch_id="later")
    store.compact()
    assert by_day(store) == {DAYS[0]: 1, DAYS[1]: 10, DAYS[2]: 3}
    both = rows(1, DAYS[0]) + rows(2, DAYS[1])
    assert store.replace(both, window=("2026-01-01", "2026-01-03"), batch_id="both")
    assert store.replace(rows(1).empty(), window=DAYS[2], batch_id="none")
    assert not store.replace(both, window=DAYS[0], batch_id="again")
    assert by_day(store) == {DAYS[0]: 1, DAYS[1]: 2}


def test_a_replacement_can_be_what_a_source_led_to(store):
    assert store.append(rows(2), source="s", start=0, upto=2)
    for expected in (True, False):
        assert store.replace(rows(5), window=DAYS[0], source="s", start=2, upto=3) is expected
    assert store.offset("s") == 3
    with pytest.raises(sm.DataError, match="Read the source from offset 3"):
        store.replace(rows(7), window=DAYS[0], source="s", start=2, upto=4)
    with pytest.raises(sm.SpecificationError, match="Pass either"):
        store.replace(rows(7), window=DAYS[0])
    assert store.query().seen == 5


def test_windows_of_hours_are_replaced_by_the_hour_or_from_hour_to_hour(store):
    hours = [datetime(2026, 3, 29, hour, tzinfo=UTC) for hour in range(4)]
    acc = sm.Accumulator(y_true="y", by="hour")
    of = lambda *hours: acc.empty().update({"y": [1] * len(hours), "hour": list(hours)})  # noqa: E731
    store.append(of(*hours, *hours), batch_id="1")
    store.replace(of(hours[1]), window="2026-03-29T01:00+00:00", batch_id="2")
    store.replace(of(hours[2]), window=(hours[2], hours[3]), batch_id="3")
    assert store.windows()["rows"].to_list() == [2, 1, 1, 2]
    with pytest.raises(sm.DataError, match=r"windows are .*00:00 to .*, end exclusive. Filter the state, or"):
        store.replace(of(*hours[:2]), window=(hours[0], hours[1]), batch_id="4")
    assert store.windows()["rows"].to_list() == [2, 1, 1, 2]


CHANGES = {"spring": (date(2026, 3, 29), 23), "autumn": (date(2026, 10, 25), 25)}


@pytest.mark.thorough
@pytest.mark.parametrize(("day", "length"), CHANGES.values(), ids=CHANGES)
def test_a_day_on_which_the_clocks_change_has_all_its_hours(day, length, store):
    """Hours of Berlin, with late ones in UTC: a day has 23 or 25 of them, and a repeated hour is two windows."""
    midnights = pl.Series([datetime.combine(day + timedelta(days=n), time()) for n in (-1, 0, 1, 2)])
    first, today, tomorrow, last = midnights.dt.replace_time_zone("Europe/Berlin")
    hours = pl.datetime_range(first, last, "1h", closed="left", time_zone="Europe/Berlin", eager=True).alias("hour")
    acc = sm.Accumulator(y_true="y", by="hour")
    of = lambda hours: acc.empty().update(pl.DataFrame({"hour": hours}).with_columns(y=1))  # noqa: E731
    store.append(of(hours), batch_id="in time")
    store.append(of(hours.dt.convert_time_zone("UTC")), batch_id="late")
    for _ in range(2):
        days = store.query(every="1d").finalize(["rows"]).frame
        assert days["value"].to_list() == [48, 2 * length, 48]
        assert store.windows()["rows"].to_list() == [2] * (48 + length)
        assert store.query(str(day), str(day + timedelta(days=1))).seen == 2 * length
        store.compact()
    again = hours.filter(hours.is_between(today, tomorrow, closed="left"))
    assert store.replace(of(again), window=(str(day), str(day + timedelta(days=1))), batch_id="again")
    assert store.windows()["rows"].to_list() == [2] * 24 + [1] * length + [2] * 24
    repeated = again.dt.convert_time_zone("UTC")[2]
    assert store.replace(of([repeated] * 5), window=repeated, batch_id="one hour")
    assert store.query(str(day), str(day + timedelta(days=1))).seen == length + 4
    store.retain(str(day))
    assert store.windows().height == 24 + length


def test_a_repeated_hour_is_named_by_its_offset_and_alone_means_the_first(store):
    hours = pl.datetime_range(datetime(2026, 10, 25), datetime(2026, 10, 25, 5), "1h", time_zone="UTC", eager=True)
    acc = sm.Accumulator(y_true="y", by="hour")
    of = lambda hours: acc.empty().update(pl.DataFrame({"hour": hours}).with_columns(y=1))  # noqa: E731
    store.append(of(hours.dt.convert_time_zone("Europe/Berlin")), batch_id="1")  # 02:00 comes twice
    for since, seen in (("02:00", 6), ("02:00+02:00", 6), ("02:00+01:00", 5), ("03:00", 4)):
        assert store.query(f"2026-10-25T{since}").seen == seen
    store.replace(of(hours[:1].append(hours[:1])), window="2026-10-25T02:00", batch_id="2")
    store.replace(of(hours[1:2]).empty(), window="2026-10-25T02:00+01:00", batch_id="3")
    assert store.windows()["hour"].dt.hour().to_list() == [2, 3, 4, 5, 6]
    assert store.windows()["rows"].to_list() == [2, 1, 1, 1, 1]


def test_a_day_that_begins_at_one(store):
    """In São Paulo clocks went from 23:59:59 to 01:00: the day has no midnight, and 23 hours."""
    hours = pl.datetime_range(datetime(2018, 11, 3, 3), datetime(2018, 11, 5, 3), "1h", time_zone="UTC", eager=True)
    acc = sm.Accumulator(y_true="y", by="hour")
    frame = pl.DataFrame({"hour": hours.dt.convert_time_zone("America/Sao_Paulo")}).with_columns(y=1)
    store.append(acc.empty().update(frame), batch_id="1")
    store.append(acc.empty().update(frame.with_columns(pl.col("hour").dt.convert_time_zone("UTC"))), batch_id="late")
    days = store.query(every="1d").finalize(["rows"]).frame
    assert days["hour"].dt.hour().to_list() == [0, 1, 0]
    assert days["value"].to_list() == [48, 46, 4]
    assert store.query("2018-11-04", "2018-11-05").seen == 46
    store.retain("2018-11-04")
    assert store.query().seen == 50
