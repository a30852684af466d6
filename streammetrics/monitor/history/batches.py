"""Batches of a history, each of which is added once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streammetrics.errors import Argument, DataError, SpecificationError
from streammetrics.monitor.history.table import deltalake

SOURCE = "streammetrics.source/"  # prefix of the transaction with the offset of a source


@dataclass(frozen=True)
class Batch:
    """Rows with an ID, or between two offsets of a source. A transaction of the table records that they are stored."""

    batch_id: str | None = None
    source: str | None = None
    start: int | None = None
    upto: int | None = None

    def __post_init__(self) -> None:
        if (self.batch_id is None) == (self.source is None):
            raise SpecificationError("Pass either ", Argument("batch_id"), " or ", Argument("source"), ".")
        if self.source is None:
            if self.start is not None or self.upto is not None:
                raise SpecificationError(Argument("start"), " and ", Argument("upto"), " require a source.")
            if not isinstance(self.batch_id, str) or not self.batch_id or self.batch_id.startswith(SOURCE):
                raise SpecificationError(Argument("batch_id"), f" must be a nonempty string, got {self.batch_id!r}.")
            return
        if not isinstance(self.source, str) or not self.source:
            raise SpecificationError(Argument("source"), f" must be a nonempty string, got {self.source!r}.")
        for name, offset in (("start", self.start), ("upto", self.upto)):
            is_offset = isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < 1 << 63
            if not is_offset and (name, offset) != ("start", None):
                raise SpecificationError(Argument(name), f" must be an integer from 0 to 2**63 - 1, got {offset!r}.")

    def is_stored(self, table: Any) -> bool:
        """Return whether this version of the history has the rows. Rejects partial overlaps and gaps."""
        if self.source is None:
            return table.transaction_version(self.batch_id) is not None
        stored = stored_offset(table, self.source)
        if stored is None or (self.upto or 0) <= stored:
            return stored is not None
        if self.start not in (None, stored):
            raise DataError(
                f"The batch has offsets {self.start} to {self.upto} of source {self.source!r}, but the history ends at "
                f"offset {stored}. Read the source from offset {stored}."
            )
        return False

    def transaction(self, version: int) -> Any:
        """Return the transaction of a commit that adds the rows as this version."""
        if self.source is None:
            return deltalake().Transaction(app_id=self.batch_id, version=version)
        return deltalake().Transaction(app_id=SOURCE + self.source, version=self.upto)


def stored_offset(table: Any, source: str) -> int | None:
    """Return the stored offset of a source in a version of the history, or None if it has no rows of it."""
    version: int | None = table.transaction_version(SOURCE + source)
    return version
