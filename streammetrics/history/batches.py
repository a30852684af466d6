"""Which batches and offsets a history has, so that each row comes in once.

A batch is a transaction of the table, until it is put down in a table beside it. Every commit reads all transactions of
a table, so they must stay few. The table of batches may grow: it is sorted, and a look-up reads a few rows of it. A
batch is put down there first and taken from the transactions afterwards, so that it is known at any time. Whoever looks
it up opens the history's version first and this table afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import polars as pl

from streammetrics.errors import Argument, DataError, SpecificationError
from streammetrics.history.table import Table, deltalake, write

FOLDER = "_batches"  # which Delta Lake leaves alone, as all names that begin so
RETENTION = {"delta.setTransactionRetentionDuration": "interval 3650 days"}  # of transactions that say their time
OVER = 0  # a time that is longer ago
SOURCE = "streammetrics.source/"  # begins the name of the transaction that holds the offset of a source
ROWS = 4_096  # that are read together
FILES = 8  # from which on they are put together


class Origin(Protocol):
    """What is brought once: where rows come from, and the transaction that says that they are there."""

    def is_known(self, table: Any, batches: Batches) -> bool:
        """Whether this version of the history has it."""

    def transaction(self, version: int) -> Any:
        """What a commit that brings it says, if it makes this version."""


@dataclass(frozen=True)
class Named:
    """A batch with a name of its own."""

    batch_id: str

    def __post_init__(self) -> None:
        if not isinstance(self.batch_id, str) or not self.batch_id or self.batch_id.startswith(SOURCE):
            raise SpecificationError(Argument("batch_id"), f" must be a text that is not empty, not {self.batch_id!r}.")

    def is_known(self, table: Any, batches: Batches) -> bool:
        """Whether this version of the history has it."""
        return table.transaction_version(self.batch_id) is not None or self.batch_id in batches

    def transaction(self, version: int) -> Any:
        """What a commit that brings it says, if it makes this version."""
        return deltalake().Transaction(app_id=self.batch_id, version=version)


@dataclass(frozen=True)
class Stretch:
    """The rows of a source from one offset to another."""

    source: str
    start: int | None
    upto: int

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise SpecificationError(Argument("source"), f" must be a text that is not empty, not {self.source!r}.")
        for name, offset in (("start", self.start), ("upto", self.upto)):
            whole = isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < 1 << 63
            if not whole and (name, offset) != ("start", None):
                raise SpecificationError(Argument(name), f" must be an integer from 0 to 2**63 - 1, got {offset!r}.")

    def is_known(self, table: Any, batches: Batches) -> bool:
        """Whether this version of the history has it.

        Raises:
            DataError: If it has a part of it, or there would be a gap.
        """
        stored = offset(table, self.source)
        if stored is None or self.upto <= stored:
            return stored is not None
        if self.start not in (None, stored):
            raise DataError(
                f"The batch has the offsets {self.start} to {self.upto} of source {self.source!r}, and the history "
                f"goes up to {stored}. Read the source from there, as offset() says."
            )
        return False

    def transaction(self, version: int) -> Any:
        """What a commit that brings it says."""
        return deltalake().Transaction(app_id=SOURCE + self.source, version=self.upto)


def origin_of(batch_id: str | None, source: str | None, start: int | None, upto: int | None) -> Origin:
    """Where a batch comes from: it has a name of its own, or is a stretch of a source."""
    if (batch_id is None) == (source is None):
        raise SpecificationError("Pass either ", Argument("batch_id"), " or ", Argument("source"), ".")
    if source is not None:
        return Stretch(source, start, -1 if upto is None else upto)
    if start is not None or upto is not None:
        raise SpecificationError(Argument("start"), " and ", Argument("upto"), " belong to a source.")
    return Named(batch_id or "")


def offset(table: Any, source: str) -> int | None:
    """Up to which offset of a source a version of the history has all rows; None if it has none."""
    found: int | None = table.transaction_version(SOURCE + source)
    return found


@dataclass(frozen=True)
class Batches:
    """The table of batches beside a history."""

    table: Table

    @classmethod
    def of(cls, history: Table) -> Batches:
        """The batches of a history."""
        return cls(history.beside(FOLDER))

    def __contains__(self, batch_id: str) -> bool:
        return self._among(pl.Series("batch_id", [batch_id])).len() > 0

    def retire(self, history: Table, ids: pl.Series) -> None:
        """Put batches down here, and take them from the transactions of the history."""
        new = ids.filter(~ids.is_in(self._among(ids).implode())).sort()
        if new.is_empty():
            return
        self._add(new)
        over = [deltalake().Transaction(app_id=name, version=0, last_updated=OVER) for name in new]

        def forget(found: Any) -> None:
            """They are over for whoever reads the next version."""
            if not RETENTION.items() <= found.metadata().configuration.items():
                found.alter.set_table_properties(RETENTION)
            write(found, pl.DataFrame(schema=pl.Schema(found.schema())).to_arrow(), transactions=over)

        def leave_out(found: Any) -> None:
            """They are not even read, since the log before a checkpoint is not."""
            found.create_checkpoint()
            history.settle(found)

        history.commit(forget)
        history.commit(leave_out)

    def _among(self, ids: pl.Series) -> pl.Series:
        """Which of some batches are here."""
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
            mark = deltalake().Transaction(app_id=FOLDER, version=table.version() + 1)  # a whole commit ends so
            mode: Literal["append", "overwrite"] = "overwrite" if many else "append"
            write(table, rows.to_frame().to_arrow(), mode=mode, transactions=[mark], together=ROWS)

        self.table.commit(add)
        self.table.commit(lambda table: table.vacuum(dry_run=False, full=True))
