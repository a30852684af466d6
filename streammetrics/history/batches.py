"""Batches and offsets of a history, so that each row is added once.

A batch is a transaction of the table until it is moved to a separate table of batches. Every commit reads all
transactions of a table, so there must be few. The table of batches can grow: it is sorted, and a lookup reads a few
rows. A batch is written there before it is removed from the transactions, so it is known at any time. A lookup must
therefore open the version of the history first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.errors import DataError, SpecificationError
from streammetrics.history.table import Table, deltalake, write

FOLDER = "_batches"  # which Delta Lake ignores, like all names that begin with it
RETENTION = {"delta.setTransactionRetentionDuration": "interval 3650 days"}  # of transactions with a timestamp
OVER = 0  # a timestamp before that
SOURCE = "streammetrics.source/"  # prefix of the transaction with the offset of a source
ROWS = 4_096  # that are read together
FILES = 8  # from which files are merged


@dataclass(frozen=True)
class Named:
    """A batch with an ID."""

    batch_id: str

    def __post_init__(self) -> None:
        if not isinstance(self.batch_id, str) or not self.batch_id or self.batch_id.startswith(SOURCE):
            raise SpecificationError(f"batch_id= must be a nonempty string, got {self.batch_id!r}.")

    def is_known(self, table: Any, batches: Batches) -> bool:
        """Return whether this version of the history has it."""
        return table.transaction_version(self.batch_id) is not None or self.batch_id in batches

    def transaction(self, version: int) -> Any:
        """Return the transaction of a commit that adds it as this version."""
        return deltalake().Transaction(app_id=self.batch_id, version=version)


@dataclass(frozen=True)
class Stretch:
    """The rows of a source between two offsets."""

    source: str
    start: int | None
    upto: int

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise SpecificationError(f"source= must be a nonempty string, got {self.source!r}.")
        for name, offset in (("start", self.start), ("upto", self.upto)):
            whole = isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < 1 << 63
            if not whole and (name, offset) != ("start", None):
                raise SpecificationError(f"{name}= must be an integer from 0 to 2**63 - 1, got {offset!r}.")

    def is_known(self, table: Any, batches: Batches) -> bool:
        """Return whether this version of the history has these rows. Rejects partial overlaps and gaps."""
        stored = offset(table, self.source)
        if stored is None or self.upto <= stored:
            return stored is not None
        if self.start not in (None, stored):
            raise DataError(
                f"The batch has offsets {self.start} to {self.upto} of source {self.source!r}, but the history ends at "
                f"offset {stored}. Read the source from offset {stored}."
            )
        return False

    def transaction(self, version: int) -> Any:
        """The transaction of a commit that adds it."""
        return deltalake().Transaction(app_id=SOURCE + self.source, version=self.upto)


Origin: TypeAlias = Named | Stretch
"""The origin of rows that are added once, and the transaction that records it."""


def origin_of(batch_id: str | None, source: str | None, start: int | None, upto: int | None) -> Origin:
    """Return the origin of a batch: an ID, or offsets of a source."""
    if (batch_id is None) == (source is None):
        raise SpecificationError("Pass either batch_id= or source=.")
    if source is not None:
        return Stretch(source, start, -1 if upto is None else upto)
    if start is not None or upto is not None:
        raise SpecificationError("start= and upto= require a source.")
    return Named(batch_id or "")


def offset(table: Any, source: str) -> int | None:
    """Return the stored offset of a source in a version of the history, or None if it has no rows of it."""
    found: int | None = table.transaction_version(SOURCE + source)
    return found


@dataclass(frozen=True)
class Batches:
    """The table of batches of a history."""

    table: Table

    @classmethod
    def of(cls, history: Table) -> Batches:
        """Return the batches of a history."""
        return cls(history.beside(FOLDER))

    def __contains__(self, batch_id: str) -> bool:
        return self._among(pl.Series("batch_id", [batch_id])).len() > 0

    def retire(self, history: Table, ids: pl.Series) -> None:
        """Move batches from the transactions of the history to this table."""
        new = ids.filter(~ids.is_in(self._among(ids).implode())).sort()
        if new.is_empty():
            return
        self._add(new)
        over = [deltalake().Transaction(app_id=name, version=0, last_updated=OVER) for name in new]

        def forget(found: Any) -> None:
            """Let the transactions expire from the next version on."""
            if not RETENTION.items() <= found.metadata().configuration.items():
                found.alter.set_table_properties(RETENTION)
            write(found, pl.DataFrame(schema=pl.Schema(found.schema())).to_arrow(), transactions=over)

        def leave_out(found: Any) -> None:
            """Write a checkpoint, before which the log is not read."""
            found.create_checkpoint()
            history.settle(found)

        history.commit(forget)
        history.commit(leave_out)

    def _among(self, ids: pl.Series) -> pl.Series:
        table = self.table.find()
        if table is None:
            return ids.clear()
        with self.table.reading():
            inside = pl.col("batch_id").is_between(pl.lit(ids.min()), pl.lit(ids.max()))
            return self.table.scan(table).filter(inside & pl.col("batch_id").is_in(ids.implode())).collect()["batch_id"]

    def _add(self, ids: pl.Series) -> None:
        if self.table.find() is None:
            self.table.create(ids.to_frame().to_arrow().schema, {})

        def add(table: Any) -> None:
            many = len(table.file_uris()) >= FILES
            rows = pl.concat([self.table.scan(table).collect()["batch_id"], ids]).unique().sort() if many else ids
            mark = deltalake().Transaction(app_id=FOLDER, version=table.version() + 1)  # end of a complete commit
            mode: Literal["append", "overwrite"] = "overwrite" if many else "append"
            write(table, rows.to_frame().to_arrow(), mode=mode, transactions=[mark], together=ROWS)

        self.table.commit(add)
        self.table.commit(lambda table: table.vacuum(dry_run=False, full=True))
