"""How often the predicted labels of two models are right on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.paired import PairedSums


@dataclass(frozen=True)
class PairedMatches(PairedSums):
    """How often both, one, or neither of two models predict the label of a row, for pairs of models on the same rows.

    Keys: ``pair`` (its number). Values: ``both_right``, ``one_right`` (the first model alone), ``other_right`` and
    ``none_right``. Rows that one of the two has not predicted are left out. Merges bit for bit where rows carry no
    weights.

    `Report.compare` reads intervals of differences of the accuracy of several classes off it. `multiclass` keeps it if
    there are several models, and rows carry no weights and belong to no units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: For pairs that are not of different models.

    >>> PairedMatches([("new", "old")])
    PairedMatches(pairs=(('new', 'old'),))
    """

    name: ClassVar[str] = "paired_matches"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[tuple[str, ...]] = ("y_true",)
    counts: ClassVar[tuple[str, ...]] = ("both_right", "one_right", "other_right", "none_right")

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """The four counts."""
        return (len(self.counts),)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by whether each model is right: shape (groups, 4)."""
        one, other = (predicted == rows.truth[0] for predicted in rows.predicted)
        values = np.stack([one & other, one & ~other, other & ~one, ~(one | other)])
        kernels.add_runs(out, values * (1 if rows.weight is None else rows.weight), rows.runs)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The counts, in the groups that have rows of the pair."""
        group = np.flatnonzero(values.any(axis=1))
        return self.of_a_pair(weighted, group=group, **dict(zip(self.counts, values[group].T, strict=True)))

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The part of a table that is of two models, as if they had come in the other order."""
        return table.rename({"one_right": "other_right", "other_right": "one_right"}).select(table.columns)
