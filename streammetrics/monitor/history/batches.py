"""Batches and offsets of a history, so that each row is added once. Both are transactions of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from streammetrics.errors import Argument, DataError, SpecificationError
from streammetrics.monitor.history.table import deltalake

SOURCE = "streammetrics.source/"  # prefix of the transaction with the offset of a source


@dataclass(frozen=True)
class Named:
    """A batch with an ID."""

    batch_id: str

    def __post_init__(self) -> None:
        if not isinstance(self.batch_id, str) or not self.batch_id or self.batch_id.startswith(SOURCE):
            raise SpecificationError(Argument("batch_id"), f" must be a nonempty string, got {self.batch_id!r}.")

    def is_known(self, table: Any) -> bool:
        """Return whether this version of the history has it."""
        return table.transaction_version(self.batch_id) is not None

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
            raise SpecificationError(Argument("source"), f" must be a nonempty string, got {self.source!r}.")
        for name, offset in (("start", self.start), ("upto", self.upto)):
            whole = isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset < 1 << 63
            if not whole and (name, offset) != ("start", None):
                raise SpecificationError(Argument(name), f" must be an integer from 0 to 2**63 - 1, got {offset!r}.")

    def is_known(self, table: Any) -> bool:
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
        raise SpecificationError("Pass either ", Argument("batch_id"), " or ", Argument("source"), ".")
    if source is not None:
        return Stretch(source, start, -1 if upto is None else upto)
    if start is not None or upto is not None:
        raise SpecificationError(Argument("start"), " and ", Argument("upto"), " require a source.")
    return Named(batch_id or "")


def offset(table: Any, source: str) -> int | None:
    """Return the stored offset of a source in a version of the history, or None if it has no rows of it."""
    found: int | None = table.transaction_version(SOURCE + source)
    return found
