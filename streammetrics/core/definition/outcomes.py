"""Rows by label and by the number of thresholds that their scores reach."""

from __future__ import annotations

import numpy as np

from streammetrics.core.definition.runs import Counts, Floats, Labels, Runs, Scores


def count_outcomes(
    label: Labels, score: Scores, thresholds: Floats, weight: Counts | None, runs: Runs, out: Counts
) -> None:
    """Count rows by the number of ascending thresholds that they reach and by label.

    ``out`` is (groups, thresholds + 1, 2). Scores must not be NaN.
    """
    rank = np.searchsorted(thresholds, score, side="right")
    np.add.at(out, (runs.codes(), rank, label), 1 if weight is None else weight)
