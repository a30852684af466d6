"""Sets of labels per row in multilabel tasks: exact matches, wrong decisions, and Jaccard indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, ClassVar

import numpy as np
import polars as pl

from streammetrics.base import as_float, shown
from streammetrics.data import Kind, Rows
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.checks import Checks, up_to
from streammetrics.statistics.statistic import Names
from streammetrics.statistics.summed import Summed


@dataclass(frozen=True)
class LabelSets(Summed):
    """Agreement between the sets of true and predicted labels of each row.

    Values: ``row_weight`` (the number of rows, or the sum of their weights), ``exact_match`` (rows with all labels
    correct), ``label_decisions`` (one per row and label), ``label_errors`` (wrong decisions), ``jaccard_sum`` (per row,
    the number of labels both true and predicted, divided by the number true or predicted; 0 if there are none); for
    confidence intervals, ``label_error_square_sum`` and ``jaccard_square_sum`` (the sums of the squares of both).
    Counts and sums merge bit for bit, weighted ones within 1e-12.

    Args:
        threshold: Score at or above which a label is predicted, rounded to the type of the score. Ignored if ``y_pred``
            is set.

    Raises:
        SpecificationError: If the threshold is not a number.

    >>> LabelSets()
    LabelSets(threshold=0.5)
    """

    threshold: float = 0.5

    name = "label_sets"
    kind: ClassVar[Kind | None] = "multilabel"
    roles: ClassVar[Names] = ("y_true",)
    counts: ClassVar[Names] = ("row_weight", "exact_match", "label_errors", "label_decisions")
    sums: ClassVar[Names] = ("jaccard_sum", "label_error_square_sum", "jaccard_square_sum")
    decimals: ClassVar[Names] = ("jaccard_sum", "jaccard_square_sum")
    squared: ClassVar[Names] = (*counts, *sums)
    checks: ClassVar[Checks] = Checks(
        rows=("row_weight",),
        most={"exact_match": 1, "jaccard_sum": 1, "jaccard_square_sum": 1},
    )

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, int | float) or isnan(as_float(self.threshold)):
            raise SpecificationError(Argument("threshold"), f" must be a number, got {shown(self.threshold)}.")

    def values(self, rows: Rows) -> dict[str, Any]:
        """Matches and errors of each row. Squares of label errors are integers."""
        predicted = rows.predicted or tuple(
            (score >= rows.rounded([self.threshold], i)).view(np.uint8) for i, score in enumerate(rows.score)
        )
        wrong, both, either = np.zeros((3, rows.size), dtype=np.int64)
        for true, guess in zip(rows.truth, predicted, strict=True):
            wrong += true ^ guess
            both += true & guess
            either += true | guess
        jaccard = np.divide(both, either, out=np.zeros(rows.size), where=either > 0)
        return {
            "row_weight": np.ones_like(wrong),
            "exact_match": wrong == 0,
            "label_errors": wrong,
            "label_decisions": np.full_like(wrong, len(rows.truth)),
            "jaccard_sum": jaccard,
            "label_error_square_sum": wrong**2,
            "jaccard_square_sum": jaccard**2,
        }

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid: each row has one decision per label."""
        decisions = up_to("label_decisions", pl.col("row_weight").cast(pl.Float64) * len(labels))
        return super().valid(labels) & decisions & up_to("label_errors", pl.col("label_decisions"))
