"""Versions of the specification of a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import MergeError, StateError
from streammetrics.history.columns import OWN, require_distinct, stored
from streammetrics.history.layout import Layout
from streammetrics.history.migration import MAY, require_alike, union
from streammetrics.history.window import Window
from streammetrics.rows.roles import SINGLE
from streammetrics.statistics.thresholded import Thresholded

STATE = "streammetrics.state"  # of the table's configuration: the empty accumulator in base64
ONCE = "streammetrics.state.tables"  # key in older tables
LATER = "streammetrics.state.version.{}"  # for version 2 and later
WINDOW = "streammetrics.window"  # the name of the window column
NUMBER = "specification"  # the column with the version of a row; null for the first


@dataclass(frozen=True)
class Versions:
    """The layout of each version of a history, the newest last. The first one determines the window.

    A column has the type of the first version that has it. Rows have the number of their version, and lack the columns
    of other versions.
    """

    layouts: tuple[Layout, ...]

    @classmethod
    def read(cls, configuration: Mapping[str, str]) -> Versions:
        """Return the versions from the configuration of a table."""
        state, window = configuration.get(STATE, configuration.get(ONCE)), configuration.get(WINDOW)
        if state is None or window is None:
            raise StateError("Not a streammetrics history: the table's configuration has no state.")
        states = [state]
        while (key := LATER.format(len(states) + 1)) in configuration:
            states.append(configuration[key])
        return _told(tuple(states), window)

    @property
    def newest(self) -> Layout:
        """The layout of the newest version."""
        return self.layouts[-1]

    @property
    def window(self) -> Window:
        """The window column."""
        return Window(self.newest.window, self.schema[self.newest.window])

    def __getitem__(self, number: int) -> Layout:
        return self.layouts[number - 1]

    def require(self, acc: Accumulator) -> None:
        """Reject an accumulator that reads rows differently, or lacks the window or a segment."""
        for layout in self.layouts:
            require_alike(layout.empty.roles, acc.roles)
        if self.newest.window not in acc.roles.by:
            raise MergeError(f"The accumulator is not grouped by {self.newest.window!r}, the window of the history.")
        always = set.intersection(*(set(layout.empty.roles.by) for layout in self.layouts))
        if lost := [name for name in self.newest.empty.roles.by if name in always and name not in acc.roles.by]:
            raise MergeError(f"The accumulator is not grouped by {lost[0]!r}, a segment of the history. {MAY}")

    def taking(self, acc: Accumulator) -> tuple[int, Versions]:
        """Return the version number of an accumulator, and the versions, including it if it is new."""
        for number, layout in reversed([*enumerate(self.layouts, 1)]):
            if layout.empty.roles == acc.roles and layout.empty.statistics == acc.statistics:
                return number, self
        self.require(acc)
        made = Versions((*self.layouts, Layout.of(acc, self.newest.window, self.schema)))
        require_distinct(acc.roles.by, made.columns)
        return len(made.layouts), made

    @property
    def told(self) -> dict[str, str]:
        """Return the entries of the newest version in the configuration of the table."""
        if len(self.layouts) == 1:
            return {STATE: self.newest.state, WINDOW: self.newest.window}
        return {LATER.format(len(self.layouts)): self.newest.state}

    @cached_property
    def schema(self) -> pl.Schema:
        """Group columns and nested columns of all versions, in the types that accumulators have."""
        found: dict[str, Any] = {}
        for layout in self.layouts:
            found |= {name: kind for name, kind in layout.schema.items() if name not in found}
        return pl.Schema(found)

    @cached_property
    def types(self) -> dict[str, pl.DataType]:
        """The types of the columns of the table, including the number of the version."""
        return {name: stored(kind) for name, kind in self.schema.items()} | OWN | {NUMBER: pl.Int64()}

    @cached_property
    def groups(self) -> list[str]:
        """The group columns of all versions."""
        return list(dict.fromkeys(name for layout in self.layouts for name in layout.groups))

    @cached_property
    def own(self) -> list[str]:
        """Columns of the table that describe the append of a row, and its version."""
        return [*OWN, *([NUMBER] if len(self.layouts) > 1 else [])]

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table, starting with those that are used to skip files."""
        return [*self.groups, *self.own, *(name for name in self.schema if name not in self.groups)]

    @property
    def models(self) -> pl.Expr:
        """Number of models of a row of the table."""
        of = {number: len(layout.empty.roles.models) for number, layout in enumerate(self.layouts, 1)}
        return pl.col(NUMBER).replace_strict(of)

    @property
    def names_of_models(self) -> tuple[str, ...]:
        """The names of the models of all versions; empty if models have no names."""
        return tuple(dict.fromkeys(name for layout in self.layouts for name in _parts(layout.empty)["model"]))

    @property
    def together(self) -> int:
        """Number of rows of a file that are read together."""
        return min(layout.together for layout in self.layouts)

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Group columns of the table in the types that accumulators have."""
        return rows.cast({name: self.schema[name] for name in self.groups if name in rows.columns})

    def stored(self, number: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows of a version with all columns of the table."""
        lacking = [pl.lit(None, self.types[name]).alias(name) for name in self.columns if name not in rows.columns]
        numbered = rows.with_columns(lacking)
        if number > 1:
            numbered = numbered.with_columns(pl.lit(number, self.types[NUMBER]).alias(NUMBER))
        return numbered.select(self.columns)

    def scanned(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows of the table with the columns of versions without rows, and the number of the version."""
        there = rows.collect_schema().names()
        lacking = [pl.lit(None, kind).alias(name) for name, kind in self.types.items() if name not in there]
        return rows.with_columns(lacking).with_columns(pl.col(NUMBER).fill_null(1))

    def changes(self, number: int) -> Iterator[str]:
        """Return the differences of a version from the previous one."""
        if number == 1:
            return
        before, after = (_parts(self[n].empty) for n in (number - 1, number))
        for what in after:
            for sign, more, less in (("+", after[what], before[what]), ("-", before[what], after[what])):
                yield from (f"{sign} {what} {name}" for name in more if name not in less)

    def union(self, present: Iterable[int]) -> Accumulator:
        """Return an empty accumulator with the statistics of the newest version and some others."""
        if len(self.layouts) == 1:
            return self.newest.empty
        by = dict.fromkeys(name for layout in self.layouts for name in layout.empty.roles.by)
        return union([self[number].empty for number in present], self.newest.empty, [*by], self.schema)


@lru_cache(maxsize=64)
def _told(states: tuple[str, ...], window: str) -> Versions:
    """The versions of a window and empty accumulators, which must not be updated."""
    versions = Versions(())
    for state in states:
        layout = Layout.read(state, window).typed_as(versions.schema)
        versions = Versions((*versions.layouts, layout))
    return versions


def _parts(acc: Accumulator) -> dict[str, list[str]]:
    """Parts in which versions can differ."""
    thresholds = sorted({t for s in acc.statistics for t in getattr(s, "thresholds", ())})
    return {
        "segment": list(acc.roles.by),
        "model": [model for model in acc.roles.models if model != SINGLE],
        "threshold": [f"{threshold:g}" for threshold in thresholds],
        "statistic": [type(s).__name__ if isinstance(s, Thresholded) else repr(s) for s in acc.statistics],
    }
