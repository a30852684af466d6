"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from streammetrics.base import few
from streammetrics.data import LABEL, Kind, Roles, Rows, plain_labels
from streammetrics.metrics import methods
from streammetrics.statistics import confusion
from streammetrics.statistics.blocks import Blocks, concatenated
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.statistic import Names, Statistic, Types, View, exact

DENSE_CELLS = 1 << 16  # of a chunk's matrix, up to which it is counted densely


@dataclass(frozen=True)
class ConfusionMatrix(Statistic):
    """Confusion matrix: rows by true and predicted label.

    Labels can be strings, numbers, or Booleans, and need not be declared. Empty cells take no memory. Keys: ``actual``,
    ``predicted``, in the type of the labels (integers as Int64, categories as strings). Values: ``count``. Merges bit
    for bit if rows have no weights.

    Metrics over all labels use the columns ``correct``, ``actual``, ``predicted``, ``distance``, and
    ``square_distance`` of each label. Confusion-count metrics use the one-vs-rest counts ``tp``, ``fp``, ``fn``, and
    ``tn`` of each label.

    Args:
        order: All labels from the lowest to the highest, for weighted kappa. If empty, the labels of the data in sort
            order.

    Raises:
        SpecificationError: If ``order`` does not consist of strings, numbers, or Booleans of one type, or has
            duplicates.

    >>> ConfusionMatrix()
    ConfusionMatrix(order=())
    """

    order: tuple[Any, ...] = ()

    name = "confusion_matrix"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[Names] = ("y_true",)
    keys: ClassVar[Types] = {"actual": pl.Null(), "predicted": pl.Null()}
    counts: ClassVar[Names] = ("count",)
    checks: ClassVar[Checks] = Checks(rows=counts)
    squared: ClassVar[Names] = counts

    def __post_init__(self) -> None:
        self._set(order=plain_labels(self.order))

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the order."""
        return self.order

    def misfit(self, roles: Roles) -> str:
        """The reason if the order differs from the declared labels."""
        if self.order and set(self.order) != set(roles.labels):
            return f"orders the labels {few(self.order)}, but the declared labels are {few(roles.labels) or 'none'}"
        return super().misfit(roles)

    def counter(self, weighted: bool) -> Blocks[pl.DataFrame]:
        """Counts of cells."""
        return Blocks(self.observe, concatenated, self.merge)

    def observe(self, rows: Rows) -> pl.DataFrame:
        """Counts of the cells that occur."""
        assert rows.labels is not None
        (actual,), (predicted,), labels = rows.truth, rows.predicted, max(len(rows.labels), 1)
        cells = actual * labels + predicted
        if rows.codes is not None:
            cells += rows.codes * (labels * labels)
        if len(rows.dropped) * labels * labels <= max(DENSE_CELLS, len(cells)):
            count = np.bincount(cells, rows.weight, minlength=1)
            occurring = np.flatnonzero(count)
            count = count[occurring]
        else:
            occurring, places = np.unique(cells, return_inverse=True)
            count = np.bincount(places, rows.weight)
        group, cell = np.divmod(occurring, labels * labels)
        label = {"actual": rows.labels.gather(cell // labels), "predicted": rows.labels.gather(cell % labels)}
        kind = pl.Float64 if rows.is_weighted else pl.Int64
        return pl.DataFrame({GROUP: pl.Series(group, dtype=pl.UInt32), **label, "count": pl.Series(count, dtype=kind)})

    def typed(self, schema: Mapping[str, pl.DataType], types: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """The schema with the type of labels in the data, if both label columns have the same type."""
        label = types.get("actual", pl.Null())
        return dict(schema) | ({"actual": label, "predicted": label} if not label.is_nested() else {})

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid: labels are among those declared, if any are."""
        both = pl.col("actual", "predicted")
        return super().valid(labels) & pl.all_horizontal(both.is_in(labels) if labels else both.is_not_null())

    def views(self) -> tuple[View, ...]:
        """Views of all labels together, and one-vs-rest of each label."""
        overall = frozenset({"correct", "actual", "predicted", "distance", "square_distance"})
        order = self.order or None
        return (
            View(overall, (), True, lambda t: exact(confusion.overall_view(t, order)), influences=(methods.LABELS,)),
            View(
                frozenset({LABEL, "tp", "fp", "fn", "tn"}),
                (LABEL,),
                False,
                lambda t: exact(confusion.label_view(t, order)),
                support=(pl.col("tp") + pl.col("fn")).first(),
                influences=(methods.OUTCOMES,),
            ),
        )
