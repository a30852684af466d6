"""Counts of rows above and below score thresholds, or of predicted labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.base import as_float, shown, whole
from streammetrics.data import Kind, Rows, several
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.statistic import Names, Types
from streammetrics.statistics.summed import Summed


@dataclass(frozen=True)
class Thresholded(Summed):
    """Common base of statistics with thresholds on ``y_score``, in ascending order. If empty, ``y_pred`` is counted."""

    thresholds: tuple[float, ...] = (0.5,)

    kind: ClassVar[Kind | None] = "binary"
    keys: ClassVar[Types] = {"threshold": pl.Float64()}
    kept: ClassVar[Names] = ("threshold",)

    def __post_init__(self) -> None:
        thresholds = tuple(sorted(as_float(t) + 0.0 for t in several(self.thresholds)))
        if len(set(thresholds)) < len(thresholds) or not all(t == t for t in thresholds):
            raise SpecificationError(
                Argument("thresholds"), f" must be distinct numbers, got {shown(self.thresholds)}."
            )
        whole("the number of thresholds", len(thresholds), most=1_000_000)
        self._set(thresholds=thresholds, roles=(*type(self).roles, "y_score" if thresholds else "y_pred"))

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Ranks and labels."""
        return max(len(self.thresholds), 1) + 1, 2

    def add_by_rank(self, rows: Rows, label: NDArray[np.uint8], out: NDArray[Any]) -> None:
        """Add rows by rank and label."""
        if self.thresholds:
            score, thresholds = rows.score[0], rows.rounded(self.thresholds)
        else:
            score, thresholds = rows.predicted[0], np.ones(1)  # a predicted label of 1 reaches 1
        core.count_outcomes(label, score, thresholds, rows.weight, rows.runs, out)

    def threshold_table(self, weighted: bool, by_rank: NDArray[Any], *names: tuple[str, str]) -> pl.DataFrame:
        """Return the table of rows at or above and below each threshold, from counts by rank."""
        reached = np.flip(np.cumsum(np.flip(by_rank, axis=1), axis=1), axis=1)  # rows of each rank or above
        above, below = reached[:, 1:], np.cumsum(by_rank, axis=1)[:, :-1]  # a difference of weights would round
        groups, thresholds = above.shape[:2]
        return self.table(
            weighted,
            group=np.repeat(np.arange(groups), thresholds),
            threshold=np.tile(self.thresholds, groups) if self.thresholds else [None] * groups,
            **{
                name: side[..., label].ravel()
                for label, pair in enumerate(names)
                for name, side in zip(pair, (above, below), strict=True)
            },
        )

    def empty_table(self, groups: int, weighted: bool) -> pl.DataFrame:
        """Return the table of groups without rows: zeros at each threshold."""
        thresholds = pl.DataFrame({"threshold": self.thresholds or [None]}, {"threshold": pl.Float64})
        zeros = {c: pl.lit(0, kind) for c, kind in self.schema(weighted).items() if c not in (GROUP, *self.keys)}
        numbers = pl.int_range(groups, dtype=pl.UInt32, eager=True).alias(GROUP).to_frame()
        return numbers.join(thresholds, how="cross").with_columns(**zeros)

    def parts(self, labels: Sequence[Any]) -> int:
        """How often each row is counted: once per label and threshold."""
        return super().parts(labels) * max(len(self.thresholds), 1)

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        thresholds = pl.col("threshold").is_in(self.thresholds) if self.thresholds else pl.col("threshold").is_null()
        return super().valid(labels) & thresholds
