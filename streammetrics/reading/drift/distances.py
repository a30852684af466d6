"""Distances between two distributions, from two histograms over the same bins.

Every function takes the table of these bins: ``group``, ``low`` and ``high`` (the smallest and the largest value of the
bin, equal if it is one value), and ``reference`` and ``current``, the rows of each side in it or their weight. Bins
ascend within each group.

PSI and Jensen-Shannon divergence merge the bins to a few quantile bins, the same for both sides (see `quantile_bins`).
The edges of quantile bins are edges of bins, so both measures are exact. The bounds of Kolmogorov-Smirnov and
Wasserstein distance hold for any position of the rows in their bins.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from polars import Expr

from streammetrics.base import ROUNDING, shares

GROUP = "group"
MEASURES = ("psi", "js", "ks", "wasserstein")
SMALLEST_SHARE = 1e-4

LOW, HIGH = pl.col("low"), pl.col("high")
REFERENCE, CURRENT = pl.col("reference"), pl.col("current")
A, B = pl.col("a"), pl.col("b")  # shares of both


def distances(table: pl.DataFrame, bins: int = 10) -> pl.DataFrame:
    """Return all measures of every group.

    Returns:
        Columns group, measure, value, lower, upper; null if one side has no rows.
    """
    values = (
        quantile_shares(table, bins)
        .group_by(GROUP, maintain_order=True)
        .agg(psi=_exact(psi(A, B).sum()), js=_exact(js(A, B).sum().clip(0, 1)), both=(A.sum() + B.sum()).is_not_nan())
    )  # shares of no rows are 0/0
    estimates = long(values.join(_along_the_line(table), on=GROUP), MEASURES, "measure")
    return estimates.select(GROUP, "measure", pl.when("both").then(pl.col("value", "lower", "upper")))


def long(wide: pl.DataFrame, names: Iterable[str], variable: str) -> pl.DataFrame:
    """Return the named columns of structs below each other, beside their name and the other columns of each group."""
    names = list(names)
    index = [c for c in wide.columns if c not in names]
    rows = wide.unpivot(names, index=index, variable_name=variable, value_name="estimate")
    return rows.sort(GROUP, maintain_order=True).unnest("estimate")


def quantile_shares(table: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Return the shares ``a`` and ``b`` of both sides in each quantile bin, and their rows, ``n`` and ``m``."""
    cells = quantile_bins(table, bins).group_by(GROUP, "place", maintain_order=True).agg(REFERENCE.sum(), CURRENT.sum())
    n, m = (side.sum().over(GROUP) for side in (REFERENCE, CURRENT))
    return cells.select(GROUP, n=n, m=m, a=REFERENCE / n, b=CURRENT / m)


def quantile_bins(table: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Return the table with ``place``, the number of the quantile bin of PSI and Jensen-Shannon divergence of each bin.

    Quantile bins depend only on the reference, and both sides are counted in them:

    - Common values: a value with a share of at least ``1 / bins`` in the reference has a bin of its own. If the
      reference has at most ``bins`` distinct values, each of them has.
    - Quantiles: the values below, between, and above common values are cut at the quantiles of the reference. The first
      and the last of these bins also hold values beyond those of the reference.
    - New values: below, between, or above common values, a range in which the reference has no rows is one bin.

    >>> table = pl.DataFrame({"group": 0, "low": [1.0, 2, 3, 4, 5], "reference": [4, 0, 3, 1, 0], "current": 1})
    >>> quantile_bins(table, bins=2)["place"].to_list(), quantile_bins(table, bins=3)["place"].to_list()
    ([0, 1, 1, 1, 1], [0, 1, 2, 3, 4])
    """
    occupied = REFERENCE > 0
    share = REFERENCE / REFERENCE.sum()
    common = occupied & ((occupied.sum() <= bins) | (share * bins >= 1 - ROUNDING))
    stretch = common.cum_sum() + common.cum_sum().shift(fill_value=0)  # odd for a separate bin, even between two
    quantile = (share.cum_sum().shift(fill_value=0.0) * bins + ROUNDING).floor()
    last = pl.col("quantile").filter("occupied").max().over(GROUP, "stretch")
    return (
        table.with_columns(occupied.over(GROUP).alias("occupied"))
        .with_columns(stretch=stretch.over(GROUP), quantile=quantile.over(GROUP))
        .with_columns(pl.min_horizontal("quantile", last))
        .with_columns(place=pl.struct("stretch", "quantile").rle_id().over(GROUP).cast(pl.Int64))
        .drop("occupied", "stretch", "quantile")
    )


def psi(reference: Expr, current: Expr) -> Expr:
    """Return the terms of the population stability index: ``(current - reference) * ln(current / reference)``.

    The index is the divergence of Jeffreys (1946). For credit scores, values below 0.1 count as stable and above 0.25
    as shifted (Siddiqi 2006, Credit Risk Scorecards). A share below 0.0001, such as that of an empty bin, counts as
    0.0001, as in Evidently; otherwise a single empty bin would make it infinite.

    >>> table = pl.DataFrame({"a": [0.5, 0.5], "b": [0.25, 0.75]})
    >>> round(table.select(psi(pl.col("a"), pl.col("b")).sum()).item(), 6)
    0.274653
    """
    a, b = (share.clip(lower_bound=SMALLEST_SHARE) for share in (reference, current))
    return (b - a) * (b / a).log()


def js(reference: Expr, current: Expr) -> Expr:
    """Return the terms of the Jensen-Shannon divergence of shares, to base 2 (Lin 1991).

    The divergence is 0 for equal shares and 1 for no bin in common; scipy's ``jensenshannon`` is its square root.

    >>> table = pl.DataFrame({"a": [0.5, 0.5, 0.0], "b": [0.0, 0.0, 1.0]})
    >>> table.select(js(pl.col("a"), pl.col("b")).sum()).item()
    1.0
    """
    middle = (reference + current) / 2
    terms = (pl.when(share > 0).then(share * (share / middle).log(2)) for share in (reference, current))
    return pl.sum_horizontal(*terms) / 2


def _along_the_line(table: pl.DataFrame) -> pl.DataFrame:
    """Kolmogorov-Smirnov and Wasserstein distance.

    ``before`` and ``after`` are the differences of the distribution functions on both sides of a bin. Within the bin,
    the difference is between ``least``, if all rows of the current side come first, and ``most``.

    The Kolmogorov-Smirnov distance is the largest difference, which may be larger inside a bin than at its edges. The
    Wasserstein-1 distance is the area between the functions (Vallender 1974); its value has every row in the middle of
    its bin. The area is largest if all rows of one side are at the low end and all of the other at the high end. It is
    smallest if the difference is as near to 0 as the bin allows.
    """
    before, after, most, least, farthest = (pl.col(c) for c in ("before", "after", "most", "least", "farthest"))
    reference, current = (shares(side.cum_sum(), side.cum_sum().last()) for side in (REFERENCE, CURRENT))
    totals = (side.sum().over(GROUP) for side in (REFERENCE, CURRENT))
    part, other_part = (side / total for side, total in zip((REFERENCE, CURRENT), totals, strict=True))
    hidden = (LOW < HIGH) & (REFERENCE > 0) & (CURRENT > 0)
    nearest = pl.max_horizontal(0.0, least, -most)
    sides = (
        table.with_columns(after=(reference - current).over(GROUP), next=LOW.shift(-1).over(GROUP))
        .with_columns(before=after.shift(1, fill_value=0.0).over(GROUP))
        .with_columns(most=before + part, least=before - other_part)
        .with_columns(farthest=pl.max_horizontal(most.abs(), least.abs()).clip(upper_bound=1))
        .select(
            GROUP,
            at_edges=after.abs(),
            inside=pl.when(hidden).then(farthest),
            between=pl.when(pl.col("next").is_not_null()).then(_area(after.abs(), HIGH, pl.col("next"))),
            middle=_area((before.abs() + after.abs()) / 2, LOW, HIGH),
            smallest=_area(nearest, LOW, HIGH),
            largest=_area(farthest, LOW, HIGH),
        )
        .group_by(GROUP, maintain_order=True)
        .agg(pl.max("at_edges", "inside"), pl.sum("between", "middle", "smallest", "largest"))
    )
    ks, area = pl.col("at_edges"), pl.col("between") + pl.col("middle")
    lower, upper = (pl.col("between") + pl.col(c) for c in ("smallest", "largest"))
    return sides.select(
        GROUP,
        ks=pl.struct(value=ks, lower=ks, upper=pl.max_horizontal(ks, "inside")),
        wasserstein=pl.struct(value=area, lower=pl.min_horizontal(lower, area), upper=pl.max_horizontal(upper, area)),
    )


def _area(height: Expr, low: Expr, high: Expr) -> Expr:
    """Area of a rectangle; 0 if it has no height, even if its width is infinite, without overflow of its width."""
    endless = low.is_infinite() | high.is_infinite()
    flat = (low == high) | (endless & (height <= ROUNDING))
    far = (high - low).is_infinite()
    area = pl.when(far).then(height * high - height * low).otherwise(height * (high - low))
    return pl.when(flat).then(0.0).otherwise(area)


def _exact(value: Expr) -> Expr:
    return pl.struct(value=value, lower=value, upper=value)
