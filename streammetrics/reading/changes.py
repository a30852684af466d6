"""Changes of the distance from a best value, for metrics such as the bias."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from streammetrics.base import LIMITS, A, B, hidden

ENDS = [f"{side}{end}" for side in (A, B) for end in ("lower", "upper")]  # bounds of each side
BEST, APART, TOGETHER = map(hidden, ("best", "apart", "together"))


def change_of_distance(differences: pl.DataFrame, sums: pl.DataFrame | None, best: Mapping[str, float]) -> pl.DataFrame:
    """Return the change ``|b - best| - |a - best|`` of metrics in place of their difference, with its bounds.

    Let d be the difference of b and a, and s the sum of their distances with signs. The change is then d or -d if both
    are on the same side of the best value, and s or -s if not: the smaller of \\|d\\| and \\|s\\|, with the product of
    their signs. Its limits are those of d and s in the least and the most favorable combination. They exclude 0 only if
    d and s both do.

    ``differences`` has the bounds `ENDS` of both sides, and ``sums`` the limits of a + b in the same rows. Without
    sums, there are no limits.

    >>> row = {"metric": "bias", "a": -0.5, "b": 0.3, "value": 0.8, f"{A}lower": -0.5, f"{A}upper": -0.5}
    >>> found = pl.DataFrame([row | {f"{B}lower": 0.3, f"{B}upper": 0.3, "ci_lower": 0.6, "ci_upper": 1.0}])
    >>> sums = found.with_columns(ci_lower=pl.lit(-0.25), ci_upper=pl.lit(-0.15))
    >>> change_of_distance(found, sums, {"bias": 0.0}).select("value", "ci_lower", "ci_upper").row(0)
    (-0.2, -0.25, -0.15)
    """
    center = pl.col("metric").replace_strict(best, return_dtype=pl.Float64)
    found = differences.with_columns(center.alias(BEST))
    nearest, farthest = ([end(side) for side in (A, B)] for end in (_nearest, _farthest))
    found = found.with_columns(
        value=((pl.col("b") - pl.col(BEST)).abs() - (pl.col("a") - pl.col(BEST)).abs()).fill_nan(None),
        lower=(nearest[1] - farthest[0]).fill_nan(None),
        upper=(farthest[1] - nearest[0]).fill_nan(None),
    )
    if sums is None:
        return found.drop(BEST)
    limits = [pl.Series(f"{TOGETHER}{limit}", sums[limit]) for limit in LIMITS]
    found = found.with_columns(pl.col(LIMITS).name.prefix(APART), *limits)
    ends = [[pl.col(f"{name}{limit}") for limit in LIMITS] for name in (APART, TOGETHER)]
    corners = [_change(d, s - 2 * pl.col(BEST)) for d in ends[0] for s in ends[1]]
    known = pl.all_horizontal(end.is_not_null() for pair in ends for end in pair)
    found = found.with_columns(
        ci_lower=pl.when(known).then(pl.min_horizontal(corners)),
        ci_upper=pl.when(known).then(pl.max_horizontal(corners)),
    )
    return found.select(differences.columns)


def _change(difference: pl.Expr, together: pl.Expr) -> pl.Expr:
    return difference.sign() * together.sign() * pl.min_horizontal(difference.abs(), together.abs())


def _farthest(side: str) -> pl.Expr:
    return pl.max_horizontal((pl.col(f"{side}{end}") - pl.col(BEST)).abs() for end in ("lower", "upper"))


def _nearest(side: str) -> pl.Expr:
    lower, upper = (pl.col(f"{side}{end}") - pl.col(BEST) for end in ("lower", "upper"))
    return pl.when(lower * upper > 0).then(pl.min_horizontal(lower.abs(), upper.abs())).otherwise(0.0)
