"""Batches: validated columns by role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import reason
from streammetrics.core import Codes
from streammetrics.data.rows.codes import encode
from streammetrics.data.rows.columns import HEAVIEST, Reader, require_columns
from streammetrics.data.rows.folds import fold, identities
from streammetrics.data.rows.frames import common_types, decoded, joint_types, to_frame, typed, types_of
from streammetrics.data.rows.labels import joint
from streammetrics.data.rows.roles import FOLD, LABEL, MODEL, SINGLE, Roles
from streammetrics.errors import ColumnError, DataError


class Field(NamedTuple):
    """Purpose of a column of a batch: ``role`` is truth, predicted, score, input, row_id, weight, or count.

    ``label`` is the label in multiclass and multilabel tasks, or the number of the input or of the row ID.
    """

    role: str
    model: str = SINGLE
    label: int = 0


WEIGHT = Field("weight")
COUNT = Field("count")
NO_GROUPS = pl.DataFrame()
NO_TYPES = pl.Schema()


@dataclass(frozen=True)
class Batch:
    """Validated columns of one batch. Nulls occur only with ``nulls="drop"``.

    Scores keep their float type, to which thresholds are rounded. ``keys`` are the group columns. ``label`` is the type
    of class labels that are not declared. ``others`` are the labels, or the first few, while ``positive=`` alone is
    declared and does not occur; otherwise None.
    """

    roles: Roles
    height: int
    keys: Sequence[pl.Series]
    columns: dict[Field, pl.Series]
    label: pl.Schema
    others: frozenset[Any] | None = frozenset()

    @cached_property
    def types(self) -> pl.Schema:
        """Types that depend on the data: of group columns, and of class labels that are not declared."""
        return types_of(self.keys, self.label) if self.keys else self.label

    @cached_property
    def amount(self) -> float:
        """The number of rows that these rows stand for, of all models together."""
        count = self.columns.get(COUNT)
        rows = self.height if count is None else count.cast(pl.Float64).fill_null(1.0).sum()
        return float(rows * len(self.roles.models))

    @property
    def group_columns(self) -> pl.DataFrame:
        """The group columns."""
        return pl.DataFrame([key.head(self.height) for key in self.keys])

    def fits(self, other: Batch) -> bool:
        """Whether the scores of both have the same types, so that their rows can be buffered together."""
        return all(s.dtype == other.columns[f].dtype for f, s in self.columns.items() if f.role == "score")

    def pieces(self, rows: int) -> Iterator[slice]:
        """Pieces of at least this many rows, at least one. They end with memory chunks if possible, to save a copy."""
        floats = [s for s in self.columns.values() if s.dtype.is_float()]  # the largest to copy
        column = next(iter(floats or self.columns.values()), None)
        ends = () if column is None else (*accumulate(column.chunk_lengths()),)
        start = 0
        while self.height - start >= 2 * rows:
            last = min(start + rows * 3 // 2, self.height - rows)
            end = next((end for end in ends if start + rows <= end <= last), start + rows)
            yield slice(start, end)
            start = end
        yield slice(start, self.height)

    @cached_property
    def _encoded(self) -> tuple[pl.DataFrame, Codes | None]:
        if not self.keys:
            return NO_GROUPS, None
        groups, codes = encode(self.group_columns)
        return groups.with_columns(map(decoded, groups.iter_columns())), codes

    @property
    def groups(self) -> pl.DataFrame:
        """The groups of the rows; no columns if rows are not grouped."""
        return self._encoded[0]

    @property
    def codes(self) -> Codes | None:
        """The number of each row's group among ``groups``, None if rows are not grouped."""
        return self._encoded[1]

    @cached_property
    def groups_by_model(self) -> pl.DataFrame:
        """The groups of the first model, then those of the next."""
        if self.roles.models == (SINGLE,):
            return self.groups
        models = pl.DataFrame({MODEL: self.roles.models})
        if not self.keys:
            return models
        return models.join(self.groups, how="cross", maintain_order="left_right").select(self.roles.group_columns)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.array([self.height]) if self.codes is None else np.bincount(self.codes, minlength=self.groups.height)


def read(data: Any, roles: Roles) -> Batch:
    """Read and validate one batch.

    A batch is a Polars DataFrame, anything with the Arrow PyCapsule protocol (pyarrow, pandas, a DuckDB relation), a
    mapping of names to arrays, or a list of rows, each a mapping of names to values.
    """
    frame = to_frame(data, roles.sources)
    try:
        return _read(Reader(frame, roles))
    except pl.exceptions.PanicException as error:  # which is not an Exception
        raise ColumnError(f"Cannot read the batch: {reason(error)}.") from error


def faults(frame: pl.DataFrame, roles: Roles) -> list[DataError]:
    """Return the errors of all rows of a batch, of which `read` raises the first that it finds."""
    errors: list[DataError] = []
    try:
        _read(Reader(frame, roles, errors))
    except (Exception, pl.exceptions.PanicException):
        if not errors:  # else invalid rows can have caused it
            raise
    return errors


def _read(reader: Reader) -> Batch:
    frame, roles = reader.frame, reader.roles
    require_columns(roles.sources, frame.columns)
    columns = {Field("truth", label=i): s for i, s in enumerate(reader.targets(roles.y_true))}
    for model, names in roles.y_pred.items():
        columns |= {Field("predicted", model, i): s for i, s in enumerate(reader.targets(names))}
        if roles.kind == "multiclass" and roles.y_true and not roles.labels:
            reader.require_classes(columns[Field("predicted", model)], columns[Field("truth")])
    for model, names in roles.y_score.items():
        columns |= {Field("score", model, i): s for i, s in enumerate(reader.probabilities(names))}
    columns |= {Field("input", label=i): reader.measured(name) for i, name in enumerate(roles.inputs.values())}
    for i, name in enumerate(roles.row_id):
        columns[Field("row_id", label=i)] = pl.Series(identities(reader.unit(name)))
    if roles.sample_weight is not None:
        columns[WEIGHT] = reader.amounts(reader.column(roles.sample_weight), "weights", HEAVIEST)
    if roles.count is not None:
        columns[COUNT] = reader.counts(reader.column(roles.count))
    keys = [reader.group(c) for c in roles.by]
    if roles.unit is not None:
        keys.append(fold(reader.unit(roles.unit), roles.folds).cast(pl.Int64).alias(FOLD))
    label = NO_TYPES
    if roles.kind == "multiclass" and not roles.labels:
        targets = (s for field, s in columns.items() if field.role in ("truth", "predicted"))
        label = joint_types([types_of([s.alias(LABEL)]) for s in targets])
    height = frame.height
    if COUNT in columns and (columns[COUNT] == 0).any():
        exists = columns[COUNT].fill_null(1) > 0
        keys, columns = [key.filter(exists) for key in keys], {field: s.filter(exists) for field, s in columns.items()}
        height = int(exists.sum())
    return Batch(roles, height, keys, columns, label, reader.others)


def append(buffer: Batch | None, more: Batch) -> Batch:
    """Append rows of a batch to a held batch, which is used up.

    The result does not share memory with ``more``, which may change later.
    """
    buffer = buffer or replace(more, height=0)
    return Batch(
        roles=buffer.roles,
        height=buffer.height + more.height,
        keys=[_extended(s, buffer.height, decoded(key)) for s, key in zip(buffer.keys, more.keys, strict=True)],
        columns={f: _extended(s, buffer.height, more.columns[f]) for f, s in buffer.columns.items()},
        label=more.label,
        others=joint(buffer.others, more.others),
    )


def _extended(rows: pl.Series, height: int, others: pl.Series) -> pl.Series:
    """The first rows of a series followed by others, in place if there are no more rows."""
    if not height:
        return pl.Series(others.name, dtype=others.dtype).extend(others)
    if len(rows) > height:  # an interrupt came between two columns
        rows = rows.head(height)
    if rows.dtype != others.dtype:
        both = [s.alias(rows.name).to_frame() for s in (rows, others)]
        types = common_types(both)
        rows, others = (typed(frame, types).to_series() for frame in both)
    return rows.extend(others)
