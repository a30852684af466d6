"""Days, weeks, and months of time zones in which clocks skip or repeat midnight."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.base.text.values import dates
from streammetrics.base.times import earlier, ends, later, truncated

SKIPPED = {  # zones with a day that has no midnight, or two, and this day
    "America/Santiago": date(2025, 9, 7),
    "Asia/Beirut": date(2025, 3, 30),
    "Africa/Cairo": date(2025, 4, 25),
    "America/Havana": date(2025, 3, 9),
    "Atlantic/Azores": date(2025, 3, 30),
    "America/Asuncion": date(2024, 10, 6),
}
REPEATED = {
    "Atlantic/Azores": date(2025, 10, 26),
    "America/Havana": date(2025, 11, 2),
    "Asia/Beirut": date(2025, 10, 26),
}
OTHERS = {
    "Europe/Berlin": date(2025, 3, 30),
    "Australia/Lord_Howe": date(2025, 10, 5),
    "Pacific/Apia": date(2011, 12, 29),
}
CALENDAR = ("1d", "1w", "1mo")
CASES = [*SKIPPED.items(), *REPEATED.items(), *OTHERS.items()]


def hours(zone, day, days=8):
    start = datetime.combine(day - timedelta(days=days), datetime.min.time(), UTC)
    times = pl.datetime_range(start, start + timedelta(days=2 * days), "1h", eager=True, time_zone="UTC")
    return times.dt.convert_time_zone(zone).alias("t")


def starts(times, every):
    return times.to_frame().select(truncated(pl.col("t"), every, times.dtype.time_zone)).to_series()


@pytest.mark.parametrize(("zone", "day"), [*CASES, ("Antarctica/Casey", date(2020, 10, 4))])
def test_each_period_starts_once_and_ends_with_the_next_even_if_clocks_change(zone, day):
    times = hours(zone, day)
    times = pl.concat([times, times.dt.offset_by("30m")]).sort()
    for every in ("30m", "1h", "6h", "12h", "1d", "1w", "1mo"):
        start = starts(times, every)
        known = start.unique().sort()
        following = later if every in CALENDAR else ends
        assert following(known, every)[:-1].equals(known[1:], check_names=False)
        assert (start <= times).all()
        assert (times < following(start, every)).all()
        if every in CALENDAR:
            assert earlier(known, every)[1:].equals(known[:-1], check_names=False)
            local = times.dt.replace_time_zone(None).dt.truncate(every).alias("local")
            assert pl.DataFrame([start, local]).unique().height == local.n_unique() == known.len()
    days = starts(times, "1d").unique().sort()
    assert dates(days).dtype == pl.Date  # even if they have no midnight
    assert dates(days).to_list() == [start.date() for start in days]


@pytest.mark.parametrize("zone", sorted(ZoneInfo(name).key for name in [*SKIPPED, *REPEATED, *OTHERS]))
def test_days_are_those_of_python(zone):
    """A brute force over sixteen years: the first instant of every local day."""
    own = ZoneInfo(zone)
    times = pl.datetime_range(datetime(2010, 1, 1), datetime(2026, 1, 1), "30m", eager=True, time_zone="UTC")
    times = times.dt.convert_time_zone(zone).alias("t")
    first = (
        pl.DataFrame([times, times.dt.date().alias("day")]).group_by("day", maintain_order=True).agg(pl.col("t").min())
    )
    assert starts(first["t"], "1d")[1:].equals(first["t"][1:], check_names=False), own


def test_rules_across_a_day_that_the_calendar_omits(tmp_path):
    """There was no 30 December 2011 in Samoa."""
    times = hours("Pacific/Apia", date(2011, 12, 31), days=3)
    store = sm.MetricStore(tmp_path / "history")
    hourly = sm.binary(y_true="y", y_score="p", by=pl.col("t").dt.truncate("1h").alias("hour"))
    store.append(hourly.update(pl.DataFrame({"y": 1, "p": 0.8, "t": times})), batch_id="all")
    for until in ("2011-12-31", "2012-01-01"):
        found = sm.check(store, [sm.Rule("rows >= 1", over="1d"), sm.Rule("log_loss <= 1", against="1d")], until=until)
        assert found.frame["rows"][0] == 24


@pytest.mark.parametrize(("zone", "day"), REPEATED.items())
def test_the_day_after_two_midnights_is_checked_alone(zone, day, tmp_path):
    """Windows of a day that are made by Polars start at both midnights."""
    times = hours(zone, day, days=3)
    newest = day + timedelta(days=1)
    rows = pl.DataFrame({"y": 1, "p": 0.8, "t": times.filter(times.dt.date() <= newest)})
    store = sm.MetricStore(tmp_path / "history")
    daily = sm.binary(y_true="y", y_score="p", by=pl.col("t").dt.truncate("1d").alias("day"))
    store.append(daily.update(rows), batch_id="all")
    found = sm.check(store, [sm.Rule("rows >= 1", over="1d"), sm.Rule("rows >= 1", over="2d")]).frame
    sizes = dict(rows.group_by(pl.col("t").dt.date()).len().rows())
    assert found["rows"].to_list() == [sizes[newest], sizes[newest] + sizes[day]]
