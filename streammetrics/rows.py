"""The rows of a batch as arrays, by model: what statistics observe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.frames import Batch
from streammetrics.kernels import NOTHING, Codes, Extent
from streammetrics.roles import MODEL, SINGLE, Roles


@dataclass(frozen=True)
class Rows:
    """Rows of one model as arrays: what statistics observe.

    ``groups`` has a row for each group (and no columns where rows are not grouped); ``group`` gives the number of each
    row's group, or is None where there is one. ``dropped`` counts the rows left out of each group. Labels and
    predictions are 0 or 1; scores and weights are Float64. No score lies outside of ``extent``.
    """

    groups: pl.DataFrame
    group: Codes | None
    dropped: NDArray[np.int64]
    size: int
    label: NDArray[np.uint8] | None = None
    predicted: NDArray[np.uint8] | None = None
    score: NDArray[np.float64] | None = None
    weight: NDArray[np.float64] | None = None
    extent: Extent = NOTHING

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.dropped)


def rows_by_model(batch: Batch, roles: Roles) -> Iterator[Rows]:
    """The rows of a batch as arrays, once for each model."""
    groups, codes = _encode(batch.by)
    for model in roles.models:
        yield _rows(batch, groups, codes, model, roles)


def _rows(batch: Batch, groups: pl.DataFrame, codes: Codes | None, model: str, roles: Roles) -> Rows:
    if model != SINGLE:
        groups = groups.with_columns(pl.lit(model).alias(MODEL)) if groups.width else pl.DataFrame({MODEL: [model]})
    columns = {
        "label": batch.label,
        "predicted": batch.predicted.get(model),
        "score": batch.score.get(model),
        "weight": batch.weight,
    }
    present = {role: s for role, s in columns.items() if s is not None}
    group_count = max(groups.height, 1 - len(roles.by))
    dropped = np.zeros(group_count, dtype=np.int64)
    keep = _rows_to_keep(present)
    if keep is not None:
        present = {role: s.filter(keep) for role, s in present.items()}
        kept = keep.to_numpy()
        if codes is None:
            dropped += np.count_nonzero(~kept)
        else:
            dropped += np.bincount(codes[~kept], minlength=group_count)
            codes = codes[kept]
    arrays = {role: _array(s) for role, s in present.items()}
    size = len(next(iter(arrays.values()))) if arrays else batch.height
    return Rows(groups, codes, dropped, size, **arrays, extent=batch.extent.get(model, NOTHING))


def _rows_to_keep(columns: Mapping[str, pl.Series]) -> pl.Series | None:
    """Rows without a null and with a weight above zero; None where that is all of them."""
    masks = [s.is_not_null() for s in columns.values() if s.null_count()]
    weight = columns.get("weight")
    if weight is not None and (weight == 0).any():
        masks.append((weight > 0).fill_null(False))
    keep = None
    for mask in masks:
        keep = mask if keep is None else keep & mask
    return keep


def _array(series: pl.Series) -> NDArray[Any]:
    if series.dtype != pl.Boolean:
        return series.to_numpy()
    bits = series.rechunk().to_arrow()  # unpacked by numpy ten times faster than by Polars
    content = np.frombuffer(bits.buffers()[1], dtype=np.uint8)
    return np.unpackbits(content, count=bits.offset + len(bits), bitorder="little")[bits.offset :]


def _encode(by: pl.DataFrame) -> tuple[pl.DataFrame, Codes | None]:
    """Distinct groups, and for each row the number of its group."""
    if by.width == 0:
        return by, None
    column, *columns = by.iter_columns()
    codes, first = _number(column)
    for column in columns:
        more, others = _number(column)
        codes, first = kernels.number(pl.Series(codes * len(others) + more))
    found = by[first]
    groups = found.unique(maintain_order=True)
    if groups.height < found.height:
        numbers = found.join(
            groups.with_row_index(), on=by.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        codes = numbers["index"].to_numpy().astype(np.intp)[codes]
    return groups, codes


def _number(column: pl.Series) -> tuple[Codes, Codes]:
    """The number of each row's value, null being one too, and for each number a row."""
    if not column.null_count():
        return kernels.number(column)
    null = column.is_null().to_numpy()
    rows = np.flatnonzero(~null)
    codes = np.zeros(len(column), dtype=np.intp)
    codes[rows], first = kernels.number(column.drop_nulls())
    codes[null] = len(first)
    return codes, np.append(rows[first], np.argmax(null))
