"""The rows of a batch as arrays, by model, as statistics process them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, Runs
from streammetrics.data.rows.batches import COUNT, WEIGHT, Batch, Field
from streammetrics.data.rows.codes import find, number
from streammetrics.data.rows.folds import identities
from streammetrics.data.rows.roles import SINGLE, Roles

Array: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[str, str]  # of models

TARGETS = ("truth", "predicted")
BY_LABEL = (*TARGETS, "score")  # roles of which a binary task of a label has the columns of the label
HASHED = ("row_id", "truth", "weight", "input", "predicted", "score")  # order of roles in fingerprints


@dataclass(frozen=True)
class Rows:
    """Rows of one model as arrays, arranged by group, as statistics process them.

    ``columns`` are those of a batch. True and predicted values are 0 or 1, Float64 in a regression, and numbers of
    ``labels`` in a multiclass task. Scores, weights, and inputs are Float64, and ``widths`` are the original types of
    scores. Row IDs are hashes. A row with a count stands for as many equal rows.

    ``numbers`` has the number of each group of the block in the counters, ``dropped`` the number of its dropped rows.
    Rows from ``starts[i]`` up to ``starts[i + 1]`` belong to group ``local[i]`` of the block.

    ``beside`` has, for each pair of models in which this is the first, the rows predicted by both, with the columns of
    this model and then of the other. ``lost`` are the dropped rows, with hashes of all their columns as row IDs. It is
    None without dropped rows, or if nobody asked for them.
    """

    columns: Mapping[Field, Array]
    numbers: Codes
    dropped: NDArray[np.int64]
    starts: Codes
    local: Codes
    widths: Mapping[Field, np.dtype[Any]] = field(default_factory=dict)
    names: Sequence[str] = ()  # of inputs
    labels: pl.Series | None = None
    beside: Mapping[Pair, Rows] = field(default_factory=dict)
    lost: Rows | None = None

    def _role(self, role: str) -> tuple[Array, ...]:
        return tuple(array for field, array in self.columns.items() if field.role == role)

    @cached_property
    def truth(self) -> tuple[Array, ...]:
        """True values: one array per label of a multilabel task, otherwise one, or none without a column."""
        return self._role("truth")

    @cached_property
    def predicted(self) -> tuple[Array, ...]:
        """Predicted values: one array per label of a multilabel task, otherwise one, or none without a column."""
        return self._role("predicted")

    @cached_property
    def score(self) -> tuple[NDArray[np.float64], ...]:
        """Scores: one array per class or label of tasks that have several, otherwise one, or none without a column."""
        return self._role("score")

    @cached_property
    def row_id(self) -> tuple[NDArray[np.uint64], ...]:
        """Hashes of row IDs."""
        return self._role("row_id")

    @cached_property
    def inputs(self) -> dict[str, NDArray[np.float64]]:
        """Additional columns by name."""
        return dict(zip(self.names, self._role("input"), strict=True))

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return WEIGHT in self.columns

    @cached_property
    def weight(self) -> NDArray[np.float64 | np.int64] | None:
        """What each row adds: its weight, its number of equal rows, the product of both, or None for 1."""
        weight, count = self.columns.get(WEIGHT), self.columns.get(COUNT)
        return count if weight is None else weight if count is None else weight * count

    @property
    def float_weight(self) -> NDArray[np.float64] | None:
        """What each row adds to sums of floats, None for 1."""
        return None if self.weight is None else self.weight.astype(np.float64, copy=False)

    @property
    def count(self) -> NDArray[np.int64] | None:
        """The number of equal rows that each row stands for, None for 1."""
        return self.columns.get(COUNT)

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
        with np.errstate(over="ignore"):
            return replace(self, columns={**self.columns, WEIGHT: np.square(self.columns[WEIGHT])})

    def split_labels(self, count: int) -> Iterator[Rows]:
        """The rows as those of one binary task for each label: the label against the rest."""
        narrow = np.min_scalar_type(count)  # in which class numbers are compared faster
        targets = {f: a for f, a in self.columns.items() if self.labels is not None and f.role in TARGETS}
        targets = {field: array.astype(narrow) for field, array in targets.items()}
        for label in range(count):
            columns = {f: a for f, a in self.columns.items() if f.role not in BY_LABEL or f.label == label}
            columns |= {field: (array == label).view(np.uint8) for field, array in targets.items()}
            yield replace(self, columns=columns, labels=None)

    def rounded(self, thresholds: Sequence[float], score: int = 0) -> NDArray[np.float64]:
        """Thresholds in the original type of a score: a float32 0.7 reaches 0.7, although it is less as Float64."""
        fields = [field for field in self.columns if field.role == "score"]
        exact = np.array(thresholds, dtype=np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(self.widths[fields[score]]).astype(np.float64)
        return np.where(np.isinf(rounded), exact, rounded)

    def arranged(self, codes: Codes, groups: int) -> Rows:
        """The rows in the order of other groups."""
        arrays = [*self.columns.values()]
        moved, *runs = core.arrange(codes, groups, arrays)
        starts, local = (run.view(np.intp) for run in runs)  # numpy is slow where this type meets its `long long`
        columns = dict(zip(self.columns, arrays if moved is None else moved, strict=True))
        return replace(self, columns=columns, starts=starts, local=local)


def rows_by_model(
    batch: Batch, piece: slice, numbers: Codes | None = None, pairs: Sequence[Pair] = (), *, lost: bool = False
) -> Iterator[Rows]:
    """Yield some rows of a batch as arrays, per model, with rows of pairs at the first model of the pair.

    ``numbers`` are those of the groups in the counters: shape (models, groups). With ``lost``, rows have the hashes of
    dropped rows.
    """
    models = batch.roles.models
    by_model = {model: _rows(batch, piece, (model,), lost) for model in models}
    complete = all(rows.size == piece.stop - piece.start for rows in by_model.values())
    for i, model in enumerate(models):
        rows = by_model[model] if numbers is None else replace(by_model[model], numbers=numbers[i])
        beside = {
            (one, other): _together(rows, by_model[other]) if complete else _rows(batch, piece, (one, other))
            for one, other in pairs
            if one == model
        }
        yield replace(rows, beside=beside) if beside else rows


def _together(one: Rows, other: Rows) -> Rows:
    """The rows of two models that predicted the same rows, in the same arrangement."""
    return replace(one, columns={**one.columns, **other.columns}, widths={**one.widths, **other.widths}, lost=None)


def _rows(batch: Batch, piece: slice, models: tuple[str, ...], lost: bool = False) -> Rows:
    roles, codes = batch.roles, None if batch.codes is None else batch.codes[piece]
    fields = [field for model in (SINGLE, *models) for field in batch.columns if field.model == model]
    columns = {field: batch.columns[field][piece] for field in fields}
    group_count = 1 if codes is None else batch.groups.height
    dropped = np.zeros(group_count, dtype=np.int64)
    keep, lost_rows = _rows_to_keep(columns), None
    if keep is not None:
        if lost:
            lost_rows = _hashed({field: s.filter(~keep) for field, s in columns.items()})
        columns = {field: s.filter(keep) for field, s in columns.items()}
        mask = keep.to_numpy()
        count = None if COUNT not in columns else batch.columns[COUNT][piece].filter(~keep).fill_null(1).to_numpy()
        if codes is None:
            dropped += np.count_nonzero(~mask) if count is None else count.sum()
        else:
            dropped += np.bincount(codes[~mask], count, minlength=group_count).astype(np.int64)
            lost_rows = None if lost_rows is None else lost_rows.arranged(codes[~mask], group_count)
            codes = codes[mask]
    size = len(next(iter(columns.values()))) if columns else piece.stop - piece.start
    arrays, labels = _arrays(columns, roles)
    widths = {field: array.dtype for field, array in arrays.items() if field.role == "score"}
    rows = Rows(
        arrays | {field: arrays[field].astype(np.float64, copy=False) for field in widths},
        np.arange(group_count),
        dropped,
        np.array([0, size]),
        np.zeros(1, dtype=np.intp),
        widths=widths,
        names=tuple(roles.inputs),
        labels=labels,
        lost=lost_rows,
    )
    if codes is not None:
        rows = rows.arranged(codes, group_count)
    if labels is not None and widths and not rows.predicted:
        scores = [tuple(rows.columns[field] for field in widths if field.model == model) for model in models]
        likeliest = {Field("predicted", model): core.likeliest(s) for model, s in zip(models, scores, strict=True)}
        rows = replace(rows, columns={**rows.columns, **likeliest})
    return rows


def _hashed(columns: Mapping[Field, pl.Series]) -> Rows:
    """Rows with only the hashes of columns, which can contain nulls. They are in one group."""
    fields = sorted(columns, key=lambda field: HASHED.index(field.role))
    hashes = {Field("row_id", label=i): identities(columns[field]) for i, field in enumerate(fields)}
    size = len(next(iter(columns.values())))
    return Rows(hashes, np.zeros(1, np.intp), np.zeros(1, np.int64), np.array([0, size]), np.zeros(1, np.intp))


def _arrays(columns: Mapping[Field, pl.Series], roles: Roles) -> tuple[dict[Field, Array], pl.Series | None]:
    """The columns as arrays, and the labels behind the class numbers."""
    if roles.kind != "multiclass":
        return {field: _array(s) for field, s in columns.items()}, None
    if roles.labels:
        return {field: _array(s) for field, s in columns.items()}, pl.Series(roles.labels)
    classes = {f: s for f, s in columns.items() if f.role in ("truth", "predicted")}
    numbers = {f: number(s) for f, s in classes.items()}
    values = pl.concat(
        [s.gather(numbers[f][1]).alias("").to_frame() for f, s in classes.items()], how="vertical_relaxed"
    )
    labels = values.unique(maintain_order=True)
    places = find(values, labels.with_row_index()).to_numpy().astype(np.intp)
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
