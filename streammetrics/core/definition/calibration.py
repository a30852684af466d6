"""Scores and positives by bin of equal width."""

from __future__ import annotations

import numpy as np

from streammetrics.core.definition.runs import Floats, Labels, Runs, add_each


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Sum weight, score, and its square by bin (lo, hi] and label: ``out`` is (groups, bins, 2, 3); 10 ns."""
    bins = len(edges) - 1
    for block, group in runs.blocks():
        scores = score[block]
        bin = (scores * bins).astype(np.intp)  # off by one at most, corrected with the edges
        bin -= (scores <= edges[bin]) & (bin > 0)
        bin += scores > edges[bin + 1]
        values = np.stack([np.ones_like(scores) if weight is None else weight[block], scores, np.square(scores)])
        if weight is not None:
            values[1:] *= values[0]
        add_each(out, (group * bins + bin) * 2 + label[block], values)
