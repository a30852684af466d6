"""The specification of a history: what its states have in common, and how they are rows of its table.

Models can be added. Everything else must be equal, and windows of another history can be copied.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache, reduce
from typing import Any

import polars as pl
import polars.selectors as cs

from streammetrics.accumulator import Accumulator, empty_of, with_state
from streammetrics.base import TEXT_DATES, hidden
from streammetrics.data import LABEL, SINGLE, Roles, has_values, joint_types
from streammetrics.errors import Argument, ColumnError, DataError, MergeError, SpecificationError, StateError
from streammetrics.monitor.history.table import fitted, one_of
from streammetrics.monitor.history.window import TIMES, WindowColumn
from streammetrics.statistics import (
    GROUP,
    PAIR,
    ConfusionMatrix,
    Paired,
    State,
    Statistic,
    Sums,
    combine,
    data_types,
    difference,
    require_equal,
)

STATE = "streammetrics.state"  # of the table's configuration: the empty accumulator in base64
WINDOW = "streammetrics.window"  # the name of the window column
COMMIT: dict[str, pl.DataType] = {
    "batch_id": pl.String(),
    "ingested": pl.Datetime("us", "UTC"),
    "version": pl.Int64(),
}  # columns of a commit
INTEGERS: dict[type[pl.DataType], pl.DataType] = {  # for types that Delta Lake does not have
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Time: pl.Int64(),
    pl.Duration: pl.Int64(),
}
GROUPS = 1_024  # about this many groups are in memory at once,
SMALL_GROUPS = 1_048_576  # if each has the same few cells, which take 300 bytes
ROW_GROUP, SMALL_ROW_GROUP = 1_024, 8_192  # rows of a file that are read together, under the same assumption
WINDOW_REQUIRED = "A history requires a window, a group column of type Date or Datetime."
ADVICE = (
    "A history has one specification. Append to a new history, and copy old windows to it with MetricStore.copy_to."
)
EARLIER, CHUNK = hidden("rows of the group before"), hidden("chunk")


@dataclass(frozen=True)
class Specification:
    """The columns and statistics of a history, as an empty accumulator, and its window.

    A row of the table is a group of an append: the group columns, ``batch_id``, ``ingested``, ``version``, and the
    nested columns of `Accumulator.to_arrow`. Types that Delta Lake does not have are integers, and times are in UTC.
    """

    empty: Accumulator
    window: WindowColumn

    @classmethod
    def first(cls, acc: Accumulator, window: str | None) -> Specification:
        """Return the specification of the first append."""
        _require_years(acc)
        by = acc.roles.by
        if not by:
            raise SpecificationError(
                f"{WINDOW_REQUIRED} The accumulator has no group columns: pass ", Argument("by"), " to it."
            )
        empty = acc.filter(pl.lit(False))
        schema = _types(empty)
        times = [name for name in by if isinstance(schema[name], TIMES)]
        if window is None and len(times) != 1:
            if not times:
                raise SpecificationError(f"{WINDOW_REQUIRED} The accumulator has none. {TEXT_DATES}")
            choice = f"{WINDOW_REQUIRED} Select one of {', '.join(times)} with "
            raise SpecificationError(choice, Argument("window"), ".")
        if window is not None and window not in times:
            raise SpecificationError(f"The window {window!r} must be a group column of type Date or Datetime.")
        names = [name.lower() for name in (*schema, *COMMIT)]
        if taken := [name for name in by if names.count(name.lower()) > 1]:
            raise SpecificationError(
                Argument("by"), f" cannot use the name {taken[0]!r}, which MetricStore uses. Give it an alias."
            )
        tables = {column: empty.state.keys.select(column) for column in empty.state.by} | empty.state.tables
        if unknown := [name for name, table in tables.items() if pl.Null in table.dtypes]:
            raise ColumnError(
                f"Cannot infer the type of column {unknown[0]!r}: all values in the first append are null. "
                "Cast the column first."
            )
        name = window or times[0]
        return cls(empty, WindowColumn(name, schema[name]))

    @classmethod
    def read(cls, configuration: Mapping[str, str]) -> Specification:
        """Return the specification in the configuration of a table."""
        if STATE not in configuration:
            raise StateError("Not a streammetrics history: the table's configuration has no state.")
        return _read(configuration[STATE], configuration[WINDOW])

    @property
    def configuration(self) -> dict[str, str]:
        """The entries of the configuration of the table."""
        return {STATE: b64encode(self.empty.to_bytes()).decode(), WINDOW: self.window.name}

    def including(self, acc: Accumulator) -> Specification:
        """Return the specification with the models of an accumulator. Rejects another one."""
        ours = self.empty
        if ours.roles == acc.roles and ours.statistics == acc.statistics:
            return self
        try:
            _require_roles(ours.roles, acc.roles)
            require_equal(ours.roles, ours.roles, _compared(ours, acc), _compared(acc, ours))
        except MergeError as error:
            raise MergeError(*error.args, f" {ADVICE}") from None
        return self._with_models(acc)

    def copying(self, acc: Accumulator) -> Specification:
        """Return the specification with the models of another history, whose windows can be copied."""
        ours, theirs = self.empty.roles, acc.roles
        if any(theirs.inputs.get(name) != column for name, column in ours.inputs.items()):
            raise MergeError(*difference("inputs", ours, theirs))
        free = {name: getattr(ours, name) for name in ("by", "probability", "inputs", "row_id")}
        _require_roles(ours, replace(theirs, **free))
        statistics = {s.name: s for s in acc.statistics}
        for statistic in self.empty.statistics:
            if not isinstance(statistic, Paired) and not _includes(statistics.get(statistic.name), statistic):
                raise MergeError(f"The history cannot be copied, because its windows do not have {statistic!r}.")
        return self._with_models(acc)

    def _with_models(self, acc: Accumulator) -> Specification:
        empty = self.empty
        models = {role: getattr(empty.roles, role) | getattr(acc.roles, role) for role in ("y_pred", "y_score")}
        roles = replace(empty.roles, **models)
        names = {s.name for s in empty.statistics}
        pairs = (s for s in acc.statistics if isinstance(s, Paired) and s.name not in names)
        statistics = tuple(_with_pairs(s, acc) for s in (*empty.statistics, *pairs))
        if roles == empty.roles and statistics == empty.statistics:
            return self
        more = empty_of(roles, statistics, empty)
        tables = more.state.tables | empty.state.tables
        state = replace(more.state, groups=empty.state.groups, tables={s.name: tables[s.name] for s in statistics})
        return Specification(with_state(more, state), self.window)

    @cached_property
    def groups(self) -> list[str]:
        """The group columns."""
        return list(self.empty.roles.group_columns)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models; empty if they have no names."""
        return tuple(model for model in self.empty.roles.models if model != SINGLE)

    @cached_property
    def stored(self) -> dict[str, pl.DataType]:
        """The columns of the table and their types, starting with those that are used to skip files."""
        types = {name: _stored(kind) for name, kind in _types(self.empty).items()}
        return {name: types[name] for name in self.groups} | COMMIT | types

    @cached_property
    def is_small(self) -> bool:
        """Whether each group has the same few cells."""
        weighted = self.empty.roles.sample_weight is not None
        return all(isinstance(s.counter(weighted), Sums) for s in self.empty.statistics)

    @property
    def row_group(self) -> int:
        """Number of rows of a file that are read together."""
        return SMALL_ROW_GROUP if self.is_small else ROW_GROUP

    def rows(self, acc: Accumulator) -> pl.DataFrame:
        """Return the groups of an accumulator as rows of the table, without the columns of a commit."""
        acc = self._convert_zones(acc)
        _require_years(acc)
        state, roles = self.empty.state, self.empty.roles
        types = state.keys.select(roles.keys).schema
        if ConfusionMatrix.name in state.tables and not roles.labels:  # of class labels that are not declared
            types[LABEL] = state.tables[ConfusionMatrix.name].schema["actual"]
        joint_types([types, data_types(acc.roles, acc.state)])
        frame = pl.DataFrame((self.empty + carried(acc, self.empty)).to_arrow())
        return frame.select(fitted(frame[name], self.stored[name]) for name in frame.columns)

    def _convert_zones(self, acc: Accumulator) -> Accumulator:
        """The accumulator with times in the time zones of the table, so that equal times match."""
        converted = {}
        for name in acc.roles.by:
            column = acc.state.keys[name]
            ours, theirs = self.empty.state.keys.schema.get(name), column.dtype
            both = isinstance(ours, TIMES) and isinstance(theirs, TIMES)
            if ours == theirs or not both or not has_values(column):
                continue
            zone = getattr(ours, "time_zone", None)
            if zone is None or getattr(theirs, "time_zone", None) is None:
                midnight = ".cast(pl.Datetime)" * (theirs == pl.Date())
                step = "date()" if ours == pl.Date() else f"replace_time_zone({zone!r})"
                advice = f"pl.col({name!r}){midnight}.dt.{step}"
                raise ColumnError(f"Column {name!r} must be {ours} as in the store, got {theirs}. Use {advice}.")
            converted[name] = pl.col(name).dt.convert_time_zone(zone)
        return acc.rollup(*(converted.get(name, name) for name in acc.roles.by)) if converted else acc

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Group columns of rows of the table in the types that states have."""
        types = self.empty.state.keys.schema
        return rows.cast({name: types[name] for name in self.groups if name in rows.columns})

    def fold(self, rows: pl.DataFrame) -> Accumulator:
        """Return the accumulator of rows of the table. Rows of a group are merged one by one, in the order of versions.

        The result is therefore the same, bit for bit, if the first rows of a group were merged before.
        """
        rows = rows.sort(*self.groups, "version", nulls_last=True)
        if self.empty.state.exact:
            state = self._state(rows).roll_up(self.groups)
        else:
            earlier = pl.int_range(pl.len()).over(self.groups)
            parts = rows.with_columns(earlier.alias(EARLIER)).partition_by(EARLIER, maintain_order=True)
            states = [self._state(part).roll_up(self.groups) for part in parts or [rows]]
            state = reduce(lambda total, part: combine([total, part]), states)
        return with_state(self.empty, state)

    def _state(self, rows: pl.DataFrame) -> State:
        """The state of rows of the table, which only this library writes: cells are not checked again."""
        empty, numbered = self.empty.state, rows.with_row_index(GROUP)
        tables = {}
        for name, table in empty.tables.items():
            cells = numbered.select(GROUP, name).explode(name, empty_as_null=False, keep_nulls=False)
            tables[name] = cells.unnest(name).cast(table.schema)
        return replace(empty, groups=self.keys(numbered.select(GROUP, *self.groups)), tables=tables)

    def merged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows merged by group, with the last version, in the order of windows."""
        only = pl.when(pl.len() == 1).then(pl.first("batch_id"))
        commits = rows.group_by(self.groups).agg(only, pl.max("ingested", "version"))
        groups = self.rows(self.fold(rows)).join(commits, on=self.groups, nulls_equal=True, maintain_order="left")
        return groups.sort(self.window.name, maintain_order=True).select([*self.stored])

    def chunks(
        self, rows: pl.LazyFrame, commit: Sequence[str], keys: pl.DataFrame | None = None
    ) -> Iterator[pl.DataFrame]:
        """Return the rows of all or selected groups with some columns of commits, a few windows at a time.

        How windows are combined depends on their groups, not on their number of rows.
        """
        rows = rows.drop(column for column in COMMIT if column not in commit)
        most = SMALL_GROUPS if self.is_small else GROUPS
        if keys is None:
            if rows.select(pl.len()).collect().item() <= most:  # and so are the groups: one chunk
                yield rows.collect()
                return
            keys = rows.select(self.groups).unique().collect()
        sizes = keys.group_by(self.window.name).len(CHUNK).sort(self.window.name)
        sizes = sizes.with_columns((pl.col(CHUNK).cum_sum() - 1) // most)
        for windows in sizes.partition_by(CHUNK, maintain_order=True):
            chunk = keys.join(windows, on=self.window.name, how="semi", nulls_equal=True)
            needed = [one_of(chunk[name]) for name in keys.columns]
            yield rows.filter(needed).join(chunk.lazy(), on=keys.columns, how="semi", nulls_equal=True).collect()


@lru_cache(maxsize=64)
def _read(state: str, window: str) -> Specification:
    """Return the specification of a saved state and a window, which must not be updated."""
    empty = Accumulator.from_bytes(b64decode(state))
    return Specification(empty, WindowColumn(window, empty.state.keys.schema[window]))


def carried(acc: Accumulator, like: Accumulator) -> Accumulator:
    """Return the state of an accumulator with the columns and statistics of another one, which it includes.

    Group columns that it lacks are null, and it has no rows of pairs that it lacks.
    """
    if acc.roles == like.roles and acc.statistics == like.statistics:
        return acc
    state, schema = acc.state, like.state.groups.schema
    lacking = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in state.groups.columns]
    tables = {s.name: _cells(state, s, like.state.tables[s.name].clear()) for s in like.statistics}
    groups = state.groups.with_columns(lacking).select(schema.names())
    included = State(like.statistics, groups, tables, like.state.labels)
    return with_state(like, included.roll_up(like.roles.group_columns))


def _types(empty: Accumulator) -> pl.Schema:
    """The types of the group columns and nested columns of the saved form."""
    state = empty.state
    tables = {s.name: state.tables[s.name].drop(GROUP).schema for s in state.statistics}
    return pl.Schema(state.keys.schema | {name: pl.List(pl.Struct(cells)) for name, cells in tables.items()})


def _stored(kind: Any) -> Any:
    """The type in which the table stores a type."""
    if isinstance(kind, pl.List):
        return pl.List(_stored(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _stored(field.dtype) for field in kind.fields})
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return pl.Datetime("us", "UTC")
    return INTEGERS.get(kind.base_type(), kind)


def _require_years(acc: Accumulator) -> None:
    """Reject dates and times outside the years 1 to 9999, in UTC or their time zone, which Python does not support."""
    for column in acc.state.keys.select(cs.temporal() - cs.duration() - cs.time()):
        ends = [date.min, date.max] if column.dtype == pl.Date else [datetime.min, datetime.max]
        if getattr(column.dtype, "time_zone", None):
            ends = [datetime.min + timedelta(days=1), datetime.max - timedelta(days=1)]
        inside = column.to_physical().is_between(*pl.Series(ends).to_physical())
        if outside := int((~inside).sum()):
            name = column.name
            raise DataError(f"Column {name!r} has {outside:,} groups outside the years 1 to 9999. Remove these rows.")


def _require_roles(ours: Roles, theirs: Roles) -> None:
    """Reject columns with another meaning. Models can differ."""
    models = {}
    for role in ("y_pred", "y_score"):
        a, b = getattr(ours, role), getattr(theirs, role)
        if bool(a) != bool(b) or (SINGLE in a) != (SINGLE in b) or any(a[name] != b[name] for name in a.keys() & b):
            raise MergeError(*difference(role, ours, theirs))
        models[role] = a | b
    require_equal(replace(ours, **models), replace(theirs, **models), (), ())


def _compared(acc: Accumulator, other: Accumulator) -> list[Statistic]:
    """The statistics that two specifications must have in common: not which models they pair."""
    names = {s.name for s in other.statistics}
    return [_without_pairs(s) for s in acc.statistics if s.name in names or not isinstance(s, Paired)]


def _without_pairs(statistic: Statistic) -> Statistic:
    return replace(statistic, pairs=()) if isinstance(statistic, Paired) else statistic


def _with_pairs(statistic: Statistic, acc: Accumulator) -> Statistic:
    """A statistic with the pairs of models of an accumulator added."""
    if not isinstance(statistic, Paired):
        return statistic
    pairs = dict.fromkeys(statistic.pairs)
    for other in acc.statistics:
        if isinstance(other, Paired) and _without_pairs(other) == _without_pairs(statistic):
            pairs |= dict.fromkeys(other.pairs)
    if turned := [pair for pair in pairs if pair[::-1] in pairs]:
        raise MergeError(f"The models {turned[0]} are a pair in the opposite order. Name them in the same order.")
    return replace(statistic, pairs=tuple(pairs))


def _includes(one: Statistic | None, statistic: Statistic) -> bool:
    """Whether a statistic has the cells of another one, with fewer thresholds or a smaller capacity."""
    if type(one) is not type(statistic):
        return False
    thresholds, others = _thresholds(statistic), _thresholds(one)
    if not thresholds <= others or (not thresholds and others):
        return False
    options: dict[str, Any] = {n: getattr(statistic, n) for n in ("capacity", "thresholds") if hasattr(statistic, n)}
    return replace(one, **options) == statistic and getattr(one, "capacity", 0) >= options.get("capacity", 0)


def _thresholds(statistic: Any) -> set[float]:
    return {*getattr(statistic, "thresholds", ())}


def _cells(state: State, statistic: Statistic, none: pl.DataFrame) -> pl.DataFrame:
    """The table of a statistic, from a state that includes it; ``none`` has no rows."""
    one = next((s for s in state.statistics if s.name == statistic.name), None)
    if isinstance(statistic, Paired):
        if not isinstance(one, Paired) or _without_pairs(one) != _without_pairs(statistic):
            return none
        numbers = [statistic.pairs.index(pair) for pair in one.pairs]
        number = pl.col(PAIR).replace_strict([*range(len(numbers))], numbers, return_dtype=pl.UInt32)
        return state.tables[statistic.name].with_columns(number)
    table, thresholds = state.tables[statistic.name], _thresholds(statistic)
    return table.filter(pl.col("threshold").is_in(thresholds)) if thresholds else table
