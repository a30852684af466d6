"""The rows that wait: a log of scores and labels in a Delta Lake table beside the history.

Each row says which commit brought it, so that what counts as of any commit can be computed again. Rows are only added,
until they leave with their day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import polars as pl

from streammetrics.errors import ColumnError
from streammetrics.history.layout import fitted
from streammetrics.history.table import Table, deltalake, files, write
from streammetrics.rows.frames import decoded

FOLDER = "_waiting"  # which Delta Lake leaves alone, as all names that begin so
KIND, DAY, COMMIT = "_kind", "_day", "_commit"
SCORE, LABEL, CORRECTION, EXPIRED = "score", "label", "correction", "expired"  # kinds of rows
COUNTS = ("_scores", "_labeled", "_labels_without_score")  # of a day that has expired
OWN = {KIND: pl.String(), DAY: pl.Date(), COMMIT: pl.Int64(), "_of": pl.Date(), **dict.fromkeys(COUNTS, pl.Int64())}
BEFORE = "streammetrics.expired"  # the transaction that says before which day all rows have left
ZONE = "streammetrics.time_zone"  # of a column; Delta Lake keeps times in UTC
TOGETHER = 131_072  # rows of a file that are read together
T = TypeVar("T")


@dataclass(frozen=True)
class Waiting:
    """The log beside a history, of rows with some key. What its methods take as ``table`` is one version of it."""

    table: Table
    key: tuple[str, ...]

    def add(
        self,
        rows: pl.DataFrame,
        kind: str,
        tried: Callable[[Any, pl.DataFrame], T],
        days_of: Callable[[pl.DataFrame], pl.Series] | None = None,
    ) -> tuple[int, T | None]:
        """Add rows in one commit. Those of days that have expired are left out.

        Args:
            rows: the columns to keep.
            kind: which rows they are.
            days_of: gives the days of scores, from the rows as the table would hold them. Labels have the newest one.
            tried: called with a version of the table and the rows as it would hold them. What it raises leaves nothing
                behind.

        Returns:
            Number of rows left out, and what ``tried`` returned; None if no row is left.

        Raises:
            ColumnError: If a column has another type than before, or one that Delta Lake does not have.
        """
        if self.table.find() is None:
            self.table.create(pl.DataFrame(schema=OWN).to_arrow().schema, {}, parts=[KIND, DAY])
        rows = _storable(rows)

        def append(table: Any) -> tuple[int, T | None] | None:
            """What was done; None if the table has got new columns, with which it is tried again."""
            first, held = expired_before(table) or date.min, _as_stored(table, rows)
            day = pl.lit(max(newest(table) or today(), first)) if days_of is None else days_of(held)  # clocks go back
            own = {KIND: pl.lit(kind), DAY: day, COMMIT: pl.lit(table.version() + 1, pl.Int64)}
            fresh = held.with_columns(**own).filter(pl.col(DAY) >= first)
            if fresh.is_empty():
                return rows.height, None
            found = tried(table, fresh)
            if _widen(table, rows):
                return None
            self._write(table, fresh)
            return rows.height - fresh.height, found

        while (done := self.table.commit(append)) is None:
            pass
        return done

    def rows(self, table: Any, *kinds: str) -> pl.LazyFrame:
        """The rows of some kinds, with times in their time zones."""
        zones = _zones(table)
        found = self.table.scan(table).filter(pl.col(KIND).is_in(kinds))
        return found.with_columns(pl.col(name).dt.convert_time_zone(zone) for name, zone in zones.items())

    def of(self, rows: pl.LazyFrame, keys: pl.DataFrame) -> pl.LazyFrame:
        """The rows that have one of these keys."""
        near = [pl.col(name).is_between(pl.lit(keys[name].min()), pl.lit(keys[name].max())) for name in self.key]
        return rows.filter(near).join(keys.lazy(), on=self.key, how="semi")

    def expire(self, settled: Any, before: date) -> None:
        """Let the scores before a day leave with their labels, and the labels before it that have no score.

        Only counts of them stay. If they have left, or the table has changed since the version that the history has,
        nothing happens.
        """
        if before <= (expired_before(settled) or date.min):
            return

        def leave(table: Any) -> None:
            if table.version() != settled.version():
                return
            scores = self.rows(table, SCORE).select(*self.key, DAY)
            labels, old = self.rows(table, LABEL, CORRECTION), pl.col(DAY) < before
            gone, left = scores.filter(old), scores.filter(~old)
            others = labels.join(gone, on=self.key, how="anti")
            kept = pl.concat([others.filter(~old), others.filter(old).join(left, on=self.key, how="semi")])
            alone = others.filter(old).join(left, on=self.key, how="anti")
            counts = counted(gone, labels, alone, self.key).rename({DAY: "_of"})
            counts = counts.with_columns(pl.lit(EXPIRED).alias(KIND), pl.lit(table.version() + 1).alias(COMMIT))
            earlier = self.rows(table, EXPIRED).collect()
            rows = pl.concat([kept.collect(), earlier, counts], how="diagonal_relaxed")
            where = f"{KIND} <> '{SCORE}' OR {DAY} < '{before.isoformat()}'"
            said = {BEFORE: before.toordinal(), FOLDER: last_commit(table)}
            self._write(table, rows, mode="overwrite", predicate=where, said=said)

        self.table.commit(leave)

    def compact(self, vacuum: bool) -> None:
        """Put small files together, and delete those that were last needed a week ago."""
        self.table.commit(lambda table: table.optimize.compact(writer_properties=files(TOGETHER)))
        if vacuum:
            self.table.commit(lambda table: table.vacuum(dry_run=False, full=True))

    def _write(self, table: Any, rows: pl.DataFrame, said: dict[str, int] | None = None, **how: Any) -> None:
        """Write rows in a commit that is the next one of the table, or fails."""
        schema = pl.Schema(table.schema())
        rows = rows.with_columns(pl.lit(None, kind).alias(c) for c, kind in schema.items() if c not in rows.columns)
        columns = [fitted(rows[name], kind) for name, kind in schema.items()]
        mark = {FOLDER: table.version() + 1} | (said or {})  # a whole commit ends so; see `last_commit`
        marks = [deltalake().Transaction(app_id=name, version=version) for name, version in mark.items()]
        write(table, pl.DataFrame(columns).to_arrow(), transactions=marks, together=TOGETHER, **how)


def counted(scores: pl.LazyFrame, labels: pl.LazyFrame, alone: pl.LazyFrame, key: Sequence[str]) -> pl.DataFrame:
    """For each day, how many scores there are, how many of them have a label, and how many labels have no score."""
    known = labels.select(*key, pl.lit(True).alias(KIND)).unique(key)
    found = scores.group_by(key).agg(pl.min(DAY)).join(known, on=key, how="left")
    of_scores = found.group_by(DAY).agg(pl.len().alias(COUNTS[0]), pl.col(KIND).count().alias(COUNTS[1]))
    of_labels = alone.group_by(key).agg(pl.min(DAY)).group_by(DAY).agg(pl.len().alias(COUNTS[2]))
    both = of_scores.join(of_labels, on=DAY, how="full", coalesce=True).with_columns(pl.col(COUNTS).fill_null(0))
    return both.cast(dict.fromkeys(COUNTS, pl.Int64)).sort(DAY).collect()


def days(table: Any, *kinds: str) -> pl.Series:
    """Return the days that have rows of some kinds, from the names of folders."""
    found = pl.DataFrame(table.get_add_actions(flatten=True))
    return found.filter(pl.col(f"partition.{KIND}").is_in(kinds))[f"partition.{DAY}"].cast(pl.Date)


def last_commit(table: Any) -> int:
    """The last commit that brought rows; those that compact the table or let rows expire bring none."""
    found: int | None = table.transaction_version(FOLDER)
    return found or 0


def newest(table: Any) -> date | None:
    """The newest day of scores, by which old data can be replayed; today if that is of the future."""
    found = days(table, SCORE).max()
    return min(found, today()) if isinstance(found, date) else None


def today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()


def expired_before(table: Any) -> date | None:
    """Before which day all rows have left."""
    found = table.transaction_version(BEFORE)
    return None if found is None else date.fromordinal(found)


def _widen(table: Any, rows: pl.DataFrame) -> bool:
    """Whether the table lacked columns, which it has from now on; one that is all null has no type yet."""
    known = {field.name for field in table.schema().fields}
    new = rows.select(c for c in rows.columns if c not in known and rows.schema[c] != pl.Null)
    if new.width:
        table.alter.add_columns(list(_fields(new)))
    return bool(new.width)


def _fields(rows: pl.DataFrame) -> Iterable[Any]:
    delta = deltalake()
    stored = rows.cast({name: _type(kind) for name, kind in rows.schema.items()})
    for field in delta.Schema.from_arrow(stored.clear().to_arrow().schema).fields:
        zone = getattr(rows.schema[field.name], "time_zone", None)
        yield delta.Field(field.name, field.type, metadata={ZONE: zone} if zone else {})


def _zones(table: Any) -> dict[str, str]:
    """The time zones of columns."""
    return {field.name: field.metadata[ZONE] for field in table.schema().fields if ZONE in field.metadata}


def _storable(rows: pl.DataFrame) -> pl.DataFrame:
    """Categories as text, and times in microseconds.

    Raises:
        ColumnError: If a column is a time of day or a duration.
    """
    for name, kind in rows.schema.items():
        if kind in (pl.Time, pl.Duration, pl.Int128, pl.UInt128):
            raise ColumnError(f"Column {name!r} is of type {kind}, which cannot wait for labels. Cast it to Int64.")
    times = [name for name, kind in rows.schema.items() if isinstance(kind, pl.Datetime)]
    return decoded(rows).with_columns(pl.col(times).dt.cast_time_unit("us"))


def _as_stored(table: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows as `Waiting.rows` would give them, but for columns that are all null.

    Raises:
        ColumnError: If a column has another type than before.
    """
    schema, zones = pl.Schema(table.schema()), _zones(table)
    made = []
    for column in rows:
        kind, zone = schema.get(column.name), zones.get(column.name)
        if kind is None:
            kind, zone = _type(column.dtype), getattr(column.dtype, "time_zone", None)
        elif column.dtype != pl.Null and _clock(column.dtype) != _clock(kind):
            raise ColumnError(f"Column {column.name!r} is of type {column.dtype}; the rows that wait have {kind}.")
        nan = column.dtype.is_float() and kind.is_integer()  # is null, which other batches have
        stored = fitted(column.fill_nan(None) if nan else column, kind)
        made.append(stored if zone is None else stored.dt.convert_time_zone(zone))
    return pl.DataFrame(made)


def _clock(kind: pl.DataType) -> tuple[bool, bool]:
    """What types of times must have in common: whether they are times, and in time zones."""
    return kind.is_temporal(), getattr(kind, "time_zone", None) is not None


def _type(kind: pl.DataType) -> pl.DataType:
    """The type in which the table keeps one."""
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return pl.Datetime("us", "UTC")
    return pl.Int64() if kind.is_integer() else kind
