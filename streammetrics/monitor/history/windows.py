"""The windows of a history in order, with access to the rows of a time range, as rules and pages need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import instant
from streammetrics.data import MODEL
from streammetrics.errors import Argument, SpecificationError
from streammetrics.monitor.history.label_coverage import LabelCoverage
from streammetrics.reading import require_model

AT_ONCE = 32  # windows of a history that are read together

Ask: TypeAlias = Callable[[date | str | None, date | str, tuple[str, ...], str | None], Accumulator]


@dataclass(frozen=True)
class Windows:
    """The windows of a history, in order.

    ``ask`` returns the rows of a time range by segment, and optionally by windows of some duration. ``empty`` is an
    empty accumulator of the history, and ``models`` lists all models that it has ever had. ``labels`` knows which of
    their labels have arrived.
    """

    uri: str
    starts: pl.Series
    ask: Ask
    empty: Accumulator
    models: tuple[str, ...] = ()
    labels: LabelCoverage | None = None

    @cached_property
    def times(self) -> pl.Series:
        """The windows as times."""
        return clock(self.starts)

    def of_model(self, name: str | None) -> Windows:
        """The windows with the rows of one model, or of all models for None."""
        if name is None:
            return self
        require_model(name, self.models)

        def ask(since: Any, until: Any, by: tuple[str, ...], every: str | None) -> Accumulator:
            return self.ask(since, until, by, every).filter(pl.col(MODEL) == name)

        return replace(self, ask=ask)

    def remembering(self, answers: int | None) -> Windows:
        """The windows with a cache of the last query results, or of all: rules often use the same ones."""
        return replace(self, ask=lru_cache(answers)(self.ask))


def clock(windows: pl.Series) -> pl.Series:
    """Dates as datetimes, so that all windows are datetimes in microseconds.

    >>> clock(pl.Series([date(2026, 1, 31)])).item()
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    return windows.cast(pl.Datetime("us", getattr(windows.dtype, "time_zone", None)))


def after(windows: pl.Series) -> pl.Series:
    """A time just after the start of the last window."""
    if str(windows[-1])[:10] == str(date.max):
        raise SpecificationError(
            f"No time comes after the newest window, {windows[-1]}. Pass ", Argument("until"), " to exclude it."
        )
    return clock(windows).tail(1).dt.offset_by("1us")


def time_of(given: date | str, windows: pl.Series) -> pl.Series:
    """A time. Its time zone defaults to that of the windows."""
    zone = getattr(windows.dtype, "time_zone", None)
    found = pl.Series([instant(given, zone)])
    return found if zone is None else found.dt.convert_time_zone(zone)
