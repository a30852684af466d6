"""A stream of Redis as a source: entries of one row, or of an Arrow table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from streammetrics.errors import Argument, ColumnError, DataError, SourceError, SpecificationError
from streammetrics.system.foreign import reason, translated
from streammetrics.system.lazy import pa

if TYPE_CHECKING:
    from redis import Redis

BITS = 20  # of an offset that count the entries of one millisecond
ARROW = b"arrow"  # the field of an entry that holds a table
FLAGS = {"1": True, "true": True, "0": False, "false": False}
Entry = tuple[bytes, dict[bytes, bytes]]


class RedisStream:
    """A Redis stream, as a source for `Consumer`. Requires the ``redis`` extra.

    An entry is one row, with a field for each column: ``XADD predictions * clicked 1 p 0.93``. Or it is a table: its
    field ``arrow`` holds an Arrow IPC stream, which is much faster.

    The offset is stored in the history, so no consumer group is needed, and several histories can read one stream.
    Entries must stay in the stream until they are read, and the last one that was read until the next: trim it with
    ``XTRIM predictions MINID`` and `entry_id` of the offset of the history. If that entry is missing, the stream was
    trimmed further, or deleted and made again, so that entries may be lost.

    Args:
        client: The connection. Its ``socket_timeout`` must be longer than a second, and ``decode_responses`` off.
        key: The key of the stream. The history stores its offset under ``redis/`` and this key.
        schema: Types of the columns of rows, such as ``{"clicked": pl.Boolean, "p": pl.Float64}``. A field that an
            entry lacks is null; other fields are ignored. Texts of times that name no time zone are in UTC. Entries
            with a table need none.
        count: Maximum number of entries that are read together. Choose fewer if entries hold large tables.
        lost: ``"raise"`` to stop if entries may be lost, or ``"warn"`` to go on with the next entry.

    Raises:
        SpecificationError: If the client decodes responses, or ``lost`` is another text.

    >>> import redis
    >>> stream = RedisStream(redis.Redis(), "predictions", schema={"clicked": pl.Boolean, "p": pl.Float64})
    >>> stream.name
    'redis/predictions'
    """

    def __init__(
        self,
        client: Redis,
        key: str,
        *,
        schema: Mapping[str, Any] | None = None,
        count: int = 1_000,
        lost: Literal["raise", "warn"] = "raise",
    ) -> None:
        if client.get_encoder().decode_responses:
            raise SpecificationError("client must have decode_responses=False, because entries can hold Arrow tables.")
        if lost not in ("raise", "warn"):
            raise SpecificationError(f"lost= must be 'raise' or 'warn', got {lost!r}.")
        self.client, self.key, self.schema, self.count, self.lost = client, key, dict(schema or {}), count, lost
        self.name = f"redis/{key}"

    def read(self, start: int, seconds: float) -> tuple[Sequence[Any], int]:
        """Read entries after an offset, as `Source` says.

        Raises:
            DataError: If an entry is not what the schema says.
            SourceError: If the stream cannot be read, or entries may be lost.

        Warns:
            UserWarning: If entries may be lost, with ``lost="warn"``.
        """
        entries = self._entries(start, seconds)
        if not entries:
            return [], start
        rows = [entry for entry in entries if ARROW not in entry[1]]
        tables = _together([_table(*entry) for entry in entries if ARROW in entry[1]])
        return [_frame(rows, self.schema), *tables] if rows else tables, _offset(entries[-1][0])

    @staticmethod
    def entry_id(offset: int) -> str:
        """Return the ID of the last entry before an offset.

        >>> RedisStream.entry_id(1795361784781 << 20 | 3)
        '1795361784781-3'
        """
        return f"{offset >> BITS}-{offset & (1 << BITS) - 1}"

    def _entries(self, start: int, seconds: float) -> list[Entry]:
        """The entries after an offset. If there are none, wait for one."""
        from redis.exceptions import RedisError

        try:
            if not (found := self._after(start)):
                self.client.xread({self.key: self.entry_id(start)}, count=1, block=max(1, int(1_000 * seconds)))
                found = self._after(start)
            return found
        except RedisError as error:
            raise SourceError(f"Cannot read the Redis stream {self.key!r}: {reason(error)}.") from error

    def _after(self, start: int) -> list[Entry]:
        """The entries after an offset, read with the one before it, which shows that none is lost between them."""
        last = self.entry_id(start)
        found: Any = self.client.xrange(self.key, last, count=self.count + 1)
        if found and found[0][0] == last.encode():
            return list(found[1:])
        return self._after_missing(start) if start else list(found)

    def _after_missing(self, start: int) -> list[Entry]:
        """The entries after one that is not in the stream any more. Without a stream, none are lost so far."""
        with self.client.pipeline() as together:
            together.xrange(self.key, self.entry_id(start + 1), count=self.count)
            together.xinfo_stream(self.key)
            found, info = together.execute(raise_on_error=False)
        if isinstance(info, Exception):
            return []
        last, newest = self.entry_id(start), info["last-generated-id"]
        if _offset(newest) < start:
            raise SourceError(
                f"The Redis stream {self.key!r} was made again: it ends at {newest.decode()}, and the history has it "
                f"up to {last}. Use another key."
            )
        if _offset(newest) > start:
            following = f"goes on at {found[0][0].decode()}" if found else "is empty"
            self._tell(
                f"Entries of the Redis stream {self.key!r} may be lost: the history has it up to {last}, which is "
                f"missing, and it {following}. {_removed(info)}"
            )
        return list(found)

    def _tell(self, message: str) -> None:
        """Say that entries may be lost."""
        if self.lost == "raise":
            raise SourceError(f"{message} Pass ", Argument("lost", "warn"), " to go on.")
        warnings.warn(message, stacklevel=2)


def _removed(info: Mapping[str, Any]) -> str:
    """Why entries of a stream are missing, as far as its server knows."""
    if "entries-added" not in info:  # before Redis 7
        return "It was trimmed or made again."
    removed = info["entries-added"] - info["length"]
    return f"So far {removed:,} entries were removed." if removed else "It was made again."


def _offset(entry_id: bytes) -> int:
    """The offset after an entry, which must stay below 2**63."""
    moment, number = map(int, entry_id.split(b"-"))
    if number >> BITS or moment >> 63 - BITS:
        raise SourceError(f"Entry {entry_id.decode()} is too large for an offset. Let Redis choose the IDs.")
    return moment << BITS | number


def _table(entry_id: bytes, fields: dict[bytes, bytes]) -> Any:
    with translated(DataError, f"Field 'arrow' of entry {entry_id.decode()} is not an Arrow IPC stream"):
        return pa.ipc.open_stream(fields[ARROW]).read_all()


def _together(tables: list[Any]) -> list[Any]:
    """Tables as one, which is counted much faster; as they are if their columns differ."""
    alike = all(table.schema.equals(tables[0].schema) for table in tables)
    return [pa.concat_tables(tables)] if tables and alike else tables


def _frame(rows: Sequence[Entry], schema: Mapping[str, Any]) -> pl.DataFrame:
    """The columns of entries of one row."""
    if not schema:
        raise ColumnError(f"Entry {rows[0][0].decode()} has no field 'arrow'. For entries of one row, pass schema=.")
    return pl.DataFrame([_column(rows, name, kind) for name, kind in schema.items()])


def _column(rows: Sequence[Entry], name: str, kind: Any) -> pl.Series:
    field = name.encode()
    given = pl.Series(name, [fields.get(field) for _, fields in rows], dtype=pl.Binary)
    try:
        return _parsed(given.cast(pl.String), kind)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"Field {name!r} of entries {rows[0][0].decode()} to {rows[-1][0].decode()} is not of type {kind}: "
            f"{reason(error)}."
        ) from error


def _parsed(texts: pl.Series, kind: Any) -> pl.Series:
    if kind == pl.Boolean:
        flags = texts.str.to_lowercase().replace_strict(FLAGS, default=None, return_dtype=pl.Boolean)
        if (wrong := texts.filter(flags.is_null() & texts.is_not_null())).len():
            raise pl.exceptions.InvalidOperationError(f"{wrong[0]!r} is not 1, 0, true, or false")
        return flags
    if kind == pl.Date:
        return texts.str.to_date()
    if kind == pl.Datetime:
        return texts.str.to_datetime().cast(kind)
    return texts.cast(kind)
