"""The windows of a history as rules and pages read them: in order, with the rows from one time to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import Argument, SpecificationError
from streammetrics.reading.models import require_model
from streammetrics.rows.roles import MODEL
from streammetrics.times import instant

AT_ONCE = 32  # windows of a history that are read together

Ask: TypeAlias = Callable[[date | str | None, date | str, tuple[str, ...], str | None], Accumulator]


@dataclass(frozen=True)
class Windows:
    """The windows of a history, in order.

    Attributes:
        uri: Where the history is.
        starts: When each window begins.
        ask: Gives the rows from one time to another, by segments, and by windows of some length.
        empty: An accumulator without rows, of what the history keeps.
        models: Names of all models that the history has ever had.
    """

    uri: str
    starts: pl.Series
    ask: Ask
    empty: Accumulator
    models: tuple[str, ...] = ()

    @cached_property
    def times(self) -> pl.Series:
        """The windows as times."""
        return clock(self.starts)

    def upto(self, last: Any) -> Windows:
        """The windows that begin no later than this one."""
        return replace(self, starts=self.starts.filter(self.starts <= last))

    def of_model(self, name: str | None) -> Windows:
        """The same rows of one model, or of all for None.

        Raises:
            ReportError: If there is no such model.
        """
        if name is None:
            return self
        require_model(name, self.models)

        def ask(since: Any, until: Any, by: tuple[str, ...], every: str | None) -> Accumulator:
            return self.ask(since, until, by, every).filter(pl.col(MODEL) == name)

        return replace(self, ask=ask)

    def remembering(self, answers: int | None) -> Windows:
        """The same, with the last answers kept, or all: rules often ask the same."""
        return replace(self, ask=lru_cache(answers)(self.ask))


def clock(windows: pl.Series) -> pl.Series:
    """Dates as datetimes, so that all windows are datetimes in microseconds.

    >>> clock(pl.Series([date(2026, 1, 31)])).item()
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    return windows.cast(pl.Datetime("us", getattr(windows.dtype, "time_zone", None)))


def after(windows: pl.Series) -> pl.Series:
    """A time just after the last of some windows begins.

    Raises:
        SpecificationError: If the calendar ends with it.
    """
    if str(windows[-1])[:10] == str(date.max):
        raise SpecificationError(
            f"No time comes after the newest window, {windows[-1]}. Pass ", Argument("until"), " to leave it out."
        )
    return clock(windows).tail(1).dt.offset_by("1us")


def time_of(given: date | str, windows: pl.Series) -> pl.Series:
    """A time, in the zone of the windows unless it has its own."""
    zone = getattr(windows.dtype, "time_zone", None)
    found = pl.Series([instant(given, zone)])
    return found if zone is None else found.dt.convert_time_zone(zone)
