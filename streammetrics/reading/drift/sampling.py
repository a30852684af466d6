"""Confidence intervals of drift measures, from the rows of both sides in the same bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import polars as pl
from polars import Expr

from streammetrics.base import hidden
from streammetrics.metrics import FEWEST, normal_quantile, upper_level
from streammetrics.reading.drift.distances import (
    CURRENT,
    GROUP,
    REFERENCE,
    SMALLEST_SHARE,
    A,
    B,
    js,
    long,
    psi,
    quantile_shares,
)

CENTER = hidden("center")
WITH_INTERVALS = ("psi", "js", "ks")
LARGEST_PSI = -2 * log(SMALLEST_SHARE)  # no bin has rows of both sides
JS_OF_PSI = 1 / (8 * log(2))  # both measures are quadratic in small differences


def drift_intervals(table: pl.DataFrame, bins: int, confidence: float) -> pl.DataFrame:
    """Return intervals of PSI, JS (Jensen-Shannon divergence), and KS distance, for independent rows without weights.

    PSI and JS of finite samples are biased upward: without drift PSI is ``(bins - 1) * (1 / n + 1 / m)`` on average.
    The bias is subtracted. The variance is that of the influence of a row on each side, plus that of a chi-squared
    variable, which remains without drift. With fewer than 20 rows on a side, any value is possible. The interval of KS
    uses the Kolmogorov distribution, which is exact without drift and conservative with drift.

    Returns:
        The columns ``group``, ``measure``, `CENTER`, the value without its bias, ``ci_lower``, and ``ci_upper``.

    >>> table = pl.DataFrame({"group": 0, "low": [0.2, 0.8], "high": [0.2, 0.8], "reference": [500, 500]})
    >>> intervals = drift_intervals(table.with_columns(current=pl.Series([450, 550])), 10, 0.95)
    >>> intervals.select("measure", pl.col(pl.Float64).round(4)).rows()
    [('psi', 0.008, 0.0, 0.0264), ('js', 0.0014, 0.0, 0.0048), ('ks', 0.05, 0.0, 0.1107)]
    """
    z = normal_quantile(upper_level(confidence))
    a, b = (pl.max_horizontal(share, SMALLEST_SHARE) for share in (A, B))
    psi_limits = _divergence_limits(
        psi(A, B),
        slopes=((a / b).log() + 1 - b / a, (b / a).log() + 1 - a / b),
        bends=(1 / a + b / a**2, 1 / b + a / b**2),
        scale=1.0,
        z=z,
    )
    slopes = [pl.when(side > 0).then((2 * side / (A + B)).log(2) / 2).otherwise(0.0) for side in (A, B)]
    bends = [pl.when(x > 0).then(y / (x * (A + B) * 2 * log(2))).otherwise(0.0) for x, y in ((A, B), (B, A))]
    js_limits = _divergence_limits(js(A, B), slopes, bends, JS_OF_PSI, z)
    at_most_one = js_limits.struct.with_fields(pl.field("ci_upper").clip(upper_bound=1.0))
    shares = quantile_shares(table, bins).group_by(GROUP, maintain_order=True)
    distance = (REFERENCE.cum_sum() / REFERENCE.sum() - CURRENT.cum_sum() / CURRENT.sum()).abs().max()
    reach = sqrt(-log((1 - confidence) / 2) / 2) * (1 / REFERENCE.sum() + 1 / CURRENT.sum()).sqrt()
    ks = _limits(distance, reach).struct.with_fields(pl.field("ci_upper").clip(upper_bound=1.0))
    along = table.group_by(GROUP, maintain_order=True).agg(ks=ks)
    wide = shares.agg(psi=psi_limits, js=at_most_one).join(along, on=GROUP, maintain_order="left")
    return long(wide, WITH_INTERVALS, "measure").with_columns(pl.col(pl.Float64).fill_nan(None))


def _divergence_limits(value: Expr, slopes: Sequence[Expr], bends: Sequence[Expr], scale: float, z: float) -> Expr:
    """The interval of a sum over bins, from the first and second derivatives in the shares of both sides."""
    n, m = pl.first("n"), pl.first("m")
    variance, bias = pl.lit(0.0), pl.lit(0.0)
    for share, rows, slope, bend in zip((A, B), (n, m), slopes, bends, strict=True):
        variance += ((share * slope**2).sum() - (share * slope).sum() ** 2) / rows
        bias += (share * (1 - share) * bend).sum() / (2 * rows)
    without_drift = 2 * (pl.len() - 1) * (scale * (1 / n + 1 / m)) ** 2
    enough = pl.min_horizontal(n, m) >= FEWEST  # in few rows, bins can be empty on a side by chance
    reach = pl.when(enough).then(z * (variance + without_drift).sqrt()).otherwise(LARGEST_PSI)
    return _limits(value.sum() - bias, reach)


def _limits(center: Expr, reach: Expr) -> Expr:
    return pl.struct(
        center.alias(CENTER),
        ci_lower=(center - reach).clip(lower_bound=0),
        ci_upper=(center + reach).clip(lower_bound=0),
    )
