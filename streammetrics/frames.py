"""The only door in: any Arrow or Polars batch becomes validated columns by role, and groups become codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import polars as pl

from streammetrics import kernels
from streammetrics.errors import ColumnError, DataError, StreamMetricsError
from streammetrics.kernels import NOTHING, Extent
from streammetrics.lazy import pa
from streammetrics.roles import Roles

UNGROUPED = pl.DataFrame()
UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    KeyError,
    OverflowError,
)


@dataclass(frozen=True)
class Batch:
    """Validated columns of one batch. Nulls are left only where ``nulls="drop"`` lets them pass.

    ``extent`` holds values that no score of a model lies below or above.
    """

    height: int
    by: pl.DataFrame
    label: pl.Series | None
    weight: pl.Series | None
    predicted: dict[str, pl.Series]
    score: dict[str, pl.Series]
    extent: dict[str, Extent]

    def end_of_piece(self, start: int, rows: int) -> int:
        """Where a piece of about so many rows ends: with a chunk of memory, if one ends there, to save a copy."""
        column = next(iter(self.score.values()), self.label)
        if column is None or column.n_chunks() == 1:
            return start + rows
        ends = accumulate(column.chunk_lengths())
        return max((end for end in ends if start + rows // 2 < end <= start + rows), default=start + rows)

    def slice(self, start: int, rows: int) -> Batch:
        """Some rows in a row."""
        rows = min(rows, self.height - start)
        return Batch(
            height=rows,
            by=self.by.slice(start, rows),
            label=None if self.label is None else self.label.slice(start, rows),
            weight=None if self.weight is None else self.weight.slice(start, rows),
            predicted={m: s.slice(start, rows) for m, s in self.predicted.items()},
            score={m: s.slice(start, rows) for m, s in self.score.items()},
            extent=self.extent,
        )


def read(data: Any, roles: Roles) -> Batch:
    """Read one batch by role.

    Args:
        data: a Polars DataFrame, anything with the Arrow PyCapsule protocol (pyarrow, pandas, a DuckDB relation), or a
            mapping of names to arrays.
        roles: the columns to read.

    Raises:
        ColumnError: for a missing column or an unusable type.
        DataError: for nulls, NaN, scores outside [0, 1], labels that are not one of two, negative weights.
    """
    frame = _frame(data, roles.sources)
    reader = _Reader(frame, roles)
    scores = {model: reader.scores(c) for model, c in roles.y_score.items()}
    return Batch(
        height=frame.height,
        by=pl.DataFrame([group_column(reader.column(c)) for c in roles.by]) if roles.by else UNGROUPED,
        label=reader.labels(roles.y_true) if roles.y_true is not None else None,
        weight=reader.weights(roles.sample_weight) if roles.sample_weight is not None else None,
        predicted={model: reader.labels(c) for model, c in roles.y_pred.items()},
        score={model: column for model, (column, _) in scores.items()},
        extent={model: extent for model, (_, extent) in scores.items()},
    )


def no_rows(roles: Roles) -> Batch:
    """A batch without rows. The types of its group columns are yet unknown."""
    return Batch(
        height=0,
        by=pl.DataFrame(schema=dict.fromkeys(roles.by, pl.Null)),
        label=None if roles.y_true is None else pl.Series(dtype=pl.Boolean),
        weight=None if roles.sample_weight is None else pl.Series(dtype=pl.Float64),
        predicted={m: pl.Series(dtype=pl.Boolean) for m in roles.y_pred},
        score={m: pl.Series(dtype=pl.Float64) for m in roles.y_score},
        extent=dict.fromkeys(roles.y_score, NOTHING),
    )


def append(held: Batch, more: Batch) -> Batch:
    """Rows of a batch after those that are held, which is used up. The memory is the result's own: what ``more`` came
    from may change afterwards.
    """

    def appended(rows: pl.Series | None, others: pl.Series | None) -> pl.Series | None:
        return None if rows is None or others is None else _extended(rows, held.height, others)

    return Batch(
        height=held.height + more.height,
        by=_appended_groups(held.by.head(held.height) if held.by.height > held.height else held.by, more.by),
        label=appended(held.label, more.label),
        weight=appended(held.weight, more.weight),
        predicted={m: _extended(s, held.height, more.predicted[m]) for m, s in held.predicted.items()},
        score={m: _extended(s, held.height, more.score[m]) for m, s in held.score.items()},
        extent={m: _joint(e, more.extent[m]) for m, e in held.extent.items()},
    )


def _appended_groups(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    if not rows.width:
        return rows
    if rows.schema != others.schema:
        rows, others = concat_groups([rows, others.clear()]), concat_groups([others, rows.clear()])
    if not rows.height:  # a frame without rows would take over the memory of the others
        return pl.DataFrame([pl.Series(n, dtype=t).extend(others[n]) for n, t in rows.schema.items()])
    return rows.extend(others)


def _extended(rows: pl.Series, height: int, others: pl.Series) -> pl.Series:
    """The first rows of a series with others after them, in place where there are no more rows."""
    if len(rows) > height:  # an interrupt came between two columns
        rows = rows.head(height)
    return rows.extend(others)


def concat_groups(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate group columns; a column that was all null so far takes the type it has elsewhere.

    Raises:
        ColumnError: where a group column changes its type.
    """
    for name in frames[0].columns:
        types = {f.schema[name] for f in frames} - {pl.Null()}
        if len(types) > 1 and types != {pl.Int64(), pl.Float64()}:
            found = " and ".join(sorted(map(str, types)))
            raise ColumnError(f"the group column {name!r} has different types in different batches: {found}.")
    return pl.concat(frames, how="vertical_relaxed", rechunk=True)


def group_column(series: pl.Series) -> pl.Series:
    """A group column in a type that is the same on every shard.

    Raises:
        ColumnError: for nested values and Python objects.
    """
    if series.dtype.is_extension():
        return group_column(series.ext.storage())
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32):
        return series.cast(pl.Int64)
    if series.dtype.is_float():
        return (series.cast(pl.Float64) + 0.0).fill_nan(None)
    if isinstance(series.dtype, (pl.Datetime, pl.Duration)):
        return series.dt.cast_time_unit("us")
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise ColumnError(f"column {series.name!r} is of type {series.dtype}; group by plain values.")
    return series


def _frame(data: Any, columns: Sequence[str]) -> pl.DataFrame:
    """The columns as a Polars frame. Memory that its owner could still change is copied."""
    if isinstance(data, pl.LazyFrame):
        raise ColumnError("a LazyFrame is a plan, not a batch; pass it to evaluate or accumulate.")
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        unique = columns and all(data.schema.names.count(c) == 1 for c in columns)
        return _converted(data.select(columns) if unique else data)
    if isinstance(data, Mapping):
        return _converted({c: data[c] for c in columns} if columns and set(columns) <= set(data) else data, copy=True)
    if hasattr(data, "__dataframe__") and columns and set(columns) <= set(data.columns):
        return _converted(data[list(columns)], copy=True)  # pandas: other columns may hold what Arrow cannot
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _converted(data, columns, copy=True)
    raise ColumnError(
        f"a batch of type {type(data).__name__} cannot be read; pass a Polars or pandas frame, an Arrow table "
        "or record batch, or a mapping of names to arrays."
    )


def _converted(data: Any, columns: Sequence[str] = (), copy: bool = False) -> pl.DataFrame:
    try:
        frame = pl.DataFrame(data)
        if set(columns) <= set(frame.columns) and columns:
            frame = frame.select(columns)
        return frame.select(pl.all().gather(pl.int_range(pl.len()))) if copy and frame.width else frame
    except (*UNREADABLE, pa.ArrowException) as error:
        raise ColumnError(f"the batch cannot be read as a table: {error}") from error


def _extent(column: pl.Series) -> Extent:
    """The extent of numbers, NaN where one is NaN."""
    extent = NOTHING
    for chunk in (column.drop_nulls() if column.null_count() else column).get_chunks():
        low, high = kernels.extent(chunk.to_numpy())
        if low != low:
            return low, high
        extent = _joint(extent, (low, high))
    return extent


def _joint(one: Extent, other: Extent) -> Extent:
    return min(one[0], other[0]), max(one[1], other[1])


class _Reader:
    """Columns of one batch by role, each validated."""

    def __init__(self, frame: pl.DataFrame, roles: Roles) -> None:
        self.frame = frame
        self.roles = roles

    def column(self, name: str) -> pl.Series:
        expression = self.roles.expressions.get(name)
        if expression is None:
            self._require(name)
            return self.frame.get_column(name)
        for root in expression.meta.root_names():
            self._require(root)
        try:
            made = self.frame.select(expression).to_series()
        except StreamMetricsError:
            raise
        except Exception as error:
            raise ColumnError(f"the expression for column {name!r} fails: {error}") from error
        if expression.meta.is_literal(allow_aliasing=True):
            return made.new_from_index(0, self.frame.height)
        if len(made) != self.frame.height:
            raise ColumnError(f"the expression for column {name!r} gives {len(made)} rows for {self.frame.height}.")
        return made

    def labels(self, name: str) -> pl.Series:
        """A binary label column as Boolean."""
        column = self._nan_to_null(self.column(name))
        self._refuse_nulls(column)
        if self.roles.positive is not None:
            return self._named_labels(column)
        if column.dtype == pl.Boolean:
            return column
        if column.dtype == pl.Null:
            return column.cast(pl.Boolean)
        advice = "pass positive= to say which label is positive"
        if not column.dtype.is_numeric():
            raise ColumnError(f"column {name!r} is of type {column.dtype}, not 0/1 or true/false; {advice}.")
        if column.dtype.is_integer() and _extent(column) in ((0, 0), (0, 1), (1, 1), NOTHING):
            return column.cast(pl.Boolean)
        positive = column == 1
        self._refuse(column, ~(positive | (column == 0)), "labels other than 0 and 1", advice)
        return positive

    def _named_labels(self, column: pl.Series) -> pl.Series:
        positive, negative = self.roles.positive, self.roles.negative
        if column.dtype == pl.Null:
            return column.cast(pl.Boolean)
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        try:
            is_positive: pl.Series = column == positive
            if negative is not None:
                wrong = ~(is_positive | (column == negative))
                fault = f"labels other than {positive!r} and {negative!r}"
                self._refuse(column, wrong, fault, "leave such rows out first, or give positive= alone")
        except (pl.exceptions.PolarsError, TypeError, NotImplementedError) as error:
            raise ColumnError(
                f"column {column.name!r} is of type {column.dtype} and cannot hold the label {positive!r}."
            ) from error
        return is_positive

    def scores(self, name: str) -> tuple[pl.Series, Extent]:
        """A score column as Float64, and its extent."""
        column = self._numbers(name)
        low, high = _extent(column)
        if low != low:
            column = column.fill_nan(None)
            low, high = _extent(column)
        self._refuse_nulls(column)
        if self.roles.probability and not (low >= 0 and high <= 1):
            advice = "pass probabilities, or domain='real' for margins and other scores"
            self._refuse(column, ~column.is_between(0, 1), "scores outside [0, 1]", advice)
        return column, (low, high)

    def weights(self, name: str) -> pl.Series:
        """A weight column as Float64: finite, not negative."""
        column = self._nan_to_null(self._numbers(name))
        self._refuse_nulls(column)
        wrong = (column < 0) | column.is_infinite()
        self._refuse(column, wrong, "negative or infinite weights", "mend them, or leave such rows out first")
        return column

    def _numbers(self, name: str) -> pl.Series:
        column = self.column(name)
        if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise ColumnError(f"column {name!r} is of type {column.dtype}; numbers are needed here.")
        return column.cast(pl.Float64)

    def _require(self, name: str) -> None:
        if name not in self.frame.columns:
            raise ColumnError(f"there is no column {name!r}; the batch has: {', '.join(self.frame.columns) or 'none'}.")

    @staticmethod
    def _nan_to_null(column: pl.Series) -> pl.Series:
        if not column.dtype.is_float():
            return column
        total = column.sum()
        return column.fill_nan(None) if total != total else column  # NaN spreads to the sum, which is cheap

    def _refuse_nulls(self, column: pl.Series) -> None:
        if self.roles.nulls == "raise" and column.null_count():
            self._refuse(column, column.is_null(), "null or NaN", "fill them, or pass nulls='drop'")

    def _refuse(self, column: pl.Series, wrong: pl.Series, fault: str, advice: str) -> None:
        """Raise where a row is wrong: say how many, the first one, and what to do."""
        if not wrong.any():
            return
        first = int(wrong.fill_null(False).arg_max() or 0)
        raise DataError(
            f"column {column.name!r} has {fault} in {wrong.sum():,} of {len(column):,} rows "
            f"(the first is {column[first]!r}, in row {first} of the batch); {advice}."
        )
