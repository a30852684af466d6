"""Joint outcomes of two models on the same rows: their decisions, and whether they are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Kind, Rows
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import PAIR
from streammetrics.statistics.paired import PairedSums
from streammetrics.statistics.statistic import Names, Types
from streammetrics.statistics.thresholded import Thresholded

# By decision of a, decision of b, label.
CELLS = ("tn_tn", "fn_fn", "tn_fp", "fn_tp", "fp_tn", "tp_fn", "fp_fp", "tp_tp")


@dataclass(frozen=True)
class PairedOutcomes(PairedSums, Thresholded):
    """Joint confusion counts of pairs of models on the same rows.

    Keys: ``pair`` (number of the pair), ``threshold`` (null for predicted labels). Values: ``tn_tn``, ``fn_fn``,
    ``tn_fp``, ``fn_tp``, ``fp_tn``, ``tp_fn``, ``fp_fp`` and ``tp_tp``: rows with the first outcome for the first model
    and the second for the second. Rows without a prediction of both models are skipped. Merges bit for bit if rows have
    no weights.

    `Report.compare` computes differences of confusion-count metrics and their confidence intervals from it, and
    `Report.flip_rate` the share of different decisions. `binary` includes it for several models.

    Args:
        thresholds: Thresholds on both scores. If empty, ``y_pred`` is counted.
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If thresholds are not distinct numbers, or a pair does not have two different models.

    >>> PairedOutcomes(pairs=[("new", "old")])
    PairedOutcomes(thresholds=(0.5,), pairs=(('new', 'old'),))
    """

    name = "paired_outcomes"
    roles: ClassVar[Names] = ("y_true",)
    keys: ClassVar[Types] = {PAIR: pl.UInt32(), "threshold": pl.Float64()}
    counts: ClassVar[Names] = CELLS
    checks: ClassVar[Checks] = Checks(rows=counts, per=(PAIR, "threshold"), some=True)

    def __post_init__(self) -> None:
        Thresholded.__post_init__(self)
        PairedSums.__post_init__(self)

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Both decisions and the label, at each threshold."""
        return max(len(self.thresholds), 1), len(CELLS)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by both decisions and label: shape (groups, thresholds, 8)."""
        one, other = self._decisions(rows, 0), self._decisions(rows, 1)
        core.count_pairs(rows.truth[0], one, other, rows.weight, rows.runs, out)

    def _decisions(self, rows: Rows, model: int) -> list[NDArray[np.bool_]]:
        """Whether rows are predicted positive, at each threshold."""
        if not self.thresholds:
            return [rows.predicted[model].view(np.bool_)]
        return [rows.score[model] >= threshold for threshold in rows.rounded(self.thresholds, model)]

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold, in the groups that have rows of the pair."""
        group = np.flatnonzero(values.any(axis=(1, 2)))
        thresholds = self.thresholds or (None,)
        counts = dict(zip(CELLS, values[group].reshape(-1, len(CELLS)).T, strict=True))
        group = np.repeat(group, len(thresholds))
        return self.table(weighted, group=group, threshold=[*thresholds] * (len(group) // len(thresholds)), **counts)

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        turned = {cell: "_".join(reversed(cell.split("_"))) for cell in CELLS}
        return table.rename(turned).select(table.columns)


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

    name = "paired_matches"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[Names] = ("y_true",)
    counts: ClassVar[Names] = ("both_right", "one_right", "other_right", "none_right")
    checks: ClassVar[Checks] = Checks(rows=counts, per=(PAIR,), some=True)

    def values(self, rows: Rows) -> dict[str, Any]:
        """Whether each model is correct."""
        one, other = rows.predicted[0] == rows.truth[0], rows.predicted[1] == rows.truth[0]
        return dict(zip(self.counts, (one & other, one & ~other, other & ~one, ~(one | other)), strict=True))

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        return table.rename({"one_right": "other_right", "other_right": "one_right"}).select(table.columns)
