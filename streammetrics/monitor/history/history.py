"""A history as the library uses it: its versions, and the commits that change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, TypeVar

import polars as pl

from streammetrics.accumulator import Accumulator, merge
from streammetrics.base import pa
from streammetrics.data import MODEL, Column, several
from streammetrics.errors import Argument, MergeError, SpecificationError
from streammetrics.monitor.history.batches import Named, Origin, offset
from streammetrics.monitor.history.columns import OWN, one_of, one_of_sql
from streammetrics.monitor.history.label_coverage import FOLDER, LabelCoverage
from streammetrics.monitor.history.layout import PLACE, Layout
from streammetrics.monitor.history.specification import carry, copied
from streammetrics.monitor.history.table import Table, add_columns, files, in_small_files, missing, write
from streammetrics.monitor.history.windows import Windows

T = TypeVar("T")


@dataclass(frozen=True)
class History:
    """The table of a history. ``window`` is the name of the window column, if it was selected."""

    table: Table
    window: str | None = None

    def find(self) -> Snapshot | None:
        """Return the newest version, or None before the first append."""
        table = self.table.find()
        return None if table is None else self._snapshot(table)

    def open(self) -> Snapshot:
        """Return the newest version.

        Raises:
            StateError: If there is none yet, or it cannot be read.
        """
        found = self.find()
        if found is None:
            raise missing(self.table.uri)
        return found

    def _snapshot(self, table: Any) -> Snapshot:
        with self.table.reading():
            layout = Layout.read(table.metadata().configuration)
        if self.window not in (None, layout.window.name):
            raise SpecificationError(f"The window of the table is {layout.window.name!r}, not {self.window!r}.")
        return Snapshot(self.table, table, layout)

    def offset(self, source: str) -> int | None:
        """Return the offset up to which all rows of a source are stored, or None if there are none of it."""
        table = self.table.find()
        return None if table is None else offset(table, source)

    def require(self, acc: Accumulator) -> None:
        """Reject an accumulator that cannot be appended. The first append can be any with a window."""
        found, filled = self.find(), acc.state.groups.height
        if found is not None:
            layout = found.layout.including(acc)
            if filled:
                layout.rows(acc)
        elif filled:
            Layout.of(acc, self.window).rows(acc)

    def add(self, acc: Accumulator, origin: Origin, replacing: Any = None) -> bool:
        """Append a state in one commit, or replace some windows. Return False if its origin is known."""
        if not isinstance(acc, Accumulator):
            raise SpecificationError(Argument("acc"), f" must be an Accumulator, got {type(acc).__name__}.")
        filled, newest = acc.state.groups.height > 0, self.table.find()
        if not filled and replacing is None and (newest is None or isinstance(origin, Named)):
            return False
        if newest is None:
            if replacing is not None:
                raise missing(self.table.uri)
            first = Layout.of(acc, self.window)
            self.table.create(pl.DataFrame(schema=first.stored).to_arrow().schema, first.configuration)

        def add(found: Snapshot) -> bool | None:
            """Return whether it was added, or None after adding its models to the specification."""
            if origin.is_known(found.table):
                return False
            layout = found.layout.including(acc)
            rows = layout.rows(acc if filled else layout.empty)
            predicate = None if replacing is None else layout.window.only(rows, replacing)
            if layout is not found.layout:
                add_columns(found.table, pl.DataFrame(schema=layout.stored).to_arrow().schema)
                found.table.alter.set_table_properties(layout.configuration, raise_if_not_exists=False)
                return None
            version = found.table.version() + 1
            name = origin.batch_id if isinstance(origin, Named) else None
            own = {"batch_id": name, "ingested": datetime.now(UTC), "version": version}
            rows = rows.with_columns(pl.lit(own[column], kind).alias(column) for column, kind in OWN.items())
            write(
                found.table,
                rows.select([*layout.stored]).to_arrow(),
                mode="append" if replacing is None else "overwrite",
                predicate=predicate,
                transactions=[origin.transaction(version)],
                together=layout.together,
            )
            return True

        while (done := self._commit(add, newest)) is None:
            newest = None
        return done

    def copy_to(self, other: History) -> bool:
        """Append the windows before the first one of another history to it. Return False if they were copied before."""
        source, target = self.open(), other.open()
        spec = copied(target.layout.empty, source.layout.empty)
        first = target.windows().starts.min()
        if target.layout.window.name not in source.layout.empty.roles.by:
            raise MergeError(f"The history has no group column {target.layout.window.name!r}, the window of the other.")
        by = [name for name in source.layout.empty.roles.by if name in spec.roles.by]
        acc = carry(source.query(until=first, by=by), spec)
        return other.add(acc, Named(f"copy of {self.table.uri}"))

    def compact(self, vacuum: bool) -> None:
        """Merge the rows of each group, and small files."""

        def merge(found: Snapshot) -> None:
            windows = found.scattered()
            if windows.is_empty():
                return
            rows = found.parts(found.rows(one_of(windows)), [*OWN])
            parts = (found.layout.added_up(part).to_arrow() for part in rows)
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            merged = pa.RecordBatchReader.from_batches(first.schema, batches)
            before = f"version <= {found.table.version()} AND ({one_of_sql(windows)})"  # no conflict with appends
            write(found.table, merged, mode="overwrite", predicate=before, together=found.layout.together)

        self._shrink(merge, vacuum)

    def retain(self, since: date | str, vacuum: bool) -> None:
        """Drop the windows before a time."""

        def drop(found: Snapshot) -> None:
            before = f"version <= {found.table.version()} AND {found.layout.window.before(since)}"
            found.table.delete(before, writer_properties=files(found.layout.together))

        self._shrink(drop, vacuum)

    def _shrink(self, step: Callable[[Snapshot], None], vacuum: bool) -> None:
        """Commit a step that removes rows."""
        self._commit(step)
        if vacuum:
            self._commit(lambda found: found.table.vacuum(dry_run=False, full=True))

    def _commit(self, step: Callable[[Snapshot], T], newest: Any = None) -> T:
        return self.table.commit(lambda table: step(self._snapshot(table)), newest)


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
            parts = (layout.fold(part).rollup(*columns) for part in self.parts(rows, ["version"], keys))
            return merge(chain([next(parts, empty)], parts))

    def parts(self, rows: pl.LazyFrame, own: Sequence[str], keys: pl.DataFrame | None = None) -> Iterator[pl.DataFrame]:
        """The rows of all or selected groups with some internal columns, a few windows at a time."""
        return self.layout.parts(rows.select(*self.layout.schema, *own), keys)

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
