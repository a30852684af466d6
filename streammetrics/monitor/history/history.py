"""One version of a history: answers from its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.data import MODEL, Column, several
from streammetrics.errors import MergeError
from streammetrics.monitor.history.label_coverage import FOLDER, LabelCoverage
from streammetrics.monitor.history.specification import COMMIT, Specification, carried
from streammetrics.monitor.history.table import Table, one_of, values_in_small_files
from streammetrics.monitor.history.window import clock
from streammetrics.reading import require_model
from streammetrics.statistics import GROUP

AT_ONCE = 32  # windows that are read together
RECENT = 16  # cached answers: rules often ask the same


@dataclass(frozen=True)
class History:
    """One version of a history, as queries, rules, and pages read it."""

    place: Table
    table: Any
    specification: Specification

    @property
    def empty(self) -> Accumulator:
        """An empty accumulator of the history."""
        return self.specification.empty

    @cached_property
    def starts(self) -> pl.Series:
        """The windows in order."""
        with self.place.reading():
            windows = self.rows().select(pl.col(self.specification.window.name).unique()).collect()
        return self.specification.keys(windows).to_series().drop_nulls().sort()

    @cached_property
    def times(self) -> pl.Series:
        """The windows as times."""
        return clock(self.starts)

    @cached_property
    def labels(self) -> LabelCoverage | None:
        """Which labels have arrived; None without a joiner."""
        place, groups = self.place.beside(FOLDER), tuple(c for c in self.specification.groups if c != MODEL)
        table = place.find()
        return None if table is None else LabelCoverage(place, table, self.specification.window, groups)

    def rows(self, *where: pl.Expr) -> pl.LazyFrame:
        """Return the rows of the table that meet some conditions."""
        return self.place.scan(self.table).filter(*where)

    def query(
        self,
        since: Any = None,
        until: Any = None,
        by: str | Sequence[str] = (),
        every: str | None = None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        """Return the merged state of a time range. See `MetricStore.query`."""
        specification = self.specification
        columns: list[Column] = [*([] if every is None else [specification.window.truncated(every)]), *several(by)]
        between = specification.window.between(since, until)
        with self.place.reading():
            rows, keys = self.rows(*between), None
            empty = self.empty.rollup(*columns)
            if where is not None:
                self.empty.filter(where)  # which raises for an invalid one
                keys = rows.select(specification.groups).unique().collect()
                keys = keys[specification.keys(keys).with_row_index(GROUP).filter(where)[GROUP]]
            chunks = specification.chunks(rows, ["version"], keys)
            parts = (specification.fold(chunk).rollup(*columns) for chunk in chunks)
            total = next(parts, empty)
            for part in parts:
                total.absorb(part)
            return total

    def ask(self, since: Any, until: Any, by: tuple[str, ...], model: str | None = None) -> Accumulator:
        """Return the answer to a query, of one model or all."""
        acc = self._answer(since, until, by)
        if model is None:
            return acc
        require_model(model, self.specification.models)
        return acc.filter(pl.col(MODEL) == model)

    @cached_property
    def _answer(self) -> Callable[..., Accumulator]:
        return lru_cache(RECENT)(self.query)

    def merged(self, windows: pl.Series) -> Iterator[pl.DataFrame]:
        """Return the rows of some windows, with one row of each group."""
        chunks = self.specification.chunks(self.rows(one_of(windows)), [*COMMIT])
        return (self.specification.merged(chunk) for chunk in chunks)

    def before_first_of(self, other: History) -> Accumulator:
        """Return the state of the windows before the first one of another history, in its specification."""
        window, by = other.specification.window.name, self.empty.roles.by
        if window not in by:
            raise MergeError(f"The history has no group column {window!r}, the window of the other.")
        specification = other.specification.copying(self.empty)
        acc = self.query(until=other.starts.min(), by=[c for c in by if c in specification.empty.roles.by])
        return carried(acc, specification.empty)

    def scattered(self) -> pl.Series:
        """Return the windows with several rows of a group, or in small files, which compaction merges."""
        window = self.specification.window.name
        repeated = self.rows().group_by(*self.specification.groups).len(GROUP).filter(pl.col(GROUP) > 1)
        return pl.concat(
            [repeated.select(window).collect()[window], values_in_small_files(self.table, window)]
        ).unique()

    def sizes(self) -> pl.DataFrame:
        """Return the number of groups, rows, and parts of each window, and its last append.

        Models can evaluate the same rows, so the rows of a segment are those of the model that has most.
        """
        window, groups = self.specification.window.name, self.specification.groups
        segment = list(dict.fromkeys([window, *(name for name in groups if name != MODEL)]))
        seen = pl.col("row_counts").list.first().struct.field("rows").sum().alias("rows")
        with self.place.reading():
            sizes = self.rows().group_by(groups).agg(seen, pl.len().alias("parts"), pl.max("ingested"))
            sizes = sizes.group_by(segment).agg(pl.len().alias("groups"), pl.max("rows", "ingested"), pl.sum("parts"))
            sizes = sizes.group_by(window).agg(pl.sum("groups", "rows", "parts"), pl.max("ingested"))
            sizes = sizes.select(window, pl.col("groups").cast(pl.UInt32), "rows", "parts", "ingested")
            return self.specification.keys(sizes.sort(window).collect())
