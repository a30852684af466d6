"""A Redis stream as a source. Each entry is one row or an Arrow table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from streammetrics.errors import ColumnError, DataError, SourceError, SpecificationError
from streammetrics.system.foreign import reason, translated
from streammetrics.system.lazy import pa

if TYPE_CHECKING:
    from redis import Redis

BITS = 20  # bits of an offset that number the entries of one millisecond
ARROW = b"arrow"  # the field of an entry that contains a table
FLAGS = {"1": True, "true": True, "0": False, "false": False}
Entry = tuple[bytes, dict[bytes, bytes]]


class RedisStream:
    """A Redis stream, as a source for `Consumer`. Requires the ``redis`` extra.

    An entry is either one row with a field for each column, such as ``XADD predictions * clicked 1 p 0.93``, or a
    table, whose field ``arrow`` contains an Arrow IPC stream. Tables are much faster than single rows.

    The history stores the offset, so no consumer group is needed, and several histories can read the same stream.
    Entries must stay in the stream until they are read, and the last entry that was read must stay until the next one
    is read. To trim the stream, pass `entry_id` of the offset in the history to ``XTRIM predictions MINID``. If the
    last entry that was read is missing, entries may be lost, because the stream was trimmed too far or created again.

    Args:
        client: The connection. Its ``socket_timeout`` must be longer than one second, and it must not decode responses.
        key: The key of the stream. The history stores its offset under ``redis/`` and this key.
        schema: Types of the columns of rows, such as ``{"clicked": pl.Boolean, "p": pl.Float64}``. Missing fields are
            null, and other fields are ignored. Times without a time zone are in UTC. Not needed for tables.
        count: Maximum number of entries per read. Choose a small number if entries contain large tables.
        lost: What to do if entries may be lost: ``"raise"`` an error, or ``"warn"`` and continue with the next entry.

    Raises:
        SpecificationError: If the client decodes responses, or ``lost`` is invalid.

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
        self.client = client
        self.key = key
        self.schema: dict[str, Any] = dict(schema or {})
        self.count = count
        self.lost = lost
        self.name: str = f"redis/{key}"

    def read(self, start: int, seconds: float) -> tuple[Sequence[Any], int]:
        """Read entries after an offset (see `Source`).

        Raises:
            DataError: If an entry does not match the schema.
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
        """The entries after an offset. Waits for one if there are none."""
        from redis.exceptions import RedisError

        try:
            if not (found := self._after(start)):
                self.client.xread({self.key: self.entry_id(start)}, count=1, block=max(1, int(1_000 * seconds)))
                found = self._after(start)
            return found
        except RedisError as error:
            raise SourceError(f"Cannot read the Redis stream {self.key!r}: {reason(error)}.") from error

    def _after(self, start: int) -> list[Entry]:
        """The entries after an offset. Also reads the entry before it, to check that no entries are lost."""
        last = self.entry_id(start)
        found: Any = self.client.xrange(self.key, last, count=self.count + 1)
        if found and found[0][0] == last.encode():
            return list(found[1:])
        return self._after_missing(start) if start else list(found)

    def _after_missing(self, start: int) -> list[Entry]:
        """The entries after an entry that was removed from the stream. A missing stream has not lost any."""
        with self.client.pipeline() as together:
            together.xrange(self.key, self.entry_id(start + 1), count=self.count)
            together.xinfo_stream(self.key)
            found, info = together.execute(raise_on_error=False)
        if isinstance(info, Exception):
            return []
        last, newest = self.entry_id(start), info["last-generated-id"]
        if _offset(newest) < start:
            raise SourceError(
                f"The Redis stream {self.key!r} was created again: it ends at {newest.decode()}, but the history has "
                f"entries up to {last}. Use another key."
            )
        if _offset(newest) > start:
            following = f"the next entry is {found[0][0].decode()}" if found else "the stream is empty"
            message = (
                f"Entries of the Redis stream {self.key!r} may be lost: {last}, the last entry in the history, is "
                f"missing, and {following}. {_removed(info)}"
            )
            if self.lost == "raise":
                raise SourceError(f"{message} To continue, pass lost='warn'.")
            warnings.warn(message, stacklevel=2)
        return list(found)


def _removed(info: Mapping[str, Any]) -> str:
    if "entries-added" not in info:  # before Redis 7
        return "The stream was trimmed or created again."
    removed = info["entries-added"] - info["length"]
    return f"So far, {removed:,} entries were removed." if removed else "The stream was created again."


def _offset(entry_id: bytes) -> int:
    """The offset after an entry, which must be below 2**63."""
    moment, number = map(int, entry_id.split(b"-"))
    if number >> BITS or moment >> 63 - BITS:
        raise SourceError(f"Entry ID {entry_id.decode()} is too large for an offset. Let Redis generate the IDs.")
    return moment << BITS | number


def _table(entry_id: bytes, fields: dict[bytes, bytes]) -> Any:
    with translated(DataError, f"Field 'arrow' of entry {entry_id.decode()} is not an Arrow IPC stream"):
        return pa.ipc.open_stream(fields[ARROW]).read_all()


def _together(tables: list[Any]) -> list[Any]:
    """Concatenate tables, because one large table is counted much faster. Does nothing if their columns differ."""
    alike = all(table.schema.equals(tables[0].schema) for table in tables)
    return [pa.concat_tables(tables)] if tables and alike else tables


def _frame(rows: Sequence[Entry], schema: Mapping[str, Any]) -> pl.DataFrame:
    if not schema:
        raise ColumnError(f"Entry {rows[0][0].decode()} has no field 'arrow'. If each entry is one row, pass schema=.")
    return pl.DataFrame([_column(rows, name, kind) for name, kind in schema.items()])


def _column(rows: Sequence[Entry], name: str, kind: Any) -> pl.Series:
    field = name.encode()
    given = pl.Series(name, [fields.get(field) for _, fields in rows], dtype=pl.Binary)
    try:
        return _parsed(given.cast(pl.String), kind)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"Field {name!r} of entries {rows[0][0].decode()} to {rows[-1][0].decode()} cannot be parsed as {kind}: "
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
