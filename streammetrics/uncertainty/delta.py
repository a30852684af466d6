"""Intervals of metrics of the 2x2 table by the delta method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.metrics.metric import Metric
from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import limits, tidy
from streammetrics.uncertainty.proportions import CELLS

Values = NDArray[np.float64]

STEP = 2**-10  # by which a count is varied, as a share of it
FACTORS = 1 + STEP * np.array([-2, -1, 1, 2])
KINK = 0.05  # part of the largest slope by which those of both sides may differ
ROUNDING = 1e-9
ROWS = 65_536  # of the table, at a time


def delta_intervals(
    table: pl.DataFrame,
    metrics: Sequence[Metric],
    by: Sequence[str] = (),
    confidence: float = 0.95,
    rows: str | None = None,
) -> pl.DataFrame:
    """Intervals of any metrics of the 2x2 table, whose rows are one multinomial sample.

    With counts x of n rows and d = x df/dx, the variance of a metric f is (Σ d²/x) - (Σ d)²/n, which in terms of shares
    p = x/n and the gradient g by p is (Σ p g² - (Σ p g)²) / n (Bishop, Fienberg & Holland 1975, 14.6). The derivatives
    are differences of the metric itself, within 1e-12 of its size. Limits stay within its range (see `limits`).

    Args:
        table: the columns tp, fp, fn and tn, and those of ``by``; one row for each 2x2 table.
        metrics: metrics of some of the columns tp, fp, fn and tn.
        by: columns that tell the rows apart, such as a group and a threshold.
        confidence: probability with which an interval is to hold the metric.
        rows: where counts are sums of weights, the column with their `effective_rows`; without it such tables have no
            sound interval, since weights don't tell how many rows there are.

    Returns:
        The columns ``by``, ``metric``, ``ci_lower`` and ``ci_upper``, by row and then in the order of the metrics. The
        limits are null where a metric is not finite, or at an end of its range, or has a kink (one of the larger class,
        where both are equally large), where it doesn't vary, and where ``rows`` is null.

    Raises:
        SpecificationError: for a confidence that is not between 0 and 1.

    >>> from streammetrics.metrics import f1, mcc
    >>> table = pl.DataFrame({"day": [1, 2], "tp": [30, 5], "fp": [10, 0], "fn": [20, 0], "tn": [40, 4]})
    >>> delta_intervals(table, [f1, mcc], by=["day"]).with_columns(pl.col(pl.Float64).round(4)).rows()
    [(1, 'f1', 0.5466, 0.7684), (1, 'mcc', 0.218, 0.5686), (2, 'f1', None, None), (2, 'mcc', None, None)]
    """
    z = normal_quantile(upper_level(confidence))
    parts = (_intervals(part, metrics, by, z, rows) for part in table.iter_slices(ROWS))
    return pl.concat([_intervals(table.clear(), metrics, by, z, rows), *parts])


def _intervals(
    table: pl.DataFrame, metrics: Sequence[Metric], by: Sequence[str], z: float, rows: str | None
) -> pl.DataFrame:
    cells = table.select(pl.col(CELLS).cast(pl.Float64)).to_numpy().T
    with np.errstate(all="ignore"):  # undefined metrics are NaN here
        values, errors = _estimates(cells, metrics)
        if rows is not None:
            errors *= np.sqrt(cells.sum(axis=0) / table[rows].cast(pl.Float64).to_numpy())[:, np.newaxis]
    found = np.empty((2, *values.shape))
    for i, metric in enumerate(metrics):
        frame = pl.DataFrame({"value": values[:, i], "error": errors[:, i]})
        found[..., i] = frame.select(limits(pl.col("value"), pl.col("error"), z, metric.range)).to_numpy().T
    return tidy(table, by, [m.name for m in metrics], *found)


def _estimates(cells: Values, metrics: Sequence[Metric]) -> tuple[Values, Values]:
    """Metrics of tables with the counts ``cells`` (4, rows), and their standard errors: shapes (rows, metrics)."""
    varied = np.tile(cells, (1 + len(CELLS) * len(FACTORS), 1, 1))
    for i, of_cell in enumerate(np.split(varied[1:], len(CELLS))):
        of_cell[:, i] *= FACTORS[:, np.newaxis]
    tables = pl.DataFrame(dict(zip(CELLS, varied.swapaxes(0, 1).reshape(len(CELLS), -1), strict=True)))
    found = tables.select(m.expression().alias(m.name).cast(pl.Float64) for m in metrics).to_numpy()
    found = found.reshape(len(varied), cells.shape[1], len(metrics))
    values, around = found[0], found[1:].reshape(len(CELLS), len(FACTORS), *found.shape[1:])
    return values, _errors(cells[..., np.newaxis], values, around)


def _errors(cells: Values, values: Values, around: Values) -> Values:
    """Standard errors, from the metrics as they are and around, by cell and step; NaN where they are not sound."""
    far_below, below, above, far_above = around.swapaxes(0, 1)
    change = (8 * (above - below) - (far_above - far_below)) / (12 * STEP)
    bend = (above + below - 2 * values) / STEP
    spread = np.where(cells > 0, change**2 / cells, 0).sum(axis=0)
    variance = spread - change.sum(axis=0) ** 2 / cells.sum(axis=0)
    smooth = (np.abs(bend) <= KINK * np.abs(change).max(axis=0)).all(axis=0)
    return np.where(smooth & (variance > ROUNDING * spread), np.sqrt(variance), np.nan)
