"""The waiting rows: a log of scores and labels in a Delta Lake table beside the history.

Each row stores the number of the commit that added it, so that the pairs as of any commit can be computed again. Rows
are never changed. They are deleted when their day expires.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import polars as pl

from streammetrics.base import ds, text
from streammetrics.data import decoded, has_values, typed
from streammetrics.errors import Argument, ColumnError, SpecificationError
from streammetrics.monitor.history.label_coverage import (
    COMMIT,
    CORRECTION,
    COUNTS,
    DAY,
    EXPIRED,
    FOLDER,
    KEY,
    KIND,
    LABEL,
    ROWS,
    SCORE,
    ZONE,
    stored_key,
    time_zones,
    waiting_rows,
)
from streammetrics.monitor.history.table import Table, deltalake, fitted, one_of_sql, values_in_small_files, write
from streammetrics.monitor.joining.columns import UNSTORABLE

COLUMNS: dict[str, pl.DataType] = {
    KIND: pl.String(),
    DAY: pl.Date(),
    COMMIT: pl.Int64(),
    ROWS: pl.Int64(),
    "_of": pl.Date(),
    **dict.fromkeys(COUNTS, pl.Int64()),
}
BEFORE = "streammetrics.expired"  # the transaction that stores the first day that has not expired
ROW_GROUP = 131_072  # rows per row group of a file
SCATTERED = 64  # files that could be merged with others, at which the joiner compacts
T = TypeVar("T")


@dataclass(frozen=True)
class Waiting:
    """The log of waiting rows beside a history. The argument ``table`` of its methods is one version of the log."""

    table: Table
    key: tuple[str, ...]

    def add(
        self,
        opened: Any,
        rows: pl.DataFrame,
        kind: str,
        change_of: Callable[[Any, pl.DataFrame], T],
        days_of: Callable[[pl.DataFrame], pl.Series] | None = None,
    ) -> tuple[int, T | None]:
        """Add rows in one commit, except those of expired days. Return how many these are, and the change of others.

        ``change_of`` gets a version of the table and the rows in their stored types. If it raises, nothing is added; if
        all rows are of expired days, it is not called. ``days_of`` returns the days of scores; labels get the newest
        day. Without a table, ``opened`` is None. The first rows that are accepted create it, with their columns.
        """
        rows = _storable(rows)
        if opened is not None and {*(key := stored_key(self.table, opened))} != {*self.key}:
            raise SpecificationError(Argument("key"), f" must be {text.few(key)}, the key of the waiting rows.")

        def accepted(table: Any) -> tuple[pl.DataFrame, T | None]:
            """Return the rows to write, and their change."""
            first, stored = expired_before(table), _as_stored(table, rows)
            day = pl.lit(max(newest(table) or today(), first)) if days_of is None else days_of(stored)  # clocks drift
            columns = {KIND: pl.lit(kind), DAY: day, COMMIT: pl.lit(next_commit(table), pl.Int64)}
            fresh = stored.with_columns(**columns).filter(pl.col(DAY) >= first)
            return fresh, None if fresh.is_empty() else change_of(table, fresh)

        def append(table: Any) -> tuple[int, T | None] | None:
            """Return the result, or None to try again after adding new columns to the table."""
            fresh, change = accepted(table)
            if not fresh.is_empty():
                new = _with_values(rows).select(pl.exclude([field.name for field in table.schema().fields]))
                if new.width:
                    table.alter.add_columns(list(_fields(new)))
                    return None
                self._write(table, fresh)
            return rows.height - fresh.height, change

        if opened is None:
            fresh, _ = accepted(None)
            if fresh.is_empty():
                return 0, None
            fields = [*_fields(pl.DataFrame(schema=COLUMNS)), *_fields(_with_values(rows.drop(ROWS, strict=False)))]
            self.table.create(deltalake().Schema(fields), {KEY: json.dumps(self.key)}, parts=[KIND, DAY])
        while (done := self.table.commit(append, opened)) is None:
            opened = None
        return done

    def rows(self, table: Any, *kinds: str) -> pl.LazyFrame:
        """Return the rows of some kinds, with times in their original time zones."""
        return waiting_rows(self.table, table, *kinds)

    def with_keys(self, rows: pl.LazyFrame, keys: pl.DataFrame) -> pl.LazyFrame:
        """Return the rows that have one of these keys."""
        near = [pl.col(name).is_between(pl.lit(keys[name].min()), pl.lit(keys[name].max())) for name in self.key]
        return rows.filter(near).join(keys.lazy(), on=self.key, how="semi")

    def before_labels(self, table: Any) -> int:
        """Return the commit before the first label. Up to this commit, no rows could be joined."""
        if days(table, LABEL, CORRECTION).is_empty():
            return last_commit(table)
        return int(self.rows(table, LABEL, CORRECTION).select(pl.min(COMMIT)).collect().item()) - 1

    def expire(self, settled: Any, before: date) -> None:
        """Delete the scores before a day with their labels, and the labels before it that have no score.

        Only their counts are stored. Does nothing if they were already deleted, or if the table has changed since
        version ``settled``, which the history includes.
        """
        if before <= expired_before(settled):
            return

        def leave(table: Any) -> None:
            if table.version() != settled.version():
                return
            marks = {BEFORE: before.toordinal(), FOLDER: last_commit(table)}
            if not (days(table, SCORE, LABEL, CORRECTION) < before).any():
                self._write(table, pl.DataFrame(schema=COLUMNS), marks)
                return
            scores = self.rows(table, SCORE).select(*self.key, DAY, COMMIT, ROWS)
            labels, old = self.rows(table, LABEL, CORRECTION), pl.col(DAY) < before
            gone, left = scores.filter(old), scores.filter(~old)
            others = labels.join(gone, on=self.key, how="anti")
            remaining = pl.concat([others.filter(~old), others.filter(old).join(left, on=self.key, how="semi")])
            alone = others.filter(old).join(left, on=self.key, how="anti")
            counts = counted(gone, labels, alone, self.key).rename({DAY: "_of"})
            counts = counts.with_columns(pl.lit(EXPIRED).alias(KIND), pl.lit(table.version() + 1).alias(COMMIT))
            earlier = self.rows(table, EXPIRED).collect()
            rows = pl.concat([remaining.collect(), earlier, counts], how="diagonal_relaxed")
            where = f"{KIND} <> '{SCORE}' OR {DAY} < '{before.isoformat()}'"
            self._write(table, rows, mode="overwrite", predicate=where, marks=marks)

        self.table.commit(leave, settled)

    def coverage(self) -> pl.DataFrame:
        """Return how many scores of each day have labels, with the columns that `Joiner.coverage` lists."""
        counts = pl.DataFrame(schema={DAY: pl.Date, **dict.fromkeys((*COUNTS, EXPIRED), pl.Int64)})
        if (table := self.table.find()) is not None:
            with self.table.reading():
                scores, labels = self.rows(table, SCORE), self.rows(table, LABEL, CORRECTION)
                alone = labels.join(scores, on=self.key, how="anti")
                now = counted(scores, labels, alone, self.key)
                past = self.rows(table, EXPIRED).select(pl.col("_of").alias(DAY), *COUNTS).collect()
                gone = past.with_columns((pl.col(COUNTS[0]) - pl.col(COUNTS[1])).alias(EXPIRED))
                counts = pl.concat([counts, gone, now], how="diagonal_relaxed").group_by(DAY).sum()
        scored, labeled, unscored = (pl.col(name) for name in COUNTS)
        return counts.sort(DAY).select(
            day=DAY,
            scores=scored,
            labeled=labeled,
            coverage=pl.when(scored > 0).then(labeled / scored),
            waiting=scored - labeled - pl.col(EXPIRED),
            expired=EXPIRED,
            labels_without_score=unscored,
        )

    def is_scattered(self, table: Any) -> bool:
        """Whether many files of a version could be merged with others."""
        files = table.file_uris()
        return len(files) - len({file.rpartition("/")[0] for file in files}) >= SCATTERED

    def compact(self, vacuum: bool) -> None:
        """Merge small files, and delete files that have not been needed for a week."""

        def merge(table: Any) -> None:
            days = values_in_small_files(table, DAY)
            if days.len():
                rows = table.to_pyarrow_dataset().scanner(filter=ds.field(DAY).isin(days.to_arrow())).to_reader()
                before = f"{COMMIT} <= {table.version()} AND ({one_of_sql(days)})"  # no conflict with new rows
                write(table, rows, mode="overwrite", predicate=before, row_group=ROW_GROUP)

        self.table.shrink(merge, vacuum=vacuum)

    def _write(self, table: Any, rows: pl.DataFrame, marks: dict[str, int] | None = None, **how: Any) -> None:
        """Write rows in the next commit of the table. Fails if another process commits first."""
        schema = pl.Schema(table.schema())
        rows = rows.with_columns(pl.lit(None, kind).alias(c) for c, kind in schema.items() if c not in rows.columns)
        columns = [fitted(rows[name], kind) for name, kind in schema.items()]
        marks = {FOLDER: table.version() + 1} | (marks or {})  # read by `last_commit`
        transactions = [deltalake().Transaction(app_id=name, version=version) for name, version in marks.items()]
        write(table, pl.DataFrame(columns).to_arrow(), transactions=transactions, row_group=ROW_GROUP, **how)


def counted(scores: pl.LazyFrame, labels: pl.LazyFrame, alone: pl.LazyFrame, key: Sequence[str]) -> pl.DataFrame:
    """Count the rows of scores, those with a label, and the labels without a score of each day."""
    score, with_label, without_score = COUNTS
    amount = pl.col(ROWS).fill_null(1).sort_by(COMMIT).first().alias(score)
    first = scores.group_by(key).agg(pl.min(DAY), amount)
    labeled = first.join(labels, on=key, how="semi").select(DAY, pl.col(score).alias(with_label))
    unscored = alone.group_by(key).agg(pl.min(DAY)).select(DAY, pl.lit(1).alias(without_score))
    rows = pl.concat([first, labeled, unscored], how="diagonal_relaxed").group_by(DAY)
    return rows.agg(pl.sum(*COUNTS).cast(pl.Int64)).sort(DAY).collect()


def days(table: Any, *kinds: str) -> pl.Series:
    """Return the days that have rows of some kinds, from the names of folders."""
    files = pl.DataFrame(table.get_add_actions(flatten=True))
    return files.filter(pl.col(f"partition.{KIND}").is_in(kinds))[f"partition.{DAY}"].cast(pl.Date)


def last_commit(table: Any) -> int:
    """Return the last commit that added rows. Commits that compact the table or expire rows do not count."""
    return 0 if table is None else table.transaction_version(FOLDER) or 0


def next_commit(table: Any) -> int:
    """Return the number of the next commit."""
    return 1 if table is None else table.version() + 1


def newest(table: Any) -> date | None:
    """Return the newest day of scores that is not in the future.

    Expiry counts back from this day rather than from today, so that old data can be replayed.
    """
    if table is None:
        return None
    past = days(table, SCORE)
    last = past.filter(past <= today()).max()
    return last if isinstance(last, date) else None


def today() -> date:
    """Return today's date in UTC."""
    return datetime.now(UTC).date()


def expired_before(table: Any) -> date:
    """Return the first day that has not expired, by default the first date of Python."""
    return date.fromordinal((table and table.transaction_version(BEFORE)) or date.min.toordinal())


def _with_values(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that have a type: one that is null in all rows has none yet."""
    return rows.select(column for column in rows if has_values(column))


def _fields(rows: pl.DataFrame) -> Iterable[Any]:
    delta = deltalake()
    stored = rows.cast({name: _type(kind) for name, kind in rows.schema.items()})
    for field in delta.Schema.from_arrow(stored.clear().to_arrow().schema).fields:
        zone = getattr(rows.schema[field.name], "time_zone", None)
        yield delta.Field(field.name, field.type, metadata={ZONE: zone} if zone else {})


def _storable(rows: pl.DataFrame) -> pl.DataFrame:
    for name, kind in rows.schema.items():
        if kind in UNSTORABLE:
            raise ColumnError(f"Column {name!r} cannot be stored, because it is of type {kind}. Cast it to Int64.")
    times = [name for name, kind in rows.schema.items() if isinstance(kind, pl.Datetime)]
    return rows.with_columns(map(decoded, rows.iter_columns())).with_columns(pl.col(times).dt.cast_time_unit("us"))


def _as_stored(table: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows as `Waiting.rows` would return them, except for columns that are null in all rows."""
    schema, zones = (pl.Schema(), {}) if table is None else (pl.Schema(table.schema()), time_zones(table))
    columns = []
    for column in rows:
        kind, zone = schema.get(column.name), zones.get(column.name)
        if kind is None:
            kind, zone = _type(column.dtype), getattr(column.dtype, "time_zone", None)
        elif not has_values(column):
            column = typed(column.to_frame(), schema).to_series()
        elif _clock(column.dtype) != _clock(kind):
            raise ColumnError(f"Column {column.name!r} must be {kind} as in the waiting rows, got {column.dtype}.")
        nan = column.dtype.is_float() and kind.is_integer()  # a null among integers can arrive as NaN
        stored = fitted(column.fill_nan(None) if nan else column, kind)
        columns.append(stored if zone is None else stored.dt.convert_time_zone(zone))
    return pl.DataFrame(columns)


def _clock(kind: pl.DataType) -> tuple[bool, bool]:
    """Return whether a type is temporal and whether it has a time zone, which all batches must agree on."""
    return kind.is_temporal(), getattr(kind, "time_zone", None) is not None


def _type(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return pl.Datetime("us", "UTC")
    return pl.Int64() if kind.is_integer() else kind
