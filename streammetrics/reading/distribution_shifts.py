"""Changes of what people use of a distribution: its mean, quantiles, and the rate of predicted positives.

Each side has the limits of its mean and of its quantiles: those of independent rows, or of a jackknife over the folds
of units. Those of a quantile are the values at the limits of its rank (Woodruff 1952). The interval of a difference
follows from the limits of both sides (Newcombe 1998, method of variance estimates recovery).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.base import LIMITS, hidden, joined
from streammetrics.data import FEWEST_FOLDS, FOLD
from streammetrics.metrics import normal_quantile, t_quantile, upper_level
from streammetrics.reading.differences import showing
from streammetrics.reading.score_distributions import Distribution, distributions, paired, side_by_side
from streammetrics.statistics import GROUP

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

QUANTILES = {"10% quantile": 0.1, "median": 0.5, "90% quantile": 0.9}
MEAN, POSITIVES, RATE = "mean", "predicted_positive_rate", "prevalence"
POSITIVE_RATE = "rate of predicted positives"
QUANTITY, VERDICT, IS_SHARE, SCALE = map(hidden, ("quantity", "verdict", "is share", "scale"))
SIZE, LEAST, MOST, STEADY, HAS_INTERVALS = map(hidden, ("size", "smallest size", "largest size", "steady", "decides"))
NUMBERS = ("a", "b", "difference", *LIMITS, IS_SHARE, SCALE)
MEANS, PSI, WHOLE = map(hidden, ("mean ", "psi ", "group of all folds"))
SMALL, LARGE = 0.1, 0.2  # sizes of a change, relative to the reference
FEWEST_ROWS = 10  # of a side, below which there are no intervals
TINY = 0.001  # change of a rate, below which it is stable even if the reference has no predicted positives
NOTHING = pl.lit(None, pl.Float64)
COUNT, LOW, HIGH, VALUE = pl.col("count"), pl.col("low"), pl.col("high"), pl.col("value")
MIDDLE = LOW / 2 + HIGH / 2


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
    one, other = (distributions(report.state)[of] for report in (sides.a, sides.b))
    pairs = paired(one, other)
    a, b = (_side(report, of, side, quantiles, level) for report, side in ((sides.a, one), (sides.b, other)))
    both = (
        pairs.select("pair", "reference", "current")
        .join(a, left_on="reference", right_on=GROUP, maintain_order="left_right")
        .join(b, left_on=["current", QUANTITY], right_on=[GROUP, QUANTITY], suffix="_b", maintain_order="left")
    )
    below = ((pl.col("value_b") - pl.col("low_b")) ** 2 + (HIGH - VALUE) ** 2).sqrt()
    above = ((pl.col("high_b") - pl.col("value_b")) ** 2 + (VALUE - LOW) ** 2).sqrt()
    difference = pl.col("value_b") - VALUE
    is_share = pl.lit(is_rate or one.lattice.domain == "probability") & (pl.col(QUANTITY) == MEAN)
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
    changes = pairs.select("pair", *other.keys).join(changes, on="pair", maintain_order="left_right").drop("pair")
    if rates is not None:
        changes = pl.concat([changes, _rates(rates, other.keys, level)], how="diagonal_relaxed")
    return _with_sizes(changes)


def drift_verdicts(sides: Comparison, names: Sequence[str], confidence: float, psi: pl.DataFrame) -> pl.DataFrame:
    """Return the verdict on some distributions in each group, with the quantity that decides it."""
    parts = [
        _verdicts(shifts(sides, name, confidence), psi.filter(of=name)).with_columns(of=pl.lit(name)) for name in names
    ]
    return pl.concat(parts, how="diagonal_relaxed")


def _verdicts(changes: pl.DataFrame, psi: pl.DataFrame) -> pl.DataFrame:
    """Return the verdict on each group, with the quantity that decides it: keys, `VERDICT`, and columns of `shifts`.

    A distribution ``"shifted"`` if the interval of a quantity contains only sizes above `LARGE`, and ``"moved"`` if
    it excludes no change, or if that of PSI is above 0.1. It is ``"stable"`` if all intervals contain only sizes below
    `SMALL`, and PSI is below 0.1. Otherwise, it is ``"open"``. Both means and PSI with its interval are added.
    """
    keys = changes.columns[: changes.columns.index(QUANTITY)]
    steady = (pl.col(MOST) < SMALL).fill_null(False).all().alias(STEADY)
    decides = pl.col(LEAST).is_not_null().any().alias(HAS_INTERVALS)
    groups = (
        changes.group_by(keys, maintain_order=True).agg(steady, decides) if keys else changes.select(steady, decides)
    )
    ranked = changes.sort(pl.col(LEAST).fill_null(0), descending=True, maintain_order=True)  # else the mean is first
    worst = ranked.unique(keys, keep="first", maintain_order=True) if keys else ranked.head(1)
    means = changes.filter(pl.col(QUANTITY) == MEAN).select(*keys, pl.col(NUMBERS).name.prefix(MEANS))
    limits = psi.select(*keys, pl.col("value").alias(PSI), *(pl.col(limit).alias(PSI + limit) for limit in LIMITS))
    found = groups
    for frame in (worst, means, limits):
        found = joined(found, frame, keys)
    least, (psi_low, psi_high) = pl.col(LEAST).fill_null(0), (pl.col(PSI + limit) for limit in LIMITS)
    verdict = (
        pl.when(least > LARGE)
        .then(pl.lit("shifted"))
        .when((least > 0) | ((psi_low > SMALL) & pl.col(HAS_INTERVALS)).fill_null(False))
        .then(pl.lit("moved"))
        .when(pl.col(STEADY) & (psi_high < SMALL).fill_null(True))
        .then(pl.lit("stable"))
        .otherwise(pl.lit("open"))
    )
    return found.with_columns(verdict.alias(VERDICT)).drop(STEADY, HAS_INTERVALS)


def _with_sizes(changes: pl.DataFrame) -> pl.DataFrame:
    low, high = map(pl.col, LIMITS)
    known = low.is_not_null() & high.is_not_null() & low.is_not_nan() & high.is_not_nan()
    excludes_none = (low > 0) | (high < 0)
    nearest, farthest = pl.min_horizontal(low.abs(), high.abs()), pl.max_horizontal(low.abs(), high.abs())
    is_tiny = pl.col(QUANTITY).str.starts_with(POSITIVE_RATE) & (pl.max_horizontal("a", "b", farthest) < TINY)
    least = pl.when(excludes_none).then(_relative(nearest)).otherwise(0.0)
    most = pl.when(is_tiny).then(0.0).otherwise(_relative(farthest))
    return changes.with_columns(
        _relative(pl.col("difference").abs()).alias(SIZE),
        pl.when(known).then(least).alias(LEAST),
        pl.when(known | is_tiny).then(most).alias(MOST),
        *(pl.when(known).then(limit).alias(name) for name, limit in zip(LIMITS, (low, high), strict=True)),
    )


def _relative(amount: Expr) -> Expr:
    """An amount in units of its scale; of a scale of 0, nothing or infinitely much."""
    scale = pl.col(SCALE)
    return pl.when(scale > 0).then(amount / scale).when(amount > 0).then(float("inf")).otherwise(0.0)


def _rates(rates: Comparison, keys: Sequence[str], level: float) -> pl.DataFrame:
    """The changes of the rate of predicted positives at each threshold."""
    frame = replace(rates, confidence=level).frame.filter((pl.col("a") > 0) | (pl.col("b") > 0))
    at = pl.format("{} at {}", pl.lit(POSITIVE_RATE), "threshold") if "threshold" in frame.columns else pl.lit(None)
    quantity = pl.coalesce(at, pl.lit(POSITIVE_RATE)).alias(QUANTITY)
    scale = pl.when(pl.col("a") > 0).then("a").otherwise("b").alias(SCALE)
    return frame.select(*keys, quantity, pl.lit(True).alias(IS_SHARE), scale, "a", "b", "difference", *LIMITS)


def _side(report: Report, of: str, own: Distribution, quantiles: dict[str, float], level: float) -> pl.DataFrame:
    """The quantities of each group of one side: group, `QUANTITY`, value, low, high, and the spread of the group."""
    bins = _bins(own)
    points = bins.group_by(GROUP, maintain_order=True).agg(
        rows=COUNT.sum(),
        mean=(COUNT * MIDDLE).sum() / COUNT.sum(),
        mean_low=(COUNT * LOW).sum() / COUNT.sum(),
        mean_high=(COUNT * HIGH).sum() / COUNT.sum(),
        square=(COUNT * MIDDLE**2).sum() / COUNT.sum(),
        **{name: MIDDLE.filter(COUNT.cum_sum() >= q * COUNT.sum()).first() for name, q in QUANTILES.items()},
    )
    points = points.with_columns(spread=pl.col("90% quantile") / 2 - pl.col("10% quantile") / 2)
    if report.folds is not None:
        errors = _errors_of_folds(own, distributions(report.folds)[of], points, quantiles)
    elif report.state.weighted:
        errors = points.select(GROUP, *(NOTHING.alias(f"{name} error") for name in (MEAN, *quantiles)), reach=NOTHING)
    else:
        error = ((pl.col("square") - pl.col("mean") ** 2).clip(lower_bound=0) / (pl.col("rows") - 1)).sqrt()
        of_ranks = {f"{name} error": (q * (1 - q) / pl.col("rows")).sqrt() for name, q in quantiles.items()}
        reach = pl.when(pl.col("rows") >= FEWEST_ROWS).then(normal_quantile(upper_level(level)))
        errors = points.select(GROUP, error.alias("mean error"), reach=reach, **of_ranks)
    if report.folds is not None:
        degrees = errors["folds"].to_list()
        t = [t_quantile(upper_level(level), k - 1) if k >= FEWEST_FOLDS else None for k in degrees]
        errors = errors.with_columns(reach=pl.Series(t, dtype=pl.Float64))
    points = points.join(errors, on=GROUP, how="left", maintain_order="left")
    step = pl.col("mean error") * pl.col("reach")
    parts = [
        points.select(
            GROUP, pl.lit(MEAN).alias(QUANTITY), "spread", value="mean",
            low=pl.col("mean_low") - step, high=pl.col("mean_high") + step,
        )
    ]  # fmt: skip
    for name, q in quantiles.items():
        wide = bins.join(points.select(GROUP, "reach", name, "spread", pl.col(f"{name} error")), on=GROUP)
        step = (pl.col(f"{name} error") * pl.col("reach")).first()
        share = COUNT.cum_sum() / COUNT.sum()
        low = pl.when(q - step > 0).then(LOW.filter(share >= q - step).first())
        high = pl.when(q + step < 1).then(HIGH.filter(share >= q + step).first())
        unknown = step.is_null()
        limits = wide.group_by(GROUP, maintain_order=True).agg(
            pl.lit(name).alias(QUANTITY),
            spread=pl.first("spread"),
            value=pl.first(name),
            low=pl.when(~unknown).then(pl.coalesce(low, pl.lit(float("-inf")))),
            high=pl.when(~unknown).then(pl.coalesce(high, pl.lit(float("inf")))),
        )
        parts.append(limits)
    return pl.concat(parts, how="vertical_relaxed")


def _bins(own: Distribution) -> pl.DataFrame:
    """The bins of a distribution in ascending order: group, low, high, and count."""
    groups = own.groups.select(GROUP).join(own.sizes, on=GROUP)
    pairs = groups.select(pl.col(GROUP).alias("pair"), pl.col(GROUP).alias("side"), "cells")
    parts = [table.select(GROUP, "low", "high", count="side") for table in side_by_side({"side": own}, pairs)]
    return pl.concat(parts)


def _errors_of_folds(
    own: Distribution, folds: Distribution, points: pl.DataFrame, quantiles: dict[str, float]
) -> pl.DataFrame:
    """The standard errors of the mean and of the share below each quantile, from leaving out one fold at a time."""
    numbered = own.groups.rename({GROUP: WHOLE})
    keys = [c for c in own.keys if c in folds.keys]
    of_folds = joined(folds.groups.select(GROUP, *keys, FOLD), numbered.select(WHOLE, *keys), keys)
    bins = _bins(folds).join(of_folds.select(GROUP, WHOLE), on=GROUP)
    bins = bins.join(points.select(pl.col(GROUP).alias(WHOLE), *QUANTILES), on=WHOLE)
    sums = bins.group_by(WHOLE, GROUP).agg(
        rows=COUNT.sum(),
        mean=(COUNT * MIDDLE).sum(),
        **{name: COUNT.filter(pl.col(name) >= MIDDLE).sum() for name in quantiles},
    )

    def error(name: str) -> Expr:
        left_out = (pl.col(name).sum() - pl.col(name)) / (pl.col("rows").sum() - pl.col("rows"))
        return ((pl.len() - 1) * left_out.var(ddof=0)).sqrt()

    errors = {f"{name} error": error(name) for name in (MEAN, *quantiles)}
    return sums.group_by(WHOLE).agg(folds=pl.len(), **errors).rename({WHOLE: GROUP})
