"""Metrics, rows, and drift of a history by segment and window, read a few windows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.differences.drift import drift, drift_over
from streammetrics.frame import METRIC
from streammetrics.history.rules import before
from streammetrics.history.windows import AT_ONCE, Windows, clock

Cut: TypeAlias = tuple[str, ...]
Part: TypeAlias = tuple[Cut, pl.DataFrame]


@dataclass(frozen=True)
class Grid:
    """Windows of a history, and cuts: combinations of group columns that define segments."""

    windows: pl.Series
    cuts: list[Cut]

    @property
    def columns(self) -> list[str]:
        """The group columns of all cuts."""
        return list(dict.fromkeys(column for cut in self.cuts for column in cut))

    def within(self, columns: Sequence[str]) -> Grid:
        """Return the grid of a history that has only some of the group columns."""
        return replace(self, cuts=[cut for cut in self.cuts if set(cut) <= set(columns)])

    def estimates(self, history: Windows, metrics: Sequence[str], confidence: float | None) -> Iterator[Part]:
        """Return the metrics of every segment and window."""
        for cut, _, acc in self._read(history):
            yield cut, acc.finalize(metrics, confidence=confidence).frame

    def reference(self, history: Windows, start: Any, end: Any) -> dict[Cut, Accumulator]:
        """Return the merged windows of a time range, for every cut."""
        acc = history.ask(start, end, tuple(self.columns), None)
        return {cut: acc.rollup(*cut) for cut in self.cuts}

    def drifts(self, history: Windows, of: str, reference: dict[Cut, Accumulator] | str) -> Iterator[Part]:
        """Return the PSI of every segment and window against a fixed or rolling reference."""
        window, back = self.windows.name, reference if isinstance(reference, str) else None
        for cut, windows, acc in self._read(history, back):
            report = acc.finalize(["rows"])
            if isinstance(reference, str):
                moved = drift_over(report, window, reference=reference, of=of)
            else:
                moved = drift(reference[cut].finalize(["rows"]), report, of=of)
            found = moved.frame.filter(pl.col("measure") == "psi", pl.col(window).is_in(windows.implode()))
            yield cut, found.drop("of").rename({"measure": METRIC})

    def _read(self, history: Windows, back: str | None = None) -> Iterator[tuple[Cut, pl.Series, Accumulator]]:
        """Each cut of a few windows at a time, with their reference windows."""
        times, window = clock(self.windows), self.windows.name
        for i in range(0, len(times), AT_ONCE):
            some = times[i : i + AT_ONCE]
            since = some.head(1) if back is None else before(some.head(1), back)
            acc = history.ask(since.item(), some.tail(1).dt.offset_by("1us").item(), (window, *self.columns), None)
            for cut in self.cuts:
                yield cut, self.windows[i : i + AT_ONCE], acc.rollup(window, *cut)
