"""Slices in which scores are not calibrated: each is tested against its own scores instead of the remaining rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.metrics import ecce, ecce_p_value
from streammetrics.reading.slicing.lots import Lot
from streammetrics.reading.slicing.remainders import Remainders
from streammetrics.reading.slicing.search import Failing, discovered

CALIBRATION = ecce.name  # the metric whose slices are searched in this way


def miscalibrated(remainders: Remainders, lots: Sequence[Lot], fdr: float) -> list[Failing]:
    """Return the slices whose labels contradict their scores. Their p-values are upper bounds."""
    found = []
    for lot in lots:
        count = len(lot.rows)
        estimates = remainders.estimates(ecce_p_value, remainders.tables(lot.numbers, count), count)
        found.append(Failing(lot, estimates["upper"], np.zeros(count)))
    return discovered(found, fdr)
