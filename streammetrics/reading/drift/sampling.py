"""Confidence intervals of drift measures, from the rows of both sides in the same bins."""

from __future__ import annotations

from math import log, sqrt

import polars as pl
from polars import Expr

from streammetrics.base import hidden
from streammetrics.metrics import normal_quantile, upper_level
from streammetrics.reading.drift.distances import CURRENT, GROUP, REFERENCE, SMALLEST_SHARE, js, psi, quantile_bins

A, B, N, M, BINS = (pl.col(c) for c in ("a", "b", "n", "m", "bins"))
CENTER = hidden("center")
WITH_INTERVALS = ("psi", "js", "ks")
JS_OF_PSI = 1 / (8 * log(2))  # both measures are quadratic in small differences


def drift_intervals(table: pl.DataFrame, bins: int, confidence: float) -> pl.DataFrame:
    """Return intervals of PSI, JS (Jensen-Shannon divergence), and KS distance, for independent rows without weights.

    PSI and JS of finite samples are biased upward: without drift PSI is ``(bins - 1) * (1 / n + 1 / m)`` on average.
    The bias is subtracted. The variance is that of the influence of a row on each side, plus that of a chi-squared
    variable, which remains without drift. The interval of KS uses the Kolmogorov distribution, which is exact without
    drift and conservative with drift.

    Returns:
        The columns ``group``, ``measure``, `CENTER`, the value without its bias, ``ci_lower``, and ``ci_upper``.

    >>> table = pl.DataFrame({"group": 0, "low": [0.2, 0.8], "high": [0.2, 0.8], "reference": [500, 500]})
    >>> found = drift_intervals(table.with_columns(current=pl.Series([450, 550])), 10, 0.95)
    >>> found.select("measure", pl.col(pl.Float64).round(4)).rows()
    [('psi', 0.008, 0.0, 0.0264), ('js', 0.0014, 0.0, 0.0048), ('ks', 0.05, 0.0, 0.1107)]
    """
    z = normal_quantile(upper_level(confidence))
    kept, either = pl.max_horizontal(A, SMALLEST_SHARE), pl.max_horizontal(B, SMALLEST_SHARE)
    of_psi = _of_shares(
        value=psi(A, B),
        slopes=((kept / either).log() + 1 - either / kept, (either / kept).log() + 1 - kept / either),
        bends=(1 / kept + either / kept**2, 1 / either + kept / either**2),
        scale=1.0,
        z=z,
    )
    slopes = tuple(pl.when(side > 0).then((2 * side / (A + B)).log(2) / 2).otherwise(0.0) for side in (A, B))
    of_js = _of_shares(
        value=js(A, B),
        slopes=(slopes[0], slopes[1]),
        bends=tuple(pl.when(x > 0).then(y / (x * (A + B) * 2 * log(2))).otherwise(0.0) for x, y in ((A, B), (B, A))),
        scale=JS_OF_PSI,
        z=z,
    )
    of_shares = _shares(table, bins).group_by(GROUP, maintain_order=True).agg(psi=of_psi, js=of_js)
    distance = (REFERENCE.cum_sum() / REFERENCE.sum() - CURRENT.cum_sum() / CURRENT.sum()).abs().max()
    reach = sqrt(-log((1 - confidence) / 2) / 2) * (1 / REFERENCE.sum() + 1 / CURRENT.sum()).sqrt()
    along = table.group_by(GROUP, maintain_order=True).agg(ks=_limits(distance, reach))
    at_most_one = pl.col("js", "ks").struct.with_fields(pl.field("ci_upper").clip(upper_bound=1.0))
    wide = of_shares.join(along, on=GROUP, maintain_order="left").with_columns(at_most_one)
    long = wide.unpivot(WITH_INTERVALS, index=GROUP, variable_name="measure", value_name="estimate")
    return long.sort(GROUP, maintain_order=True).unnest("estimate").with_columns(pl.col(pl.Float64).fill_nan(None))


def _shares(table: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Shares of both sides in each quantile bin, with the rows of each side and the number of bins."""
    joined = (
        quantile_bins(table, bins).group_by(GROUP, "place", maintain_order=True).agg(REFERENCE.sum(), CURRENT.sum())
    )
    n, m = (side.sum().over(GROUP) for side in (REFERENCE, CURRENT))
    return joined.select(GROUP, n=n, m=m, a=REFERENCE / n, b=CURRENT / m, bins=pl.len().over(GROUP))


def _of_shares(value: Expr, slopes: tuple[Expr, Expr], bends: tuple[Expr, ...], scale: float, z: float) -> Expr:
    """The interval of a sum over bins, from the first and second derivatives in the shares of both sides."""
    variance, bias = pl.lit(0.0), pl.lit(0.0)
    for share, rows, slope, bend in zip((A, B), (N.first(), M.first()), slopes, bends, strict=True):
        variance += ((share * slope**2).sum() - (share * slope).sum() ** 2) / rows
        bias += (share * (1 - share) * bend).sum() / (2 * rows)
    without_drift = 2 * (BINS.first() - 1) * (scale * (1 / N.first() + 1 / M.first())) ** 2
    return _limits(value.sum() - bias, z * (variance + without_drift).sqrt())


def _limits(center: Expr, reach: Expr) -> Expr:
    return pl.struct(
        center.alias(CENTER),
        ci_lower=(center - reach).clip(lower_bound=0),
        ci_upper=(center + reach).clip(lower_bound=0),
    )
