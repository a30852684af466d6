"""The rows of a batch as arrays, by model, as statistics process them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, Runs
from streammetrics.data.rows.batches import WEIGHT, Batch, Field
from streammetrics.data.rows.codes import find, number
from streammetrics.data.rows.folds import identities
from streammetrics.data.rows.roles import SINGLE, Roles

Array: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[str, str]  # of models

HASHED = ("row_id", "truth", "weight", "input", "predicted", "score")  # order of roles in fingerprints


@dataclass(frozen=True)
class Rows:
    """Rows of one model as arrays, arranged by group, as statistics process them.

    ``numbers`` has the number of each group of the block in the counters, ``dropped`` the number of its dropped rows.
    Rows from ``starts[i]`` up to ``starts[i + 1]`` belong to group ``local[i]`` of the block.

    ``truth``, ``predicted``, and ``score`` have one array per label of a multilabel task. ``score`` has one per class
    of a multiclass task. Otherwise each has one array, or none without a column. True and predicted values are 0 or 1,
    Float64 in a regression, and numbers of ``labels`` in a multiclass task. Scores and weights are Float64. ``width``
    is the original type of each score. ``inputs`` are additional columns as Float64, by name, and ``row_id`` has
    hashes of row IDs.

    ``beside`` has, for each pair of models in which this is the first, the rows predicted by both, with the prediction
    and the score of this model and of the other. ``lost`` are the dropped rows, of which only ``row_id`` is set: hashes
    of all their columns. It is None without dropped rows, or if nobody asked for them.
    """

    numbers: Codes
    dropped: NDArray[np.int64]
    starts: Codes
    local: Codes
    truth: tuple[Array, ...] = ()
    predicted: tuple[Array, ...] = ()
    score: tuple[NDArray[np.float64], ...] = ()
    width: tuple[np.dtype[Any], ...] = ()
    inputs: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    row_id: tuple[NDArray[np.uint64], ...] = ()
    weight: NDArray[np.float64] | None = None
    labels: pl.Series | None = None
    beside: Mapping[Pair, Rows] = field(default_factory=dict)
    lost: Rows | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    @cached_property
    def runs(self) -> Runs:
        """The runs of rows by group, with the number of the group in the counters."""
        return Runs(self.starts, self.numbers[self.local])

    @cached_property
    def codes(self) -> Codes | None:
        """The group of each row in the block, None if there is one."""
        return None if len(self.dropped) == 1 else np.repeat(self.local, np.diff(self.starts))

    @cached_property
    def with_squared_weights(self) -> Rows:
        """The rows with squared weights, which can be infinite."""
        assert self.weight is not None
        with np.errstate(over="ignore"):
            return replace(self, weight=np.square(self.weight))

    def of_labels(self, count: int) -> Iterator[Rows]:
        """The rows as those of one binary task for each label: the label against the rest."""
        truth, predicted = self.truth, self.predicted
        if self.labels is not None:  # class numbers, which are compared faster in a narrow type
            narrow = np.min_scalar_type(count)
            truth, predicted = (tuple(a.astype(narrow) for a in of) for of in (truth, predicted))
        for i in range(count):
            yield replace(
                self,
                truth=self._of_label(truth, i),
                predicted=self._of_label(predicted, i),
                score=self.score[i : i + 1],
                width=self.width[i : i + 1],
                labels=None,
            )

    def _of_label(self, arrays: tuple[Array, ...], i: int) -> tuple[Array, ...]:
        return arrays[i : i + 1] if self.labels is None else tuple((a == i).view(np.uint8) for a in arrays)

    def rounded(self, thresholds: Sequence[float], score: int = 0) -> NDArray[np.float64]:
        """Thresholds in the original type of a score: a float32 0.7 reaches 0.7, although it is less as Float64."""
        exact = np.array(thresholds, dtype=np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(self.width[score]).astype(np.float64)
        return np.where(np.isinf(rounded), exact, rounded)

    def arranged(self, codes: Codes, groups: int) -> Rows:
        """The rows in the order of other groups."""
        weights = [] if self.weight is None else [self.weight]
        parts = [self.truth, self.predicted, self.score, tuple(self.inputs.values()), self.row_id, weights]
        arrays = [array for part in parts for array in part]
        moved, *runs = core.arrange(codes, groups, arrays)
        starts, local = (run.view(np.intp) for run in runs)  # numpy is slow where this type meets its `long long`
        each = iter(arrays if moved is None else moved)
        truth, predicted, score, inputs, row_id, weights = (list(islice(each, len(part))) for part in parts)
        return replace(
            self,
            starts=starts,
            local=local,
            truth=tuple(truth),
            predicted=tuple(predicted),
            score=tuple(score),
            inputs=dict(zip(self.inputs, inputs, strict=True)),
            row_id=tuple(row_id),
            weight=weights[0] if weights else None,
        )


def rows_by_model(
    batch: Batch, piece: slice, numbers: Codes | None = None, pairs: Sequence[Pair] = (), *, lost: bool = False
) -> Iterator[Rows]:
    """Yield some rows of a batch as arrays, per model, with rows of pairs at the first model of the pair.

    ``numbers`` are those of the groups in the counters: shape (models, groups). With ``lost``, rows have the hashes of
    dropped rows.
    """
    models = batch.roles.models
    of_model = {model: _rows(batch, piece, (model,), lost) for model in models}
    whole = all(rows.size == piece.stop - piece.start for rows in of_model.values())
    for i, model in enumerate(models):
        rows = of_model[model] if numbers is None else replace(of_model[model], numbers=numbers[i])
        own = [pair for pair in pairs if pair[0] == model]
        if own:
            both = [_together(rows, of_model[pair[1]]) if whole else _rows(batch, piece, pair) for pair in own]
            rows = replace(rows, beside=dict(zip(own, both, strict=True)))
        yield rows


def _together(one: Rows, other: Rows) -> Rows:
    """The rows of two models that predicted the same rows, in the same arrangement."""
    return replace(
        one,
        predicted=one.predicted + other.predicted,
        score=one.score + other.score,
        width=one.width + other.width,
        beside={},
        lost=None,
    )


def _rows(batch: Batch, piece: slice, models: tuple[str, ...], lost: bool = False) -> Rows:
    roles, codes = batch.roles, None if batch.codes is None else batch.codes[piece]
    own = [field for model in (SINGLE, *models) for field in batch.columns if field.model == model]
    columns = {field: batch.columns[field][piece] for field in own}
    group_count = 1 if codes is None else batch.groups.height
    dropped = np.zeros(group_count, dtype=np.int64)
    keep, lost_rows = _rows_to_keep(columns), None
    if keep is not None and lost:
        lost_rows = _hashed({field: s.filter(~keep) for field, s in columns.items()})
    if keep is not None:
        columns = {field: s.filter(keep) for field, s in columns.items()}
        kept = keep.to_numpy()
        if codes is None:
            dropped += np.count_nonzero(~kept)
        else:
            dropped += np.bincount(codes[~kept], minlength=group_count)
            lost_rows = None if lost_rows is None else lost_rows.arranged(codes[~kept], group_count)
            codes = codes[kept]
    size = len(next(iter(columns.values()))) if columns else piece.stop - piece.start
    arrays, labels = _arrays(columns, roles)
    scores = [a for field, a in arrays.items() if field.role == "score"]
    rows = Rows(
        np.arange(group_count),
        dropped,
        np.array([0, size]),
        np.zeros(1, dtype=np.intp),
        truth=tuple(a for field, a in arrays.items() if field.role == "truth"),
        predicted=tuple(a for field, a in arrays.items() if field.role == "predicted"),
        score=tuple(a.astype(np.float64, copy=False) for a in scores),
        width=tuple(a.dtype for a in scores),
        inputs={name: arrays[Field("input", label=i)] for i, name in enumerate(roles.inputs)},
        row_id=tuple(a for field, a in arrays.items() if field.role == "row_id"),
        weight=arrays.get(WEIGHT),
        labels=labels,
        lost=lost_rows,
    )
    if codes is not None:
        rows = rows.arranged(codes, group_count)
    if labels is not None and scores and not rows.predicted:
        rows = replace(rows, predicted=(core.likeliest(rows.score),))
    return rows


def _hashed(columns: Mapping[Field, pl.Series]) -> Rows:
    """Rows with only the hashes of columns, which can contain nulls. They are in one group."""
    hashes = tuple(identities(columns[field]) for field in sorted(columns, key=lambda f: HASHED.index(f.role)))
    return Rows(
        np.zeros(1, np.intp), np.zeros(1, np.int64), np.array([0, len(hashes[0])]), np.zeros(1, np.intp), row_id=hashes
    )


def _arrays(columns: Mapping[Field, pl.Series], roles: Roles) -> tuple[dict[Field, Array], pl.Series | None]:
    """The columns as arrays, and the labels behind the class numbers."""
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


def _rows_to_keep(columns: Mapping[Field, pl.Series]) -> pl.Series | None:
    """Rows without nulls and with a weight above zero; None for all rows."""
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
    bits = series.rechunk().to_arrow()  # numpy unpacks ten times faster than Polars
    first, skipped = divmod(bits.offset, 8)  # of a slice, whose buffer begins with the rows before it
    content = np.frombuffer(bits.buffers()[1], dtype=np.uint8)[first:]
    return np.unpackbits(content, count=skipped + len(bits), bitorder="little")[skipped:]
