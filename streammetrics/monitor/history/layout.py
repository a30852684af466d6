"""Layout of states in a Delta Lake table: their rows, and rows of several appends merged by group."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

import polars as pl
import polars.selectors as cs

from streammetrics.accumulator import Accumulator, merge
from streammetrics.base import TEXT_DATES
from streammetrics.data import LABEL, SINGLE, find, has_values, joint_types
from streammetrics.errors import Argument, ColumnError, DataError, SpecificationError, StateError
from streammetrics.monitor.history.columns import OWN, fitted, leaves, one_of, require_distinct, stored
from streammetrics.monitor.history.specification import carry, joint
from streammetrics.monitor.history.window import TIMES, Window
from streammetrics.statistics import ConfusionMatrix, Sums, data_types

STATE = "streammetrics.state"  # of the table's configuration: the empty accumulator in base64
WINDOW = "streammetrics.window"  # the name of the window column
GROUPS = 1_024  # about this many groups are in memory at once,
SMALL_GROUPS = 1_048_576  # if each has the same few cells, which take 300 bytes
TOGETHER = 1_024, 8_192  # rows of a file that are read together, under the same assumption
WINDOW_REQUIRED = "A history requires a window, a group column of type Date or Datetime."
PLACE = "group"  # a name that group columns cannot have


@dataclass(frozen=True)
class Layout:
    """Layout of the states of a history in its table: the specification as an empty accumulator, and the window.

    A row is a group of an append: the group columns, ``batch_id``, ``ingested``, ``version``, and the nested columns of
    `Accumulator.to_arrow`. Types that Delta Lake does not have are stored as integers, and times in UTC.
    """

    empty: Accumulator
    window: Window

    @classmethod
    def of(cls, acc: Accumulator, window: str | None) -> Layout:
        """Return the layout of the first append."""
        _require_years(acc)
        if not acc.roles.by:
            raise SpecificationError(
                f"{WINDOW_REQUIRED} The accumulator has no group columns: pass ", Argument("by"), " to it."
            )
        empty = acc.filter(pl.lit(False))
        schema = pl.DataFrame(empty.to_arrow()).schema
        times = [name for name in acc.roles.by if isinstance(schema[name], TIMES)]
        if window is None and len(times) != 1:
            if not times:
                raise SpecificationError(f"{WINDOW_REQUIRED} The accumulator has none. {TEXT_DATES}")
            choice = f"{WINDOW_REQUIRED} Select one of {', '.join(times)} with "
            raise SpecificationError(choice, Argument("window"), ".")
        if window is not None and window not in times:
            raise SpecificationError(f"The window {window!r} must be a group column of type Date or Datetime.")
        require_distinct(acc.roles.by, (*schema, *OWN))
        for name, kind in schema.items():
            if pl.Null in leaves(kind):
                raise ColumnError(
                    f"Cannot infer the type of column {name!r}: all values in the first append are null. "
                    "Cast the column first."
                )
        name = window or times[0]
        return cls(empty, Window(name, schema[name]))

    @classmethod
    def read(cls, configuration: Mapping[str, str]) -> Layout:
        """Return the layout from the configuration of a table."""
        if STATE not in configuration:
            raise StateError("Not a streammetrics history: the table's configuration has no state.")
        return _read(configuration[STATE], configuration[WINDOW])

    @property
    def configuration(self) -> dict[str, str]:
        """The entries of the configuration of the table."""
        return {STATE: b64encode(self.empty.to_bytes()).decode(), WINDOW: self.window.name}

    def including(self, acc: Accumulator) -> Layout:
        """Return the layout with the models of an accumulator. Rejects another specification."""
        empty = joint(self.empty, acc)
        return self if empty is self.empty else Layout(empty, self.window)

    @cached_property
    def groups(self) -> list[str]:
        """The group columns."""
        return list(self.empty.roles.group_columns)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models; empty if they have no names."""
        return tuple(model for model in self.empty.roles.models if model != SINGLE)

    @cached_property
    def schema(self) -> pl.Schema:
        """Group columns and nested columns, in the types that accumulators have."""
        return pl.DataFrame(self.empty.to_arrow()).schema

    @cached_property
    def stored(self) -> dict[str, pl.DataType]:
        """The columns of the table and their types, starting with those that are used to skip files."""
        types = {name: stored(kind) for name, kind in self.schema.items()}
        return {name: types[name] for name in self.groups} | OWN | types

    @cached_property
    def is_small(self) -> bool:
        """Whether each group has the same few cells."""
        weighted = self.empty.roles.sample_weight is not None
        return all(isinstance(s.counter(weighted), Sums) for s in self.empty.statistics)

    @property
    def together(self) -> int:
        """Number of rows of a file that are read together."""
        return TOGETHER[self.is_small]

    def rows(self, acc: Accumulator) -> pl.DataFrame:
        """Return the groups of an accumulator as rows of the table, without its own columns."""
        acc = self._in_zones(acc)
        _require_years(acc)
        joint_types([self._types, data_types(acc.roles, acc.state)])
        frame = pl.DataFrame((self.empty + carry(acc, self.empty)).to_arrow())
        return frame.select(fitted(frame[name], stored(kind)) for name, kind in self.schema.items())

    @cached_property
    def _types(self) -> pl.Schema:
        """The types of group columns and of class labels that are not declared, which rows must have."""
        state = self.empty.state
        matrix = state.tables.get(ConfusionMatrix.name)
        label = {LABEL: matrix.schema["actual"]} if matrix is not None and not self.empty.roles.labels else {}
        return pl.Schema({**state.keys.select(self.empty.roles.keys).schema, **label})

    def _in_zones(self, acc: Accumulator) -> Accumulator:
        """The accumulator with times in the time zones of the table, so that equal times match."""
        moved = {}
        for name in acc.roles.by:
            column = acc.state.keys[name]
            ours, theirs = self.schema.get(name), column.dtype
            both = isinstance(ours, TIMES) and isinstance(theirs, TIMES)
            if ours == theirs or not both or not has_values(column):
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
        """Return the accumulator of rows of the table with distinct groups."""
        table = rows.select(self.schema.names()).cast(self.schema).to_arrow()
        return Accumulator.from_arrow(table.replace_schema_metadata(self._metadata))

    @cached_property
    def _metadata(self) -> Any:
        return self.empty.to_arrow().schema.metadata

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Group columns of the table in the types that accumulators have."""
        return rows.cast({name: self.schema[name] for name in self.groups if name in rows.columns})

    def fold(self, rows: pl.DataFrame) -> Accumulator:
        """Return the accumulator of rows of the table. Rows of a group are merged one by one, in the order of versions.

        The result is therefore the same, bit for bit, if the first rows of a group were merged before.
        """
        rows, row = rows.sort(*self.groups, "version", nulls_last=True), pl.int_range(pl.len())
        again = (row > 0) & pl.all_horizontal(pl.col(c).eq_missing(pl.col(c).shift()) for c in self.groups)
        if not rows.select(again.any()).item():
            return self.accumulator(rows)
        place = row - pl.when(~again).then(row).forward_fill()
        first, *later = rows.with_columns(place.alias(PLACE)).partition_by(PLACE, maintain_order=True)
        total, finished = self.accumulator(first), []
        for part in later:
            more = self.accumulator(part)
            goes_on = pl.lit(find(total.state.keys, more.state.groups).is_not_null())
            finished.append(total.filter(~goes_on))
            total = total.filter(goes_on) + more
        return merge([total, *finished])

    def added_up(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows merged by group, with the last version, in the order of windows."""
        single = pl.when(pl.len() == 1).then(pl.first("batch_id"))
        own = rows.group_by(self.groups).agg(single, pl.max("ingested", "version"))
        found = self.rows(self.fold(rows)).join(own, on=self.groups, nulls_equal=True, maintain_order="left")
        return found.sort(self.window.name, maintain_order=True).select([*self.stored])

    def parts(self, rows: pl.LazyFrame, keys: pl.DataFrame | None = None) -> Iterator[pl.DataFrame]:
        """Return the rows of all or selected groups, a few windows at a time.

        How windows are combined depends on their groups, not on their number of rows.
        """
        most = SMALL_GROUPS if self.is_small else GROUPS
        if keys is None:
            if rows.select(pl.len()).collect().item() <= most:  # and so are the groups: one part
                yield rows.collect()
                return
            keys = rows.select(self.groups).unique().collect()
        sizes = keys.group_by(self.window.name).len(PLACE).sort(self.window.name)
        sizes = sizes.with_columns((pl.col(PLACE).cum_sum() - 1) // most)
        for windows in sizes.partition_by(PLACE, maintain_order=True):
            part = keys.join(windows, on=self.window.name, how="semi", nulls_equal=True)
            needed = [one_of(part[name]) for name in keys.columns]
            yield rows.filter(needed).join(part.lazy(), on=keys.columns, how="semi", nulls_equal=True).collect()


@lru_cache(maxsize=64)
def _read(state: str, window: str) -> Layout:
    """Return the layout of a saved state and a window, which must not be updated."""
    empty = Accumulator.from_bytes(b64decode(state))
    return Layout(empty, Window(window, pl.DataFrame(empty.to_arrow()).schema[window]))


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
