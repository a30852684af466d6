"""Correct predictions of two models on the same rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.paired import PairedSums


class PairedMatches(PairedSums):
    """Number of rows that both, one, or none of two models predict correctly, for pairs of models.

    Keys: ``pair`` (number of the pair). Values: ``both_right``, ``one_right`` (only the first model), ``other_right``,
    and ``none_right``. Rows without a prediction of both models are skipped. Merges bit for bit if rows have no
    weights.

    `Report.compare` computes confidence intervals for differences of multiclass accuracy from it. `multiclass` includes
    it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedMatches([("new", "old")])
    PairedMatches(pairs=(('new', 'old'),))
    """

    name: ClassVar[str] = "paired_matches"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[tuple[str, ...]] = ("y_true",)
    counts: ClassVar[tuple[str, ...]] = ("both_right", "one_right", "other_right", "none_right")

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by whether each model is correct: shape (groups, 4)."""
        one, other = (predicted == rows.truth[0] for predicted in rows.predicted)
        values = np.stack([one & other, one & ~other, other & ~one, ~(one | other)])
        core.add_runs(out, values * (1 if rows.weight is None else rows.weight), rows.runs)

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        return table.rename({"one_right": "other_right", "other_right": "one_right"}).select(table.columns)
