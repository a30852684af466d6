"""What a row adds to the sums that R² and correlations are computed from, multiplied and added up over rows.

Of a row with the true value y and the error e, ``dy`` and ``de`` are the distances to their means. Each sum of a
regression is a sum of polynomials in them, so sums of products follow from moments up to order 4.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import polars as pl
from polars import Expr

POWERS = ((0, 0), (0, 1), (2, 0), (1, 1), (0, 2))  # of dy and de
COLUMNS = ("weight", "over_sum", "square_error_sum", "actual_m2", "predicted_m2", "comoment")
PRODUCTS = {pair: " * ".join(pair) for pair in combinations_with_replacement(COLUMNS, 2)}


def with_products(table: pl.DataFrame) -> pl.DataFrame:
    """The moments of errors with the sums of products that `PRODUCTS` names.

    ``over_sum`` becomes the sum of all errors, and ``under_sum`` 0, which is the same to a metric of their difference.
    """
    total = pl.col("over_sum") - pl.col("under_sum")
    bias = total / pl.col("weight")
    added: dict[str, tuple[Expr | float, ...]] = {  # by a row, as factors of POWERS
        "weight": (1.0, 0.0, 0.0, 0.0, 0.0),
        "over_sum": (bias, 1.0, 0.0, 0.0, 0.0),
        "square_error_sum": (bias**2, 2 * bias, 0.0, 0.0, 1.0),
        "actual_m2": (0.0, 0.0, 1.0, 0.0, 0.0),
        "predicted_m2": (0.0, 0.0, 1.0, 2.0, 1.0),
        "comoment": (0.0, 0.0, 1.0, 1.0, 0.0),
    }
    products = {
        PRODUCTS[a, b]: pl.sum_horizontal(
            _moment(i + k, j + m, total) * x * y
            for (i, j), x in zip(POWERS, added[a], strict=True)
            for (k, m), y in zip(POWERS, added[b], strict=True)
            if not (_is_zero(x) or _is_zero(y))
        )
        for a, b in PRODUCTS
    }
    return table.with_columns(**products).with_columns(over_sum=total, under_sum=pl.lit(0.0))


def _is_zero(factor: Expr | float) -> bool:
    return isinstance(factor, float) and not factor


def _moment(i: int, j: int, total: Expr) -> Expr:
    """The moment of order i in y and j in the error."""
    actual, product = pl.col("actual_m2"), pl.col("comoment")
    lower = {
        (0, 0): pl.col("weight"),
        (0, 1): pl.lit(0.0),
        (2, 0): actual,
        (1, 1): product - actual,
        (0, 2): pl.col("square_error_sum") - total**2 / pl.col("weight"),
    }
    return lower[i, j] if i + j < 3 else pl.col(f"moment_{i}{j}")
