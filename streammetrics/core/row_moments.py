"""Moments of rows by group, from two loops over them: one for the means, one for terms about these."""

from __future__ import annotations

import numpy as np

from streammetrics.core import Floats, Runs, sum_errors, sum_values
from streammetrics.core.moments import TERMS, centred, no_extremes


def row_moments(actual: Floats, predicted: Floats, weight: Floats | None, runs: Runs, groups: int) -> Floats:
    """The columns `streammetrics.core.moments.MOMENTS` of groups of rows: shape (columns, groups)."""
    totals, terms, extremes = np.zeros((groups, 3)), np.zeros((groups, TERMS)), no_extremes(groups)
    sum_values(actual, predicted, weight, runs, totals)
    with np.errstate(all="ignore"):
        reference = np.where(totals[:, :1] > 0, totals[:, 1:] / totals[:, :1], 0.0)
    sum_errors(actual, predicted, weight, reference, runs, terms, extremes)
    return centred(reference, terms, extremes)
