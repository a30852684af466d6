"""Changes of what people use of a distribution: its mean, quantiles, and the rate of predicted positives.

Each side has the limits of its mean and of its quantiles: those of independent rows, or of a jackknife over the folds
of units. Those of a quantile are the values at the limits of its rank (Woodruff 1952). The interval of a difference
follows from the limits of both sides (Newcombe 1998, method of variance estimates recovery).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.base import LIMITS, hidden, joined
from streammetrics.data import FEWEST_FOLDS
from streammetrics.metrics import normal_quantile, t_quantile, upper_level
from streammetrics.reading.differences import showing
from streammetrics.reading.drift.distances import long
from streammetrics.reading.score_distributions import Distribution, distributions, paired, side_by_side
from streammetrics.statistics import GROUP

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

MEDIAN = "median"
QUANTILES = {"10% quantile": 0.1, MEDIAN: 0.5, "90% quantile": 0.9}
MEAN, POSITIVES, RATE = "mean", "predicted_positive_rate", "prevalence"
POSITIVE_RATE = "rate of predicted positives"
QUANTITY, IS_SHARE, SCALE, SIZE, LEAST, MOST, OF_ALL_FOLDS = map(
    hidden, ("quantity", "is share", "scale", "size", "smallest size", "largest size", "group of all folds")
)
FEWEST_ROWS = 10  # of a side, below which there are no intervals
TINY = 0.001  # change of a rate, below which it is stable even if the reference has no predicted positives
COUNT, LOW, HIGH, VALUE = pl.col("count"), pl.col("low"), pl.col("high"), pl.col("value")
MIDDLE = LOW / 2 + HIGH / 2
ROWS = COUNT.sum()


def shifts(sides: Comparison, of: str, confidence: float) -> pl.DataFrame:
    """Return the changes of the quantities of a distribution in every group.

    All intervals of a group together have the confidence level (Bonferroni).

    Returns:
        The group columns, `QUANTITY`, ``a``, ``b``, ``difference`` with ``ci_lower`` and ``ci_upper``, which are null
        if rows are weighted and have no unit; and `SIZE`, `LEAST`, and `MOST`: the size of the difference, and the
        smallest and the largest in its interval. Sizes of rates and of mean probabilities are relative to the
        reference (`IS_SHARE`). Others are relative to half the distance of its outer quantiles.
    """
    is_rate = of == "y_true" and sides.b.readable(RATE)
    quantiles = {} if is_rate else QUANTILES
    has_rates = of == "y_score" and sides.a.readable(POSITIVES) and sides.b.readable(POSITIVES)
    rates = showing(sides, [POSITIVES], None) if has_rates else None
    number = 1 + len(quantiles)
    if rates is not None:
        number += rates.frame["threshold"].n_unique() if "threshold" in rates.frame.columns else 1
    level = 1 - (1 - confidence) / number
    reference, current = (distributions(report.state)[of] for report in (sides.a, sides.b))
    pairs = paired(reference, current)
    a, b = (_quantities(report, of, quantiles, level) for report in (sides.a, sides.b))
    both = (
        pairs.select("pair", "reference", "current")
        .join(a, left_on="reference", right_on=GROUP, maintain_order="left_right")
        .join(b, left_on=["current", QUANTITY], right_on=[GROUP, QUANTITY], suffix="_b", maintain_order="left")
    )
    below = ((pl.col("value_b") - pl.col("low_b")) ** 2 + (HIGH - VALUE) ** 2).sqrt()
    above = ((pl.col("high_b") - pl.col("value_b")) ** 2 + (VALUE - LOW) ** 2).sqrt()
    difference = pl.col("value_b") - VALUE
    is_share = pl.lit(is_rate or reference.lattice.domain == "probability") & (pl.col(QUANTITY) == MEAN)
    changes = both.select(
        "pair",
        QUANTITY,
        is_share.alias(IS_SHARE),
        pl.when(is_share).then(VALUE.abs()).otherwise("spread").alias(SCALE),
        a="value",
        b="value_b",
        difference=difference,
        ci_lower=difference - below,
        ci_upper=difference + above,
    )
    changes = pairs.select("pair", *current.keys).join(changes, on="pair", maintain_order="left_right").drop("pair")
    if rates is not None:
        changes = pl.concat([changes, _rates(rates, current.keys, level)], how="diagonal_relaxed")
    return _with_sizes(changes)


def _quantities(report: Report, of: str, quantiles: Mapping[str, float], level: float) -> pl.DataFrame:
    """The quantities of each group of one side: group, spread of the group, `QUANTITY`, value, low, and high."""
    distribution = distributions(report.state)[of]
    bins = _bins(distribution)
    if report.folds is None:
        reach = pl.when(ROWS >= FEWEST_ROWS, not report.state.weighted).then(normal_quantile(upper_level(level)))
        variance = (_mean(MIDDLE**2) - _mean(MIDDLE) ** 2).clip(lower_bound=0) / (ROWS - 1)
        margins = {MEAN: reach * variance.sqrt()}
        margins |= {name: reach * (q * (1 - q) / ROWS).sqrt() for name, q in quantiles.items()}
        bins = bins.with_columns(margin.over(GROUP).alias(_margin(name)) for name, margin in margins.items())
    else:
        folds = distributions(report.folds)[of]
        bins = bins.join(_margins_of_folds(distribution, folds, bins, quantiles, level), on=GROUP, how="left")
    step = pl.first(_margin(MEAN))
    mean = pl.struct(value=_mean(MIDDLE), low=_mean(LOW) - step, high=_mean(HIGH) + step)
    limits = {MEAN: mean} | {name: _quantile_limits(q, pl.first(_margin(name))) for name, q in quantiles.items()}
    low, *_, high = map(_quantile, QUANTILES.values())
    return long(bins.group_by(GROUP, maintain_order=True).agg(**limits, spread=high / 2 - low / 2), limits, QUANTITY)


def _mean(position: Expr) -> Expr:
    return (COUNT * position).sum() / ROWS


def _quantile(q: float) -> Expr:
    return MIDDLE.filter(COUNT.cum_sum() >= q * ROWS).first()


def _quantile_limits(q: float, margin: Expr) -> Expr:
    """A quantile, and the values at the limits of its rank."""
    share = COUNT.cum_sum() / ROWS
    low = pl.when(q - margin > 0).then(LOW.filter(share >= q - margin).first())
    high = pl.when(q + margin < 1).then(HIGH.filter(share >= q + margin).first())
    has_limits = pl.when(margin.is_not_null())
    return pl.struct(
        value=_quantile(q),
        low=has_limits.then(pl.coalesce(low, pl.lit(float("-inf")))),
        high=has_limits.then(pl.coalesce(high, pl.lit(float("inf")))),
    )


def _margin(quantity: str) -> str:
    return f"{quantity} margin"


def _bins(distribution: Distribution) -> pl.DataFrame:
    """The bins of a distribution in ascending order: group, low, high, and count."""
    groups = distribution.groups.select(GROUP).join(distribution.sizes, on=GROUP)
    pairs = groups.select(pl.col(GROUP).alias("pair"), pl.col(GROUP).alias("side"), "cells")
    parts = side_by_side({"side": distribution}, pairs)
    return pl.concat(table.select(GROUP, "low", "high", count="side") for table in parts)


def _margins_of_folds(
    distribution: Distribution, folds: Distribution, bins: pl.DataFrame, quantiles: Mapping[str, float], level: float
) -> pl.DataFrame:
    """The margins of the mean and of the share below each quantile, from leaving out one fold at a time."""
    keys = [c for c in distribution.keys if c in folds.keys]
    groups = distribution.groups.select(*keys, pl.col(GROUP).alias(OF_ALL_FOLDS))
    values = bins.group_by(GROUP).agg(_quantile(q).alias(name) for name, q in quantiles.items())
    fold_bins = (
        _bins(folds)
        .join(joined(folds.groups.select(GROUP, *keys), groups, keys).select(GROUP, OF_ALL_FOLDS), on=GROUP)
        .join(values, left_on=OF_ALL_FOLDS, right_on=GROUP)
    )
    below = {name: COUNT.filter(pl.col(name) >= MIDDLE).sum() for name in quantiles}
    sums = fold_bins.group_by(OF_ALL_FOLDS, GROUP).agg(rows=ROWS, **{MEAN: (COUNT * MIDDLE).sum()}, **below)
    others = {c: pl.col(c).sum() - pl.col(c) for c in ("rows", MEAN, *quantiles)}
    errors = {c: ((pl.len() - 1) * (others[c] / others["rows"]).var(ddof=0)).sqrt() for c in (MEAN, *quantiles)}
    margins = sums.group_by(pl.col(OF_ALL_FOLDS).alias(GROUP)).agg(folds=pl.len(), **errors)
    t = [t_quantile(upper_level(level), k - 1) if k >= FEWEST_FOLDS else None for k in margins["folds"]]
    reach = pl.lit(pl.Series(t, dtype=pl.Float64))
    return margins.select(GROUP, *((reach * pl.col(c)).alias(_margin(c)) for c in errors))


def _rates(rates: Comparison, keys: list[str], level: float) -> pl.DataFrame:
    """The changes of the rate of predicted positives at each threshold."""
    frame = replace(rates, confidence=level).frame.filter((pl.col("a") > 0) | (pl.col("b") > 0))
    quantity = pl.lit(POSITIVE_RATE)
    if "threshold" in frame.columns:
        quantity = pl.coalesce(pl.format("{} at {}", quantity, "threshold"), quantity)
    scale = pl.when(pl.col("a") > 0).then("a").otherwise("b").alias(SCALE)
    numbers = "a", "b", "difference", *LIMITS
    return frame.select(*keys, quantity.alias(QUANTITY), pl.lit(True).alias(IS_SHARE), scale, *numbers)


def _with_sizes(changes: pl.DataFrame) -> pl.DataFrame:
    low, high = map(pl.col, LIMITS)
    has_limits = low.is_not_null() & high.is_not_null() & low.is_not_nan() & high.is_not_nan()
    excludes_none = (low > 0) | (high < 0)
    nearest, farthest = pl.min_horizontal(low.abs(), high.abs()), pl.max_horizontal(low.abs(), high.abs())
    is_tiny = pl.col(QUANTITY).str.starts_with(POSITIVE_RATE) & (pl.max_horizontal("a", "b", farthest) < TINY)
    least = pl.when(excludes_none).then(_relative(nearest)).otherwise(0.0)
    most = pl.when(is_tiny).then(0.0).otherwise(_relative(farthest))
    return changes.with_columns(
        _relative(pl.col("difference").abs()).alias(SIZE),
        pl.when(has_limits).then(least).alias(LEAST),
        pl.when(has_limits | is_tiny).then(most).alias(MOST),
        pl.when(has_limits).then(pl.col(LIMITS)),
    )


def _relative(amount: Expr) -> Expr:
    """An amount in units of its scale; of a scale of 0, nothing or infinitely much."""
    scale = pl.col(SCALE)
    return pl.when(scale > 0).then(amount / scale).when(amount > 0).then(float("inf")).otherwise(0.0)
