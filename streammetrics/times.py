"""Times as users give them: a date, a datetime or ISO text of one, and lengths of time such as ``"7d"``."""

from __future__ import annotations

from datetime import UTC, date, datetime
from datetime import time as clock
from zoneinfo import ZoneInfo

import polars as pl

from streammetrics.errors import SpecificationError


def moment(given: date | str, zone: str | None = None) -> datetime | None:
    """The time that is meant, None for what is none. With a zone, in which it is unless it has its own, it is in UTC.

    >>> moment("2026-01-31")
    datetime.datetime(2026, 1, 31, 0, 0)
    >>> moment("2026-01-31T12:00", "Europe/Berlin")
    datetime.datetime(2026, 1, 31, 11, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        time = datetime.fromisoformat(given) if isinstance(given, str) else given
        found = time if isinstance(time, datetime) else datetime.combine(time, clock())
        if zone is None:
            return found
        return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def earlier(times: pl.Series, length: str) -> pl.Series:
    """Dates or times moved back by a length of time.

    Raises:
        SpecificationError: for what is no length of time.

    >>> earlier(pl.Series([date(2026, 1, 31)]), "1w").item()
    datetime.date(2026, 1, 24)
    """
    try:
        return times.dt.offset_by(f"-{length}")
    except pl.exceptions.PolarsError as error:
        raise SpecificationError(f"{length!r} is no length of time; write one like '7d' or '12h'.") from error
