"""Log loss and Brier loss by label."""

from __future__ import annotations

import numpy as np

from streammetrics.core.definition.runs import Counts, Floats, Labels, Runs
from streammetrics.core.definition.sums import add_values, clipped, log


def sum_losses(label: Labels, score: Floats, weight: Counts | None, runs: Runs, out: Counts) -> None:
    """Sum log loss, its square, Brier loss, and its square by label: ``out`` is (groups, 2, cell)."""
    log_loss = -log(np.abs(clipped(score) - (1.0 - label)))
    brier = np.square(score - label)
    values = (log_loss, np.square(log_loss), brier, np.square(brier))
    add_values(out, runs.codes() * 2 + label, values, weight)
