"""Columns of scores and columns of labels; validation of their batches before they are stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import polars as pl
import polars.selectors as cs

from streammetrics.data import Reader, Roles, as_written, read, require_columns, to_frame
from streammetrics.errors import Argument, ColumnError, DataError, SpecificationError
from streammetrics.monitor.history.label_coverage import GROUP, ROWS

LARGEST = 2**63 - 1  # the largest integer that Delta Lake can store
UNSTORABLE = (pl.Time, pl.Duration, pl.Int128, pl.UInt128)  # as columns of waiting rows
LAST = date.max - timedelta(days=1)  # the last day that has a next day


@dataclass(frozen=True)
class Columns:
    """The key columns, which scores and labels share, and the columns of labels. All others are columns of scores."""

    roles: Roles
    key: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def scores(self) -> tuple[str, ...]:
        """The columns of scores, without the key."""
        return tuple(name for name in self.roles.sources if name not in (*self.labels, *self.key))

    def require(self, taken: Collection[str]) -> None:
        """Reject an invalid key, invalid labels, and reserved names."""
        if not self.key or not all(isinstance(name, str) for name in self.key):
            raise SpecificationError(Argument("key"), f" must be one or more column names, got {self.key!r}.")
        if not self.labels:
            raise SpecificationError(
                "The accumulator has no true values. Pass the columns of the labels as ", Argument("labels"), "."
            )
        if both := [name for name in self.key if name in self.labels]:
            raise SpecificationError(f"Column {both[0]!r} cannot be both a key and a label.")
        taken = {*taken, *(f"{GROUP}{name}".lower() for name in self.roles.by)}
        if clash := [name for name in (*self.key, *self.labels, *self.scores) if name.lower() in taken]:
            raise SpecificationError(f"Column name {clash[0]!r} is reserved for the joiner. Rename the column.")
        names = sorted(sorted({*self.key, *self.labels, *self.scores}), key=str.lower)
        if equal := [pair for pair in pairwise(names) if pair[0].lower() == pair[1].lower()]:
            raise SpecificationError("Columns {!r} and {!r} differ only in case. Rename one.".format(*equal[0]))

    def read(self, batch: Any, columns: Sequence[str]) -> pl.DataFrame:
        """Select and validate the key and some columns of a batch, because stored rows must not fail later."""
        needed = list(dict.fromkeys([*self.key, *columns]))
        frame = to_frame(batch, needed)
        require_columns(needed, frame.columns)
        for name in self.key:
            _reject_nulls(frame[name])
            _reject_inexact(frame[name])
        read(frame, self.roles.within(needed))
        exact = frame.select(cs.integer() | cs.decimal() | cs.boolean()).columns
        integers = [name for name in needed if name in self._numbers and name in exact]
        names = {*self.key}.union(*self.roles.labeling)
        floats = [as_written(frame[name]) for name in needed if name in names and frame.schema[name].is_float()]
        return frame.select(needed).with_columns(floats).cast(dict.fromkeys(integers, pl.Float64()))

    def with_labels(self, labels: pl.DataFrame) -> pl.DataFrame:
        """Remove rows whose label is null or NaN, which ``nulls="drop"`` allows: it would stand for the real label."""
        columns = read(labels, replace(self.roles.within(labels.columns), count=None)).columns.items()
        truths = [column for field, column in columns if field.role == "truth"]
        return labels.filter(*(column.is_not_null() for column in truths)) if truths else labels

    @property
    def _numbers(self) -> set[str]:
        """Columns that are only read as floats. They are stored as floats even if the first batch has integers."""
        roles = self.roles
        numbers = roles.numbers | roles.targets if roles.kind == "regression" else roles.numbers - roles.targets
        return numbers - {*self.key, *roles.by, roles.unit, *roles.roots(roles.expressions)}

    def named(self, rows: pl.DataFrame, number: int) -> str:
        """Name a row by its key, for error messages."""
        key = rows.select(self.key).row(number, named=True)
        return "the row with " + ", ".join(f"{name}={value!r}" for name, value in key.items())

    def computed(self, scores: pl.DataFrame) -> list[pl.Series]:
        """Return the groups that are expressions over scores, and their counts, from which label coverage follows."""
        roles, reader = self.roles.within(scores.columns), Reader(scores, self.roles)
        groups = [reader.column(name) for name in roles.by if name in roles.expressions]
        counts = [] if roles.count is None else [reader.counts(reader.column(roles.count)).alias(ROWS)]
        return [*counts, *(group.alias(f"{GROUP}{group.name}") for group in groups if group.dtype not in UNSTORABLE)]

    def days(self, scores: pl.DataFrame, window: str | None) -> pl.Series:
        """Return the day of each score: its window, or the date of its window."""
        groups = map(Reader(scores, self.roles).column, self.roles.within(scores.columns).by)
        times = [column for column in groups if isinstance(column.dtype, pl.Date | pl.Datetime)]
        windows = [column for column in times if window in (None, column.name)]
        if len(windows) != 1:
            raise SpecificationError(
                "The scores must have one window, a group column of type Date or Datetime; got "
                f"{', '.join(column.name for column in times) or 'none'}. Pass ",
                Argument("window"),
                " to the MetricStore.",
            )
        _reject_nulls(windows[0])
        days = windows[0].dt.date()
        if not days.to_physical().is_between(*pl.Series([date.min, LAST]).to_physical()).all():
            raise DataError(
                f"Column {windows[0].name!r} has times before {date.min} or after {LAST}. Remove these rows."
            )
        return days


def _reject_nulls(column: pl.Series) -> None:
    if nulls := column.null_count():
        raise DataError(
            f"Column {column.name!r} contains null in {nulls:,} of {len(column):,} rows. Remove these rows."
        )


def _reject_inexact(key: pl.Series) -> None:
    """Reject keys that the table of waiting rows cannot store exactly."""
    kind = key.dtype
    if kind.is_nested() or kind in (pl.Int128, pl.UInt128, pl.Time, pl.Duration, pl.Object):
        raise ColumnError(f"Column {key.name!r} cannot be a key, because it is of type {kind}. Cast it to String.")
    if kind.is_float():
        wrong, fault = key.is_nan(), "NaN"
    elif kind == pl.UInt64:
        wrong, fault = key > LARGEST, "integers beyond 2^63"
    elif isinstance(kind, pl.Datetime) and kind.time_unit == "ns":
        wrong, fault = key.to_physical() % 1_000 != 0, "times with nanoseconds"
    else:
        return
    if count := wrong.sum():
        advice = "Remove these rows" if fault == "NaN" else "Cast it to String in scores and labels"
        raise DataError(f"Column {key.name!r} contains {fault} in {count:,} of {len(key):,} rows. {advice}.")
