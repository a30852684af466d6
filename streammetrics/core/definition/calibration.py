"""Scores and positives by bin of equal width."""

from __future__ import annotations

import numpy as np

from streammetrics.core.definition.runs import Counts, Floats, Labels, Runs
from streammetrics.core.definition.sums import add_values


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, weight: Counts | None, runs: Runs, out: Counts
) -> None:
    """Sum score and its square by bin (lo, hi] and label: ``out`` is (groups, bins, 2, cell).

    The ``edges`` must be evenly spaced from 0 to 1. The first bin includes 0.
    """
    bin = np.maximum(np.searchsorted(edges, score) - 1, 0)
    cells = (runs.codes() * (len(edges) - 1) + bin) * 2 + label
    add_values(out, cells, (score, np.square(score)), weight)
