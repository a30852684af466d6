"""One version of a history: what queries, rules, and pages read, even if other processes append meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator, merge
from streammetrics.history.columns import OWN
from streammetrics.history.label_coverage import FOLDER, LabelCoverage
from streammetrics.history.layout import PLACE, Layout
from streammetrics.history.table import Table, in_small_files
from streammetrics.history.windows import Windows
from streammetrics.rows.roles import MODEL, Column, several


@dataclass(frozen=True)
class Snapshot:
    """A version of the table of a history."""

    place: Table
    table: Any
    layout: Layout

    @property
    def files(self) -> int:
        """Number of data files."""
        return len(self.table.file_uris())

    def rows(self, *where: pl.Expr) -> pl.LazyFrame:
        """Return the rows that meet some conditions."""
        return self.place.scan(self.table).filter(*where)

    def query(
        self,
        since: Any = None,
        until: Any = None,
        by: str | Sequence[str] = (),
        every: str | None = None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        """Return the merged state of a time range."""
        layout, window = self.layout, self.layout.window
        columns: list[Column] = [*([] if every is None else [window.truncated(every)]), *several(by)]
        between = window.between(since, until)
        with self.place.reading():
            rows, keys = self.rows(*between), None
            empty = layout.empty.rollup(*columns)
            if where is not None:
                layout.empty.filter(where)  # which raises for an invalid one
                keys = rows.select(layout.groups).unique().collect()
                keys = keys[layout.keys(keys).with_row_index(PLACE).filter(where)[PLACE]]
            parts = (layout.fold(part).rollup(*columns) for part in self._parts(rows, ["version"], keys))
            return merge(chain([next(parts, empty)], parts))

    def _parts(
        self, rows: pl.LazyFrame, own: Sequence[str], keys: pl.DataFrame | None = None
    ) -> Iterator[pl.DataFrame]:
        """The rows of all or selected groups with some internal columns, a few windows at a time."""
        return self.layout.parts(rows.select(*self.layout.schema, *own), keys)

    def merged_by_group(self, rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Return rows of the table merged by group, a few windows at a time."""
        return (self.layout.added_up(part) for part in self._parts(rows, [*OWN]))

    def scattered(self) -> pl.Series:
        """Return the windows with several rows of a group, or in small files, which compaction merges."""
        window = self.layout.window.name
        several_rows = self.rows().group_by(*self.layout.groups).len(PLACE).filter(pl.col(PLACE) > 1)
        return pl.concat([several_rows.select(window).collect()[window], in_small_files(self.table, window)]).unique()

    def windows(self) -> Windows:
        """Return the windows in order, as rules and pages read them."""
        layout = self.layout
        with self.place.reading():
            found = self.rows().select(pl.col(layout.window.name).unique()).collect()
        starts = layout.keys(found).to_series().drop_nulls().sort()
        groups = tuple(name for name in layout.groups if name != MODEL)
        labels = LabelCoverage(self.place.beside(FOLDER), layout.window, groups)
        return Windows(str(self.place.uri), starts, self.query, layout.empty, layout.models, labels)

    def sizes(self) -> pl.DataFrame:
        """Return the number of groups, rows, and parts of each window, and its last append.

        Models can evaluate the same rows, so the rows of a segment are those of the model that has most.
        """
        window, groups = self.layout.window.name, self.layout.groups
        keys = list(dict.fromkeys([window, *(name for name in groups if name != MODEL)]))
        seen = pl.col("row_counts").list.first().struct.field("rows").sum().alias("rows")
        with self.place.reading():
            found = self.rows().group_by(groups).agg(seen, pl.len().alias("parts"), pl.max("ingested"))
            found = found.group_by(keys).agg(pl.len().alias("groups"), pl.max("rows", "ingested"), pl.sum("parts"))
            found = found.group_by(window).agg(pl.sum("groups", "rows", "parts"), pl.max("ingested"))
            found = found.select(window, pl.col("groups").cast(pl.UInt32), "rows", "parts", "ingested")
            return self.layout.keys(found.sort(window).collect())
