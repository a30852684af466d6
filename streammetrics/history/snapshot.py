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
from streammetrics.history.layout import PLACE
from streammetrics.history.migration import migrate
from streammetrics.history.table import Table, in_small_files
from streammetrics.history.versions import NUMBER, Versions
from streammetrics.history.windows import Windows
from streammetrics.rows.roles import MODEL, Column, several


@dataclass(frozen=True)
class Snapshot:
    """A version of the table of a history, and the versions of its specification."""

    place: Table
    table: Any
    versions: Versions

    @property
    def files(self) -> int:
        """Number of data files."""
        return len(self.table.file_uris())

    def rows(self, *where: pl.Expr) -> pl.LazyFrame:
        """Return the rows that meet some conditions, with the columns of all versions."""
        return self.versions.scanned(self.place.scan(self.table)).filter(*where)

    def query(
        self,
        since: Any = None,
        until: Any = None,
        by: str | Sequence[str] = (),
        every: str | None = None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        """Return the merged state of a time range, with the statistics of the newest version and of its rows."""
        window = self.versions.window
        columns: list[Column] = [*([] if every is None else [window.truncated(every)]), *several(by)]
        between = window.between(since, until)
        with self.place.reading():
            return self._merged(self.rows(*between), columns, where)

    def _merged(self, rows: pl.LazyFrame, columns: Sequence[Column], where: pl.Expr | None) -> Accumulator:
        last, chosen = self._present(rows), None
        whole = self.versions.union(last)
        empty = whole.rollup(*columns)
        if where is not None:
            whole.filter(where)  # which raises for an invalid one
            keys = rows.select(self.versions.groups).unique().collect()
            chosen = keys[self.versions.keys(keys).with_row_index(PLACE).filter(where)[PLACE]]

        def parts() -> Iterator[Accumulator]:
            for number, newest in last.items():
                layout = self.versions[number]
                own = [c for c in columns if not isinstance(c, str) or c in layout.groups]
                for part in layout.parts(self._of(number, rows, ["version"]), chosen):
                    yield migrate(layout.fold(part).rollup(*own), empty, newest)

        found = parts()
        return merge(chain([next(found, empty)], found))

    def _present(self, rows: pl.LazyFrame) -> dict[int, Any]:
        """The versions of the specification that have rows, and the last window of each."""
        if len(self.versions.layouts) == 1:
            return {1: None}
        last = rows.group_by(NUMBER).agg(pl.col(self.versions.window.name).max()).sort(NUMBER)
        return dict(self.versions.keys(last.collect()).iter_rows())

    def _of(self, number: int, rows: pl.LazyFrame, own: Sequence[str]) -> pl.LazyFrame:
        """The rows of a version, with its columns, the groups of all versions, and some internal columns."""
        found = rows if len(self.versions.layouts) == 1 else rows.filter(pl.col(NUMBER) == number)
        return found.select(list(dict.fromkeys([*self.versions.groups, *own, *self.versions[number].schema])))

    def merged_by_group(self, rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Return rows of the table merged by group and version, a few windows at a time."""
        for number in self._present(rows):
            layout = self.versions[number]
            for part in layout.parts(self._of(number, rows, [*OWN])):
                yield self.versions.stored(number, layout.added_up(part))

    def scattered(self) -> pl.Series:
        """Return the windows with several rows of a group, or in small files, which compaction merges."""
        window = self.versions.window.name
        several_rows = self.rows().group_by(*self.versions.groups, NUMBER).len(PLACE).filter(pl.col(PLACE) > 1)
        return pl.concat([several_rows.select(window).collect()[window], in_small_files(self.table, window)]).unique()

    def batch_ids(self) -> pl.Series:
        """Return the IDs of the appends that still have rows of their own."""
        with self.place.reading():
            return self.rows().select(pl.col("batch_id").drop_nulls().unique()).collect()["batch_id"]

    def windows(self) -> Windows:
        """Return the windows in order, as rules and pages read them."""
        with self.place.reading():
            found = self.rows().select(pl.col(self.versions.window.name).unique()).collect()
        starts = self.versions.keys(found).to_series().drop_nulls().sort()
        empty, models = self.versions.newest.empty, self.versions.names_of_models
        groups = tuple(name for name in self.versions.groups if name != MODEL)
        labels = LabelCoverage(self.place.beside(FOLDER), self.versions.window, groups)
        return Windows(str(self.place.uri), starts, self.query, empty, models, labels)

    def sizes(self) -> pl.DataFrame:
        """Return the number of groups, rows, and parts of each window, and its last append."""
        window, seen = self.versions.window.name, pl.col("row_counts").list.first().struct.field("rows")
        groups = pl.struct(self.versions.groups).n_unique().alias("groups")
        rows = (seen / self.versions.models).sum().round().cast(pl.Int64)
        with self.place.reading():
            found = self.rows().group_by(window).agg(groups, rows, parts=pl.len(), ingested=pl.max("ingested"))
            return self.versions.keys(found.sort(window).collect())

    def described(self) -> pl.DataFrame:
        """Return the first and last window of each version, their number, and the changes from the previous version."""
        window, numbers = self.versions.window, range(1, len(self.versions.layouts) + 1)
        ends = {"first": pl.min(window.name), "last": pl.max(window.name), "windows": pl.n_unique(window.name)}
        with self.place.reading():
            found = self.rows().group_by(pl.col(NUMBER).alias("version")).agg(**ends).collect()
        found = found.cast({"first": window.kind, "last": window.kind})
        changes = [", ".join(self.versions.changes(number)) for number in numbers]
        every = pl.DataFrame({"version": numbers, "changes": changes})
        every = every.join(found, on="version", how="left", maintain_order="left")
        return every.select("version", "first", "last", pl.col("windows").fill_null(0), "changes")
