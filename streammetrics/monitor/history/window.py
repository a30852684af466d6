"""Windows of a history: their column, and times as users write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

from streammetrics.base import earlier, few, instant, moment, require_length, translated, truncated
from streammetrics.errors import Argument, DataError, Parts, SpecificationError
from streammetrics.monitor.history.table import quoted

TIMES = (pl.Date, pl.Datetime)


@dataclass(frozen=True)
class WindowColumn:
    """Name and type of the window column of a history."""

    name: str
    kind: pl.DataType

    def moment(self, time: date | str) -> date:
        """Return a time in the type of the column; for dates, rounded up."""
        exact = instant(time, getattr(self.kind, "time_zone", None))
        if not isinstance(self.kind, pl.Date):
            return exact
        with translated(SpecificationError, f"Cannot read {str(time)!r} as a time"):
            return (exact + (timedelta(days=1) - timedelta.resolution)).date()

    def between(self, since: date | str | None, until: date | str | None) -> list[pl.Expr]:
        """Return conditions for windows from a time on, and before another."""
        lower = [] if since is None else [pl.col(self.name) >= self.moment(since)]
        return lower if until is None else [*lower, pl.col(self.name) < self.moment(until)]

    def truncated(self, every: str) -> pl.Expr:
        """Return the window, truncated to multiples of a duration."""
        require_length(every)
        duration = f" must be a duration such as '1d', '1w', or '1mo', got {every!r}"
        with translated(SpecificationError, Argument("every"), duration):
            pl.Series([date(2026, 1, 1)]).dt.truncate(every)  # which rejects more than datetimes do
        return truncated(pl.col(self.name), every, getattr(self.kind, "time_zone", None))

    def before(self, since: date | str) -> str:
        """Return the condition for windows before a time as SQL."""
        return f"{quoted(self.name)} < '{self.moment(since).isoformat()}'"

    def only(self, rows: pl.DataFrame, window: Any) -> str:
        """Return the condition for a window, or windows from a start to an end, as SQL. Rows must have no others."""
        start, end, is_range = self._range(window)
        column, upper = pl.col(self.name), "<" if is_range else "<="
        inside = (column >= start) & ((column < end) if is_range else (column <= end))
        windows = rows.select(column.unique().sort())
        if others := [str(time) for (time,) in windows.filter(~inside.fill_null(False)).rows()]:
            expected = f"windows are {start} to {end}, end exclusive" if is_range else f"window is {start}"
            fix: Parts = ("Filter the state, or pass a range that includes them.",)
            if windows.height == 1 and not windows[self.name].has_nulls():
                fix = ("Pass ", Argument("window", others[0]), ".")
            raise DataError(f"The state contains {few(others)}, but the {expected}. ", *fix)
        name = quoted(self.name)
        return f"{name} >= '{start.isoformat()}' AND {name} {upper} '{end.isoformat()}'"

    def _range(self, window: Any) -> tuple[date, date, bool]:
        if isinstance(window, tuple):
            if len(window) != 2:
                raise SpecificationError(Argument("window"), f" must be a time or a (start, end) pair, got {window!r}.")
            return self.moment(window[0]), self.moment(window[1]), True
        start = self.moment(window)
        if not isinstance(start, datetime) and moment(start) != moment(window):
            raise SpecificationError(Argument("window"), f" must be a date, as in the store, got {window!r}.")
        return start, start, False


@dataclass(frozen=True)
class Windows:
    """Windows of time: from each of some starts to before its end.

    They are named after windows of a history; a single one that is read as a whole has no name.
    """

    starts: pl.Series
    ends: pl.Series
    names: pl.Series = field(default_factory=pl.Series)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, some: slice) -> Windows:
        return Windows(self.starts[some], self.ends[some], self.names[some])

    def before(self, length: str | None, earliest: date | None) -> Windows:
        """Return the periods of a length before each window, or all time before it, but not before an earliest time."""
        if length is None:
            return Windows(self.starts.clear(len(self)), self.starts, self.names)
        return Windows(before(self.starts, length).clip(earliest), self.starts, self.names)


def clock(windows: pl.Series) -> pl.Series:
    """Dates as datetimes, so that all windows are datetimes in microseconds.

    >>> clock(pl.Series([date(2026, 1, 31)])).item()
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    return windows.cast(pl.Datetime("us", getattr(windows.dtype, "time_zone", None)))


def before(times: pl.Series, length: str) -> pl.Series:
    """Return times moved back by a positive duration.

    >>> before(pl.Series([datetime(2026, 1, 31)]), "7d").item()
    datetime.datetime(2026, 1, 24, 0, 0)
    """
    starts = earlier(times, length)
    if not (starts < times).all():
        raise SpecificationError(f"{length!r} is not a positive duration. Write one such as '7d' or '12h'.")
    return starts


def after(windows: pl.Series) -> pl.Series:
    """A time just after the start of the last window."""
    if str(windows[-1])[:10] == str(date.max):
        raise SpecificationError(
            f"No time comes after the newest window, {windows[-1]}. Pass ", Argument("until"), " to exclude it."
        )
    return clock(windows).tail(1).dt.offset_by("1us")


def time_of(time: date | str, windows: pl.Series) -> pl.Series:
    """A time in the time zone of the windows, which is also its default."""
    zone = getattr(windows.dtype, "time_zone", None)
    exact = pl.Series([instant(time, zone)])
    return exact if zone is None else exact.dt.convert_time_zone(zone)
