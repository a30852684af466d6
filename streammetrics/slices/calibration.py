"""Slices in which scores are not calibrated: each is tested against its own scores instead of the remaining rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from streammetrics.metrics import ecce, ecce_p_value
from streammetrics.slices.lots import Lot
from streammetrics.slices.remainders import Remainders
from streammetrics.slices.search import Failing, discovered

CALIBRATION = ecce.name  # the metric whose slices are searched in this way


def miscalibrated(remainders: Remainders, lots: Sequence[Lot], fdr: float) -> list[Failing]:
    """Return the slices whose labels contradict their scores. Their p-values are upper bounds."""
    tested = [_tested(remainders, lot) for lot in lots]
    return discovered([Failing(lot, p, np.zeros(len(lot.rows))) for lot, p in zip(lots, tested, strict=True)], fdr)


def _tested(remainders: Remainders, lot: Lot) -> pl.Series:
    """The largest p-value of each slice that the certified bounds allow, null if it has too few rows."""
    count = len(lot.rows)
    return remainders.estimates(ecce_p_value, remainders.tables(lot.numbers, count), count)["upper"]
