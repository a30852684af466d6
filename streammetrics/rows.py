"""The rows of a batch as arrays, by model: what statistics observe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.batches import WEIGHT, Batch, Field
from streammetrics.codes import encode, find, number
from streammetrics.kernels import Codes, Extent
from streammetrics.roles import MODEL, SINGLE, Roles

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Rows of one model as arrays: what statistics observe.

    ``groups`` has a row for each group (and no columns where rows are not grouped); ``group`` gives the number of each
    row's group, or is None where there is one. ``dropped`` counts the rows left out of each group.

    ``truth``, ``predicted`` and ``score`` have an array for each label of a multilabel task, ``score`` one for each
    class of a multiclass task, else one, or none where the role is not given. True and predicted values are 0 or 1,
    in a regression Float64, in a multiclass task numbers of ``labels``. Scores and weights are Float64; no score lies
    outside of its ``extent``. ``width`` is the type that each score came in.
    """

    groups: pl.DataFrame
    group: Codes | None
    dropped: NDArray[np.int64]
    size: int
    truth: tuple[Array, ...] = ()
    predicted: tuple[Array, ...] = ()
    score: tuple[NDArray[np.float64], ...] = ()
    extent: tuple[Extent, ...] = ()
    width: tuple[np.dtype[Any], ...] = ()
    weight: NDArray[np.float64] | None = None
    labels: pl.Series | None = None

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.dropped)

    def of_label(self, i: int) -> Rows:
        """The rows as those of a binary task: the i-th label against the rest."""
        if self.labels is None:
            truth, predicted = self.truth[i : i + 1], self.predicted[i : i + 1]
        else:
            truth, predicted = (tuple((a == i).view(np.uint8) for a in of) for of in (self.truth, self.predicted))
        score, extent, width = self.score[i : i + 1], self.extent[i : i + 1], self.width[i : i + 1]
        return replace(self, truth=truth, predicted=predicted, score=score, extent=extent, width=width, labels=None)

    def rounded(self, thresholds: Sequence[float], score: int = 0) -> NDArray[np.float64]:
        """Thresholds in the type that a score came in: 0.7 of 32 bits reaches 0.7, though as Float64 it is less."""
        exact = np.array(thresholds, dtype=np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(self.width[score]).astype(np.float64)
        return np.where(np.isinf(rounded), exact, rounded)


def rows_by_model(batch: Batch, roles: Roles) -> list[Rows]:
    """The rows of a batch as arrays, once for each model."""
    groups, codes = encode(batch.by) if batch.by.width else (batch.by, None)
    return [_rows(batch, groups, codes, model, roles) for model in roles.models]


def _rows(batch: Batch, groups: pl.DataFrame, codes: Codes | None, model: str, roles: Roles) -> Rows:
    if model != SINGLE:
        groups = groups.with_columns(pl.lit(model).alias(MODEL)) if groups.width else pl.DataFrame({MODEL: [model]})
    columns = {field: s for field, s in batch.columns.items() if field.model in (model, SINGLE)}
    group_count = max(groups.height, 1 - len(roles.keys))
    dropped = np.zeros(group_count, dtype=np.int64)
    keep = _rows_to_keep(columns)
    if keep is not None:
        columns = {field: s.filter(keep) for field, s in columns.items()}
        kept = keep.to_numpy()
        if codes is None:
            dropped += np.count_nonzero(~kept)
        else:
            dropped += np.bincount(codes[~kept], minlength=group_count)
            codes = codes[kept]
    size = len(next(iter(columns.values()))) if columns else batch.height
    arrays, labels = _arrays(columns, roles)
    weight = arrays.pop(WEIGHT, None)
    by_role = {role: tuple(a for field, a in arrays.items() if field.role == role) for role in ("truth", "predicted")}
    scores = [field for field in arrays if field.role == "score"]
    width = tuple(arrays[field].dtype for field in scores)
    by_role["score"] = tuple(arrays[field].astype(np.float64, copy=False) for field in scores)
    extent = tuple(batch.extent[field] for field in scores)
    rows = Rows(groups, codes, dropped, size, **by_role, extent=extent, width=width, weight=weight, labels=labels)
    return rows if rows.predicted or not rows.score else replace(rows, predicted=_decided(rows))


def _arrays(columns: Mapping[Field, pl.Series], roles: Roles) -> tuple[dict[Field, Array], pl.Series | None]:
    """The columns as arrays, and the labels that numbers of classes stand for."""
    if roles.kind != "multiclass":
        return {field: _array(s) for field, s in columns.items()}, None
    if roles.labels:
        return {field: _array(s) for field, s in columns.items()}, pl.Series(roles.labels)
    classes = {f: s for f, s in columns.items() if f.role in ("truth", "predicted")}
    numbers = {f: number(s) for f, s in classes.items()}
    found = pl.concat(
        [s.gather(numbers[f][1]).alias("").to_frame() for f, s in classes.items()], how="vertical_relaxed"
    )
    labels = found.unique(maintain_order=True)
    places = find(found, labels.with_row_index()).to_numpy().astype(np.intp)
    ends = np.cumsum([len(first) for _, first in numbers.values()])
    coded = {f: part[codes] for part, (f, (codes, _)) in zip(np.split(places, ends), numbers.items(), strict=False)}
    return {f: coded[f] if f in coded else _array(s) for f, s in columns.items()}, labels.to_series()


def _decided(rows: Rows) -> tuple[Array, ...]:
    """What scores predict: of several classes the likeliest, the first of those that are equally likely."""
    if rows.labels is None:
        return ()
    return (kernels.likeliest(rows.score),)


def _rows_to_keep(columns: Mapping[Field, pl.Series]) -> pl.Series | None:
    """Rows without a null and with a weight above zero; None where that is all of them."""
    masks = [s.is_not_null() for s in columns.values() if s.null_count()]
    weight = columns.get(WEIGHT)
    if weight is not None and (weight == 0).any():
        masks.append((weight > 0).fill_null(False))
    keep = None
    for mask in masks:
        keep = mask if keep is None else keep & mask
    return keep


def _array(series: pl.Series) -> Array:
    if series.dtype != pl.Boolean:
        return series.to_numpy()
    bits = series.rechunk().to_arrow()  # unpacked by numpy ten times faster than by Polars
    content = np.frombuffer(bits.buffers()[1], dtype=np.uint8)
    return np.unpackbits(content, count=bits.offset + len(bits), bitorder="little")[bits.offset :]
