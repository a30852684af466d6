"""Ticks of a time axis: windows that begin a day, a week, a month, or another unit of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SECOND, MINUTE, HOUR, DAY, MONTH = 1_000, 60_000, 3_600_000, 86_400_000, 2_629_746_000  # milliseconds
DATE = "%b %-d"
SHORTER = 0.9  # a month, as a part of the mean one
MOST = 200  # ticks of an axis of which a part can be shown


@dataclass(frozen=True)
class Unit:
    """A unit of time, in milliseconds and in calendar months.

    ``form`` is the format of its labels, and ``room`` their width in pixels with the space between two of them.
    """

    length: int
    form: str
    room: int
    months: int = 0

    def of(self, times: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the number of the unit of each time. Days are counted from that of the first time, as are weeks."""
        months: NDArray[np.int64] = times.astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
        passed: NDArray[np.int64] = times - first // DAY * DAY
        number: NDArray[np.int64] = months // self.months if self.months else passed // self.length
        return number


UNITS = (
    *(Unit(n * SECOND, "%H:%M:%S", 54) for n in (1, 2, 5, 10, 30)),
    *(Unit(n * MINUTE, "%H:%M", 42) for n in (1, 2, 5, 10, 30)),
    *(Unit(n * HOUR, "%H:%M", 42) for n in (1, 3, 6, 12)),
    *(Unit(n * DAY, DATE, 42) for n in (1, 2, 7, 14)),
    *(Unit(n * MONTH, "%b %Y", 53, n) for n in (1, 2, 3, 6)),
    *(Unit(n * 12 * MONTH, "%Y", 36, n * 12) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)),
)


@dataclass(frozen=True)
class Ticks:
    """Times with ticks, the format of their labels, and the longest span of an axis with room for them."""

    times: Sequence[int]
    form: str
    span: float


def ticks(windows: Sequence[int], width: int) -> list[Ticks]:
    """Return ticks at windows for an axis of some pixels: last those for all windows, before them those for fewer.

    Each tick is at a window: the first of a unit of time. Of two without room for both labels, the first is omitted.

    >>> weeks = [day * DAY for day in range(4, 88, 7)]
    >>> shown = ticks(weeks, 300)[-1]
    >>> [time // DAY for time in shown.times], shown.form
    ([4, 18, 32, 46, 60, 74], '%b %-d')
    """
    times, found = np.array(windows, np.int64), list[Ticks]()
    if len(times) < 2:
        return [Ticks(windows, "%H:%M", np.inf)]
    step, whole = np.diff(times).min(), times[-1] - times[0]
    before = np.append(times[0] - step, times[:-1])
    shortest = max(sum(SHORTER * unit.length <= step for unit in UNITS) - 1, 0)  # that no two windows share
    for unit in UNITS[shortest:]:
        span = unit.length * width / unit.room
        begins = unit.of(times, windows[0]) > unit.of(before, windows[0])
        begins[0] |= not unit.months  # whose label would name a month that began before
        first = times[begins]
        room = SHORTER * unit.length * min(1.0, whole / span)
        spaced = first[np.append(np.diff(first) >= room, True)]
        found.append(Ticks(spaced.tolist(), unit.form, span))
        if span >= whole:
            break
    return [one for one in found[:-1] if len(one.times) <= MOST] + found[-1:]
