"""Versions of the specification of a history, and queries over rows of several versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator, merge
from streammetrics.errors import MergeError, StateError
from streammetrics.history.layout import OWN, PLACE, Layout, require_distinct, stored
from streammetrics.history.union import MAY, missing, require_alike, union, widened
from streammetrics.rows.roles import SINGLE, Column
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
        return pl.col(NUMBER).replace_strict(of) if len(of) > 1 else pl.lit(of[1])

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
        if len(self.layouts) == 1:
            return rows
        there = rows.collect_schema().names()
        lacking = [pl.lit(None, kind).alias(name) for name, kind in self.types.items() if name not in there]
        return rows.with_columns(lacking).with_columns(pl.col(NUMBER).fill_null(1))

    def present(self, rows: pl.LazyFrame) -> dict[int, Any]:
        """Return the versions that have rows, and the last window of each."""
        if len(self.layouts) == 1:
            return {1: None}
        last = rows.group_by(NUMBER).agg(pl.col(self.newest.window).max()).sort(NUMBER)
        return dict(self.keys(last.collect()).iter_rows())

    def of(self, number: int, rows: pl.LazyFrame, own: Sequence[str]) -> pl.LazyFrame:
        """Return the rows of a version, with its columns, the groups of all versions, and some internal columns."""
        found = rows if len(self.layouts) == 1 else rows.filter(pl.col(NUMBER) == number)
        return found.select(list(dict.fromkeys([*self.groups, *own, *self[number].schema])))

    def added_up(self, rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Return rows of the table, merged by group and version."""
        for number in self.present(rows):
            layout = self[number]
            for part in layout.parts(self.of(number, rows, [*OWN])):
                yield self.stored(number, layout.added_up(part))

    def answer(self, rows: pl.LazyFrame, columns: Sequence[Column], where: pl.Expr | None) -> Accumulator:
        """Return the merged state of rows of the table, by some of the group columns.

        It has the statistics of the newest version and of the rows.
        """
        last = self.present(rows)
        whole = self._union([*last])
        empty, chosen = whole.rollup(*columns), None
        if where is not None:
            whole.filter(where)  # which raises for an invalid one
            keys = rows.select(self.groups).unique().collect()
            chosen = keys[self.keys(keys).with_row_index(PLACE).filter(where)[PLACE]]

        def parts() -> Iterator[Accumulator]:
            for number, window in last.items():
                layout = self[number]
                own = [c for c in columns if not isinstance(c, str) or c in layout.groups]
                lacks = missing(layout.empty, empty, window)
                for part in layout.parts(self.of(number, rows, ["version"]), chosen):
                    yield widened(layout.fold(part).rollup(*own), empty, lacks)

        found = parts()
        return merge(chain([next(found, empty)], found))

    def described(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Return the first and last window of each version, their number, and the changes from the previous version."""
        window, number = self.newest.window, pl.col(NUMBER) if len(self.layouts) > 1 else pl.lit(1, pl.Int64())
        ends = {"first": pl.min(window), "last": pl.max(window), "windows": pl.n_unique(window)}
        found = rows.group_by(number.alias("version")).agg(**ends).collect()
        kind = self.schema[window]
        changes = [", ".join(self._added(n)) for n in range(1, len(self.layouts) + 1)]
        every = pl.DataFrame({"version": range(1, len(changes) + 1), "changes": changes})
        found = every.join(found.cast({"first": kind, "last": kind}), on="version", how="left", maintain_order="left")
        return found.select("version", "first", "last", pl.col("windows").fill_null(0), "changes")

    def _added(self, number: int) -> Iterator[str]:
        """Differences from the previous version."""
        if number == 1:
            return
        before, after = (_parts(self[n].empty) for n in (number - 1, number))
        for what in after:
            for sign, more, less in (("+", after[what], before[what]), ("-", before[what], after[what])):
                yield from (f"{sign} {what} {name}" for name in more if name not in less)

    def _union(self, present: Sequence[int]) -> Accumulator:
        """An empty accumulator with the statistics of the newest version and some others."""
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
