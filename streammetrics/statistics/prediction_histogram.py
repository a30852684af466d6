"""Two-dimensional histogram of predictions and true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.errors import SpecificationError
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.binned import Binned
from streammetrics.statistics.bins import Bins
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.plane import PLANE, keys_of, on_plane, rectangles

CELLS = 4_096


@dataclass(frozen=True)
class PredictionHistogram(Binned):
    """Two-dimensional histogram of predictions and true values, for the chart of both.

    As in `PairedScores`, the bits of both numbers, rounded to six digits, are interleaved to one key, and bins of keys
    are rectangles. The table does not depend on how the rows are split. Unweighted counts merge bit for bit.

    Keys: ``shift``, ``bin``. Value: ``count``. `Report.curve` returns the rectangles as ``"actual_vs_predicted"``.

    Args:
        capacity: Maximum number of rectangles per group.
        domain: Always ``"real"``.
        atoms: Always empty.

    Raises:
        SpecificationError: If the capacity is too small, or another domain or atoms are given.

    >>> PredictionHistogram(capacity=1024)
    PredictionHistogram(capacity=1024, domain='real', atoms=())
    """

    capacity: int = CELLS

    name: ClassVar[str] = "prediction_histogram"
    kind: ClassVar[Kind | None] = "regression"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_pred")
    counts: ClassVar[tuple[str, ...]] = ("count",)
    checks: ClassVar[Checks] = Checks(rows=counts)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain != "real" or self.atoms:
            raise SpecificationError("Predictions have the real domain and no atoms here. Remove domain= and atoms=.")

    def counter(self, weighted: bool) -> Bins:
        """Counts by rectangle."""
        return Bins(_read, PLANE, self.capacity, 1, weighted)

    def valid(self, labels: Sequence[Any] = ()) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        on = pl.struct("shift", "bin").map_batches(on_plane, return_dtype=pl.Boolean)
        return super().valid(labels) & on

    def rectangles(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with the ends of each rectangle in place of its bin."""
        names = ("predicted_lowest", "predicted_highest", "actual_lowest", "actual_highest")
        ends = [pl.Series(name, end) for name, end in zip(names, rectangles(table), strict=True)]
        return table.select(pl.exclude("shift", "bin", "count"), *ends, "count")


def _read(rows: Rows) -> tuple[NDArray[np.float64], None]:
    one, other = (values[0].astype(np.float64, copy=False) for values in (rows.predicted, rows.truth))
    return keys_of(one, other, "real"), None
