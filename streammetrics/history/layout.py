"""How states lie in a Delta Lake table: types that it has, rows of several batches added up, times of windows."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

import polars as pl
import polars.selectors as cs

from streammetrics.accumulator import Accumulator, merge
from streammetrics.counting import Sums
from streammetrics.errors import Argument, ColumnError, DataError, MergeError, SpecificationError, StateError
from streammetrics.rows.codes import find
from streammetrics.system.foreign import translated
from streammetrics.system.lazy import pa
from streammetrics.times import moment, require_length

STATE = "streammetrics.state"  # of the table's configuration: the accumulator without rows, in base64
ONCE = "streammetrics.state.tables"  # what some tables have instead
WINDOW = "streammetrics.window"  # the name of the window column
OWN: dict[str, pl.DataType] = {"batch_id": pl.String(), "ingested": pl.Datetime("us", "UTC"), "version": pl.Int64()}
STORED: dict[type[pl.DataType], pl.DataType] = {  # for types that Delta Lake has not
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Time: pl.Int64(),
    pl.Duration: pl.Int64(),
}
TIMES = (pl.Date, pl.Datetime)
NO_TIME = " Convert dates that are text: DATE(day) on the command line, pl.col('day').str.to_date() in Python."
GROUPS = 1_024  # about as many groups are held in memory at once,
SMALL_GROUPS = 1_048_576  # if each has the same few cells, which take 300 bytes
TOGETHER = 1_024, 8_192  # rows of a file that are read together, likewise
PLACE = "group"  # a name that no group column has


@dataclass(frozen=True)
class Layout:
    """How states of one specification lie in a table: the accumulator without rows, and the name of the window.

    A row holds a group of a batch: the group columns, ``batch_id``, ``ingested``, ``version``, and the nested columns
    of `Accumulator.to_arrow`. Types that Delta Lake has not are kept as integers, times in UTC. ``none`` is the saved
    form without rows, as it was when the table was made: fields that came later are not stored there.
    """

    empty: Accumulator
    window: str
    none: pa.Table

    @classmethod
    def of(cls, acc: Accumulator, window: str | None, known: Mapping[str, Any] | None = None) -> Layout:
        """The layout that the first batch of a version decides; types of columns may be known.

        Raises:
            SpecificationError: where the window is not clear, or a name is taken.
            ColumnError: where a column has no type yet.
            DataError: as `rows`.
        """
        _require_years(acc)
        empty = acc.filter(pl.lit(False))
        made = cls(empty, "", empty.to_arrow()).typed_as(known or {})
        schema = made.schema
        times = [name for name in acc.roles.by if isinstance(schema[name], TIMES)]
        if window is None and len(times) != 1:
            raise SpecificationError(
                "a store needs one window, a group column of type Date or Datetime; there is ",
                *((" and ".join(times), ": name one by ", Argument("window"), ".") if times else ("none.", NO_TIME)),
            )
        if window is not None and window not in times:
            raise SpecificationError(f"the window {window!r} is no group column of type Date or Datetime.")
        names = [name.lower() for name in (*schema, *OWN)]
        if taken := [name for name in acc.roles.by if names.count(name.lower()) > 1]:
            raise SpecificationError(
                Argument("by"), f" cannot use the name {taken[0]!r}, which a store uses; give it an alias."
            )
        for name, kind in schema.items():
            if pl.Null in _leaves(kind):
                raise ColumnError(f"the first batch does not tell the type of {name!r}, which is all null; cast it.")
        return replace(made, window=window or times[0])

    def typed_as(self, known: Mapping[str, Any]) -> Layout:
        """The layout with columns in types that are known."""
        schema = {name: known.get(name, kind) for name, kind in self.schema.items()}
        if schema == dict(self.schema):
            return self
        none = pl.DataFrame(schema=schema).to_arrow().replace_schema_metadata(self.none.schema.metadata)
        return Layout(Accumulator.from_arrow(none), self.window, none)

    @classmethod
    def read(cls, configuration: Mapping[str, str]) -> Layout:
        """The layout that a table's configuration tells.

        Raises:
            StateError: where it tells none, or that of a newer version.
        """
        state, window = configuration.get(STATE, configuration.get(ONCE)), configuration.get(WINDOW)
        if state is None or window is None:
            raise StateError("the table is no store of streammetrics.")
        return _told(state, window)

    @property
    def configuration(self) -> dict[str, str]:
        """What the table says of its layout."""
        return {STATE: b64encode(self.empty.to_bytes()).decode(), WINDOW: self.window}

    @cached_property
    def groups(self) -> list[str]:
        """The group columns."""
        return list(self.empty.roles.group_columns)

    @cached_property
    def schema(self) -> pl.Schema:
        """Group columns and nested columns, in the types that accumulators have."""
        return pl.DataFrame(self.none).schema

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Group columns of the table in the types that accumulators have."""
        return rows.cast({name: self.schema[name] for name in self.groups if name in rows.columns})

    @cached_property
    def is_small(self) -> bool:
        """Whether each group has the same few cells."""
        weighted = self.empty.roles.sample_weight is not None
        return all(isinstance(s.counter(weighted), Sums) for s in self.empty.statistics)

    @property
    def together(self) -> int:
        """How many rows of a file are read together."""
        return TOGETHER[self.is_small]

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table, those first that its files are skipped by."""
        return [*self.groups, *OWN, *(name for name in self.schema if name not in self.groups)]

    def rows(self, acc: Accumulator) -> pl.DataFrame:
        """The groups of an accumulator as rows of the table, but for its own columns.

        Raises:
            MergeError: where the specification is another, or something was not counted of some rows.
            ColumnError: where a column is of another type, and holds what the table's column cannot.
            DataError: where a date or time is none of Python's, which no question could name.
        """
        if acc.state.missing.height:
            raise MergeError("Some rows of the accumulator were not counted for all of its statistics. Append others.")
        acc = self._in_zones(acc)
        _require_years(acc)
        frame = pl.DataFrame((self.empty + acc).to_arrow())
        return frame.select(fitted(_within(frame[name], kind), stored(kind)) for name, kind in self.schema.items())

    def _in_zones(self, acc: Accumulator) -> Accumulator:
        """The accumulator with times in the time zones of the table, so that equal instants are equal."""
        moved = {}
        for name in acc.roles.by:
            ours, theirs = self.schema.get(name), acc.state.keys.schema[name]
            if ours == theirs or not (isinstance(ours, TIMES) and isinstance(theirs, TIMES)):
                continue
            zone = getattr(ours, "time_zone", None)
            if zone is None or getattr(theirs, "time_zone", None) is None:
                midnight = ".cast(pl.Datetime)" * (theirs == pl.Date())
                way = "date()" if ours == pl.Date() else f"replace_time_zone({zone!r})"
                advice = f"pl.col({name!r}){midnight}.dt.{way}"
                raise ColumnError(f"Column {name!r} must be {ours} as in the store, got {theirs}. Use {advice}.")
            moved[name] = pl.col(name).dt.convert_time_zone(zone)
        return acc.rollup(*(moved.get(name, name) for name in acc.roles.by)) if moved else acc

    def accumulator(self, rows: pl.DataFrame) -> Accumulator:
        """What rows of the table hold, each of another group."""
        table = rows.select(self.schema.names()).cast(self.schema).to_arrow()
        return Accumulator.from_arrow(table.replace_schema_metadata(self.none.schema.metadata))

    def fold(self, rows: pl.DataFrame) -> Accumulator:
        """What rows of the table hold. Those of a group are added up one after the other, in the order of versions.

        So it makes no difference, to the last bit, whether the first ones of a group have been added up before.
        """
        rows = rows.sort(*self.groups, "version", nulls_last=True)
        again = pl.all_horizontal(pl.col(c).eq_missing(pl.col(c).shift()) for c in self.groups).slice(1)
        if not rows.select(again.any()).item():
            return self.accumulator(rows)
        place = pl.int_range(pl.len()).over(self.groups).alias(PLACE)
        parts = rows.with_columns(place).partition_by(PLACE, maintain_order=True)
        total, finished = self.accumulator(parts[0]), []
        for part in parts[1:]:
            more = self.accumulator(part)
            goes_on = pl.lit(find(total.state.keys, more.state.groups).is_not_null())
            finished.append(total.filter(~goes_on))
            total = total.filter(goes_on) + more
        return merge([total, *finished])

    def added_up(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with those of a group added up, in the version of the last; in the order of windows."""
        single = pl.when(pl.len() == 1).then(pl.first("batch_id"))
        own = rows.group_by(self.groups).agg(single, pl.max("ingested", "version"))
        found = self.rows(self.fold(rows)).join(own, on=self.groups, nulls_equal=True, maintain_order="left")
        return found.sort(self.window, maintain_order=True).select(self.columns)

    def parts(self, rows: pl.LazyFrame, keys: pl.DataFrame | None = None) -> Iterator[pl.DataFrame]:
        """The rows of all groups, or of some that are chosen, those of a few windows at a time.

        Which windows come together depends on the groups that are there, not on how many rows they have.
        """
        most = SMALL_GROUPS if self.is_small else GROUPS
        if keys is None:
            if rows.select(pl.len()).collect().item() <= most:  # so are the groups: one part
                yield rows.collect()
                return
            keys = rows.select(self.groups).unique().collect()
        sizes = keys.group_by(self.window).len(PLACE).sort(self.window)
        sizes = sizes.with_columns((pl.col(PLACE).cum_sum() - 1) // most)
        for windows in sizes.partition_by(PLACE, maintain_order=True):
            part = keys.join(windows, on=self.window, how="semi", nulls_equal=True)
            needed = [one_of(part[name]) for name in keys.columns]
            yield rows.filter(needed).join(part.lazy(), on=keys.columns, how="semi", nulls_equal=True).collect()

    def between(self, since: date | str | None, until: date | str | None) -> list[pl.Expr]:
        """Which windows of the table come at or after a time, and before another.

        Raises:
            SpecificationError: for what is no time.
        """
        window = pl.col(self.window)
        lower = [] if since is None else [window >= self.moment(since)]
        return lower if until is None else [*lower, window < self.moment(until)]

    def only(self, acc: Accumulator, given: Any) -> str:
        """Which rows of the table have a window, or one of several from a start to an end, as SQL.

        Raises:
            DataError: If the accumulator has groups of other windows.
            SpecificationError: for what is neither a window nor a pair of times.
        """
        ends = given if isinstance(given, tuple) else (given, given)
        if len(ends) != 2:
            raise SpecificationError(Argument("window"), f" must be a time or a (start, end) pair, got {given!r}.")
        start, end = map(self.moment, ends)
        if ends == (given, given) and isinstance(self.schema[self.window], pl.Date) and moment(start) != moment(given):
            raise SpecificationError(Argument("window"), f" must be a date, as in the store, got {given!r}.")
        window, upper = pl.col(self.window), "<" if isinstance(given, tuple) else "<="
        inside = (window >= start) & ((window < end) if upper == "<" else (window <= end))
        others = self.rows(acc).filter(~inside.fill_null(False)).height
        if others:
            raise DataError(f"{others:,} groups have another window {self.window!r} than the one that is replaced.")
        column = quoted(self.window)
        return f"{column} >= '{start.isoformat()}' AND {column} {upper} '{end.isoformat()}'"

    def truncated(self, every: str) -> pl.Expr:
        """The window, truncated to multiples of a length of time.

        Raises:
            SpecificationError: for what is no length of time.
        """
        require_length(every)
        with translated(
            SpecificationError, Argument("every"), f" must be a duration such as '1d', '1w' or '1mo', got {every!r}"
        ):
            pl.Series([date(2026, 1, 1)]).dt.truncate(every)  # which refuses more than times do
        return pl.col(self.window).dt.truncate(every)

    def moment(self, time: date | str) -> date:
        """A time in the type that the window column has in the table; where that has only dates, the next one.

        Raises:
            SpecificationError: for what is no time, and for a time zone where the window has none.
        """
        kind = self.schema[self.window]
        zone = getattr(kind, "time_zone", None)
        found = moment(time, zone)
        if found is not None and found.tzinfo and zone is None:
            raise SpecificationError(f"{time!r} has a time zone, and the window {self.window!r} has none.")
        with suppress(OverflowError):  # of the calendar
            if found is not None:
                return (found + (timedelta(days=1) - timedelta.resolution)).date() if kind == pl.Date() else found
        raise SpecificationError(f"a time is a date, a datetime, or ISO text of one, not {time!r}.")


@lru_cache(maxsize=64)
def _told(state: str, window: str) -> Layout:
    """The layout of a window and an accumulator without rows, which nobody adds rows to."""
    with translated(StateError, "the table's configuration holds no state"):
        content = b64decode(state)
        empty, none = Accumulator.from_bytes(content), pa.ipc.open_stream(content).read_all()
        found = Layout(empty, window, none)
    if not isinstance(found.schema.get(window), TIMES):
        raise StateError(f"the table's configuration names {window!r}, which is no group of dates or times.")
    return found


def one_of(values: pl.Series) -> pl.Expr:
    """Whether the column of that name holds one of these values, null included."""
    column, known = pl.col(values.name), values.drop_nulls()
    low, high = (pl.lit(end, known.dtype) for end in (known.min(), known.max()))
    chosen = column.is_between(low, high) & column.is_in(known.unique().implode())
    return chosen | column.is_null() if values.null_count() else chosen


def one_of_sql(values: pl.Series) -> str:
    """`one_of` for dates or times, as SQL."""
    column = quoted(values.name)
    texts = ", ".join(f"'{value.isoformat()}'" for value in values.drop_nulls())
    return " OR ".join([f"{column} IN ({texts})"] * bool(texts) + [f"{column} IS NULL"] * bool(values.null_count()))


def quoted(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _require_years(acc: Accumulator) -> None:
    """Refuse dates and times outside of the years 1 to 9999, in UTC and in their time zone, which Python has not."""
    for column in acc.state.keys.select(cs.temporal() - cs.duration() - cs.time()):
        ends = [date.min, date.max] if column.dtype == pl.Date else [datetime.min, datetime.max]
        if getattr(column.dtype, "time_zone", None):
            ends = [datetime.min + timedelta(days=1), datetime.max - timedelta(days=1)]
        inside = column.to_physical().is_between(*pl.Series(ends).to_physical())
        if outside := int((~inside).sum()):
            name = column.name
            raise DataError(
                f"Column {name!r} has {outside:,} groups outside of the years 1 to 9999. Remove these rows."
            )


def _leaves(kind: Any) -> list[Any]:
    """The types inside a nested one, or the type itself."""
    if isinstance(kind, pl.List):
        return _leaves(kind.inner)
    if isinstance(kind, pl.Struct):
        return [leaf for field in kind.fields for leaf in _leaves(field.dtype)]
    return [kind]


def stored(kind: Any) -> Any:
    """The type in which the table keeps one."""
    if isinstance(kind, pl.List):
        return pl.List(stored(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: stored(field.dtype) for field in kind.fields})
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return pl.Datetime("us", "UTC")
    return STORED.get(kind.base_type(), kind)


def _within(column: pl.Series, kind: Any) -> pl.Series:
    """A nested column without the fields that its type in the table has not."""
    if not isinstance(column.dtype, pl.List) or len(_leaves(column.dtype)) == len(_leaves(kind)):
        return column
    return column.list.eval(pl.struct(pl.element().struct.field(field.name) for field in kind.inner.fields))


def fitted(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """A column in the type that the table keeps it in, which must hold every value."""
    try:
        cast = column.cast(kind)
        if cast.cast(column.dtype).equals(column):
            return cast
    except pl.exceptions.PolarsError:
        pass
    raise ColumnError(f"the column {column.name!r} is of type {column.dtype}; the table's type {kind} cannot hold it.")
