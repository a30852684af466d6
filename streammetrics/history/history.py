"""A history as the library uses it: its versions, and the commits that change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, TypeVar

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.history.batches import RETENTION, Batches, Named, Origin, offset
from streammetrics.history.columns import OWN, one_of, one_of_sql
from streammetrics.history.layout import Layout
from streammetrics.history.snapshot import Snapshot
from streammetrics.history.table import Table, files, missing, write
from streammetrics.history.versions import Versions
from streammetrics.system.lazy import pa

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
            versions = Versions.read(table.metadata().configuration)
        if self.window not in (None, versions.window.name):
            raise SpecificationError(f"The window of the table is {versions.window.name!r}, not {self.window!r}.")
        return Snapshot(self.table, table, versions)

    def offset(self, source: str) -> int | None:
        """Return the offset up to which all rows of a source are stored, or None if there are none of it."""
        table = self.table.find()
        return None if table is None else offset(table, source)

    def specifications(self) -> list[Accumulator]:
        """Return accumulators without rows, one for each version of the specification, the newest first."""
        found = self.find()
        return [] if found is None else [layout.empty for layout in reversed(found.versions.layouts)]

    def require(self, acc: Accumulator) -> None:
        """Reject an accumulator that cannot be appended. The first append can be any with a window."""
        found, filled = self.find(), acc.state.groups.height
        if found is not None:
            found.versions.require(acc)
            if filled:
                number, versions = found.versions.taking(acc)
                versions[number].rows(acc)
        elif filled:
            Layout.of(acc, self.window).rows(acc)

    def add(self, accs: Sequence[Accumulator], origin: Origin, replacing: Any = None) -> bool:
        """Append states in one commit, or replace some windows. Return False if their origin is known."""
        for acc in accs:
            if not isinstance(acc, Accumulator):
                raise SpecificationError(f"acc= must be an Accumulator, got {type(acc).__name__}.")
        filled, newest = [acc for acc in accs if acc.state.groups.height], self.table.find()
        if not filled and replacing is None and (newest is None or isinstance(origin, Named)):
            return False
        if newest is None:
            if replacing is not None:
                raise missing(self.table.uri)
            first = Versions((Layout.of(filled[0], self.window),))
            none = first.stored(1, first.newest.rows(first.newest.empty))
            self.table.create(none.to_arrow().schema, first.told | RETENTION)

        def add(found: Snapshot) -> bool | None:
            """Return whether they were added, or None after adding their specification as a new version."""
            if origin.is_known(found.table, Batches.of(self.table)):
                return False
            version = found.table.version() + 1
            name = origin.batch_id if isinstance(origin, Named) else None
            own = {"batch_id": name, "ingested": datetime.now(UTC), "version": version}
            parts, predicate = [], None
            for acc in filled or [found.versions.newest.empty]:
                number, versions = found.versions.taking(acc)
                rows = versions[number].rows(acc)
                predicate = None if replacing is None else versions.window.only(rows, replacing)
                if versions is not found.versions:
                    found.table.alter.set_table_properties(versions.told, raise_if_not_exists=False)
                    return None
                rows = rows.with_columns(pl.lit(own[column], kind).alias(column) for column, kind in OWN.items())
                parts.append(versions.stored(number, rows))
            write(
                found.table,
                pl.concat(parts).to_arrow(),
                mode="append" if replacing is None else "overwrite",
                predicate=predicate,
                transactions=[origin.transaction(version)],
                together=found.versions.together,
            )
            return True

        while (done := self._commit(add, newest)) is None:
            newest = None
        return done

    def compact(self, vacuum: bool) -> None:
        """Merge the rows of each group, and small files."""

        def merge(found: Snapshot) -> None:
            windows = found.scattered()
            if windows.is_empty():
                return
            parts = (part.to_arrow() for part in found.merged_by_group(found.rows(one_of(windows))))
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            merged = pa.RecordBatchReader.from_batches(first.schema, batches)
            before = f"version <= {found.table.version()} AND ({one_of_sql(windows)})"  # no conflict with appends
            write(found.table, merged, mode="overwrite", predicate=before, together=found.versions.together)

        self._shrink(merge, vacuum)

    def retain(self, since: date | str, vacuum: bool) -> None:
        """Drop the windows before a time."""

        def drop(found: Snapshot) -> None:
            before = f"version <= {found.table.version()} AND {found.versions.window.before(since)}"
            found.table.delete(before, writer_properties=files(found.versions.together))

        self._shrink(drop, vacuum)

    def _shrink(self, step: Callable[[Snapshot], None], vacuum: bool) -> None:
        """Commit a step that removes rows."""
        self.retire_batches()
        self._commit(step)
        if vacuum:
            self._commit(lambda found: found.table.vacuum(dry_run=False, full=True))

    def retire_batches(self) -> None:
        """Move the IDs of all appends from the transactions of the table, which every commit reads, to their table."""
        found = self.open()
        self.table.settle(found.table)  # known IDs must not be lost
        Batches.of(self.table).retire(self.table, found.batch_ids())

    def _commit(self, step: Callable[[Snapshot], T], newest: Any = None) -> T:
        return self.table.commit(lambda table: step(self._snapshot(table)), newest)
