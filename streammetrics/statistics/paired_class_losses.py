"""Differences between the multiclass losses of two models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.counters.paired import PAIR
from streammetrics.statistics.paired_losses import PairedLosses
from streammetrics.statistics.probability_loss import LOG_LOSS


class PairedClassLosses(PairedLosses):
    """`PairedLosses` for multiclass probabilities, with the losses of `ClassLoss`.

    Keys: ``pair`` (number of the pair), ``actual`` (number of the true label). Values are those of `PairedLosses`.
    `multiclass` includes it for several models with probabilities, without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedClassLosses([("new", "old")])
    PairedClassLosses(pairs=(('new', 'old'),))
    """

    name: ClassVar[str] = "paired_class_losses"
    kind: ClassVar[Kind | None] = "multiclass"
    keys: ClassVar[dict[str, pl.DataType]] = {PAIR: pl.UInt32(), "actual": pl.UInt32()}
    most: ClassVar[Mapping[str, float]] = dict(zip(PairedLosses.sums, (LOG_LOSS**2, 4), strict=True))  # of a row

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Values of each class."""
        return len(rows.score) // 2, self.cell_width(rows)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, classes, width)."""
        classes = len(rows.score) // 2
        one, other = rows.score[:classes], rows.score[classes:]
        core.sum_class_loss_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)

    def valid_for(self, labels: Sequence[Any]) -> pl.Expr:
        """Label numbers are below the number of labels."""
        return pl.col("actual") < len(labels)
