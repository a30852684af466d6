"""The window of a history: the group column of dates or datetimes, and times as users write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

from streammetrics.base import few, instant, moment, require_length, translated, truncated
from streammetrics.errors import Argument, DataError, Parts, SpecificationError
from streammetrics.monitor.history.columns import quoted

TIMES = (pl.Date, pl.Datetime)


@dataclass(frozen=True)
class Window:
    """Name and type of the window column of a history."""

    name: str
    kind: pl.DataType

    def moment(self, time: date | str) -> date:
        """Return a time in the type of the column; for dates, rounded up."""
        found = instant(time, getattr(self.kind, "time_zone", None))
        if not isinstance(self.kind, pl.Date):
            return found
        with translated(SpecificationError, f"Cannot read {str(time)!r} as a time"):
            return (found + (timedelta(days=1) - timedelta.resolution)).date()

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

    def only(self, rows: pl.DataFrame, given: Any) -> str:
        """Return the condition for a window, or windows from a start to an end, as SQL. Rows must have no others."""
        start, end, is_range = self._range(given)
        window, upper = pl.col(self.name), "<" if is_range else "<="
        inside = (window >= start) & ((window < end) if is_range else (window <= end))
        windows = rows.select(window.unique().sort())
        if others := [str(time) for (time,) in windows.filter(~inside.fill_null(False)).rows()]:
            wanted = f"windows are {start} to {end}, end exclusive" if is_range else f"window is {start}"
            fix: Parts = ("Filter the state, or pass a range that includes them.",)
            if windows.height == 1 and not windows[self.name].has_nulls():
                fix = ("Pass ", Argument("window", others[0]), ".")
            raise DataError(f"The state contains {few(others)}, but the {wanted}. ", *fix)
        column = quoted(self.name)
        return f"{column} >= '{start.isoformat()}' AND {column} {upper} '{end.isoformat()}'"

    def _range(self, given: Any) -> tuple[date, date, bool]:
        if isinstance(given, tuple):
            if len(given) != 2:
                raise SpecificationError(Argument("window"), f" must be a time or a (start, end) pair, got {given!r}.")
            return self.moment(given[0]), self.moment(given[1]), True
        start = self.moment(given)
        if not isinstance(start, datetime) and moment(start) != moment(given):
            raise SpecificationError(Argument("window"), f" must be a date, as in the store, got {given!r}.")
        return start, start, False
