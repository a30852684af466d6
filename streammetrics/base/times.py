"""Times given by users: dates, datetimes, ISO 8601 strings, and durations such as ``"7d"``."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from datetime import time as clock
from typing import Literal
from zoneinfo import ZoneInfo

import polars as pl

from streammetrics.base.foreign import translated
from streammetrics.base.forks import require_threads
from streammetrics.errors import SpecificationError

CLOCK = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3_600 * 10**9}  # in nanoseconds
CALENDAR = {"d": 1, "w": 7, "mo": 31, "q": 92, "y": 366}  # in days, at most
PART = re.compile(r"([0-9]{1,20})(ns|us|ms|mo|[smhdwqy])")
SHIFTS = [f"{minutes}m" for minutes in range(-180, 181, 30)]  # of clocks of any time zone
LENGTH = re.compile(rf"({PART.pattern})+")


def moment(value: date | str, zone: str | None = None) -> datetime | None:
    """Return a time, or None if the value is not one. With ``zone``, its default time zone, the result is in UTC.

    >>> moment("2026-01-31")
    datetime.datetime(2026, 1, 31, 0, 0)
    >>> moment("2026-01-31T12:00", "Europe/Berlin")
    datetime.datetime(2026, 1, 31, 11, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        local = time if isinstance(time, datetime) else datetime.combine(time, clock())
        if zone is None:
            return local
        return (local if local.tzinfo else local.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def instant(value: date | str, zone: str | None) -> datetime:
    """Return a time to compare with columns of a time zone, or with columns that have none."""
    time = moment(value, zone)
    if time is None:
        raise SpecificationError(f"Cannot read {value!r} as a time. Pass a date, a datetime, or an ISO 8601 string.")
    if time.tzinfo and zone is None:
        raise SpecificationError(f"{value!r} has a time zone, but the windows have none. Omit it.")
    return time


def earlier(times: pl.Series, length: str) -> pl.Series:
    """Return dates or times moved back by a duration, in the calendar of their time zone.

    >>> earlier(pl.Series([date(2026, 1, 31)]), "1w").item()
    datetime.date(2026, 1, 24)
    """
    return _moved(times, length, "-")


def later(times: pl.Series, length: str) -> pl.Series:
    """Return dates or times moved on by a duration, in the calendar of their time zone.

    On some days, clocks skip midnight. The day then starts later, and still ends at the start of the next one:

    >>> days = pl.Series([datetime(2025, 9, 6), datetime(2025, 9, 7, 1)]).dt.replace_time_zone("America/Santiago")
    >>> later(days, "1d").dt.to_string("%m-%d %H:%M").to_list()
    ['09-07 01:00', '09-08 00:00']
    """
    return _moved(times, length, "")


def _moved(times: pl.Series, length: str, sign: str) -> pl.Series:
    require_length(length)
    require_threads()
    zone = getattr(times.dtype, "time_zone", None)
    moved = pl.col(times.name)
    with translated(SpecificationError, f"Duration {length!r} cannot be used with this column"):
        for count, unit in PART.findall(length):
            step = f"{sign}{count}{unit}"
            if zone is None or unit in CLOCK:
                moved = moved.dt.offset_by(step)
            else:
                local = _calendar(moved, zone).dt.offset_by(step)
                moved = _before(moved, local, step, zone) if sign else zoned(local, zone)
        return times.to_frame().select(moved).to_series()


def truncated(times: pl.Expr, every: str, zone: str | None) -> pl.Expr:
    """Return times truncated to multiples of a duration. Days start once, even if clocks skip or repeat midnight."""
    if zone is None:
        return times.dt.truncate(every)
    local = times.dt.replace_time_zone(None).dt.truncate(every)
    first = zoned(local, zone)
    if not _is_of_clock(every):
        return first
    last = zoned(local, zone, repeated="latest")  # an hour can come twice
    in_utc = times.dt.convert_time_zone("UTC").dt.truncate(every).dt.convert_time_zone(zone)
    return pl.when(last <= times).then(last).when(first <= times).then(first).otherwise(in_utc)  # or not start at all


def ends(starts: pl.Series, every: str) -> pl.Series:
    """Return the ends of periods of a duration: the next start. Clocks can change within a period.

    >>> halves = pl.Series([datetime(2025, 10, 26), datetime(2025, 10, 26, 12)]).dt.replace_time_zone("Europe/Berlin")
    >>> ends(halves, "12h").dt.to_string("%d %H:%M").to_list()  # the first one has 13 hours
    ['26 12:00', '27 00:00']
    """
    zone = getattr(starts.dtype, "time_zone", None)
    after = later(starts, every)
    if zone is None or not _is_of_clock(every):
        return after
    column = pl.col(starts.name)
    near = [truncated(pl.lit(after).dt.offset_by(shift), every, zone) for shift in SHIFTS]
    with translated(SpecificationError, f"Duration {every!r} cannot be used with this column"):
        return starts.to_frame().select(pl.min_horizontal(pl.when(end > column).then(end) for end in near)).to_series()


def _is_of_clock(length: str) -> bool:
    """Whether a duration is one of hours or less, which are equally long in every time zone."""
    return any(unit in CLOCK for _, unit in PART.findall(length))


def zoned(local: pl.Expr, zone: str, repeated: Literal["earliest", "latest"] = "earliest") -> pl.Expr:
    """Return local times in their time zone: the first of repeated times, and the time after skipped ones."""
    times, day_before = (
        time.dt.replace_time_zone(zone, ambiguous=repeated, non_existent="null")
        for time in (local, local.dt.offset_by("-1d"))
    )
    return pl.coalesce(times, day_before.dt.offset_by("24h"))


def _before(times: pl.Expr, local: pl.Expr, step: str, zone: str) -> pl.Expr:
    """Return times moved back to local times, or one step further where the calendar omits the days in between."""
    moved = _just_before(local, zone)
    return pl.when(moved < times).then(moved).otherwise(_just_before(local.dt.offset_by(step), zone))


def _just_before(local: pl.Expr, zone: str) -> pl.Expr:
    """Return the end of the last instant before local times: of repeated times, the second, but the start of a day."""
    return zoned(local.dt.offset_by("-1us"), zone, repeated="latest").dt.offset_by("1us")


def _calendar(times: pl.Expr, zone: str) -> pl.Expr:
    """Return local times, with midnight for the start of a day that has none."""
    local = times.dt.replace_time_zone(None)
    midnight = local.dt.truncate("1d")
    return pl.when(zoned(midnight, zone) == times).then(midnight).otherwise(local)


def require_length(length: str) -> None:
    """Reject invalid durations, and durations with which Polars overflows silently.

    >>> require_length("1d12h")
    >>> require_length("9999999999s")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: The duration '9999999999s' is too long. Maximum: 292 years of ...
    """
    if not isinstance(length, str) or not LENGTH.fullmatch(length):
        raise SpecificationError(f"Cannot read {length!r:.40} as a duration. Write one such as '7d' or '12h'.")
    parts = [(int(count), unit) for count, unit in PART.findall(length)]
    clock_time, days = (sum(n * units.get(unit, 0) for n, unit in parts) for units in (CLOCK, CALENDAR))
    if clock_time >= 2**63 or days > 10**8:
        limits = "292 years of hours or less, and 100,000,000 days"
        raise SpecificationError(f"The duration {length!r:.40} is too long. Maximum: {limits}.")
