"""Sums of products of row contributions, for the intervals of R² and correlations.

For a row with true value y and error e, ``dy`` and ``de`` are the deviations from the means. Each regression sum adds
polynomials of these deviations, so sums of products can be computed from moments up to order 4.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from streammetrics.core import HIGHER, Floats, error_m2, moved_moment

COLUMNS = ("weight", "over_sum", "square_error_sum", "actual_m2", "predicted_m2", "comoment")
SUMS = (*COLUMNS, "under_sum")
PRODUCTS = {pair: " * ".join(pair) for pair in combinations_with_replacement(COLUMNS, 2)}
ORDERS = tuple((i, order - i) for order in range(5) for i in range(order + 1))
SQUARES = "_w2"


def with_products(table: pl.DataFrame) -> pl.DataFrame:
    """Add the sums of products in `PRODUCTS` to a table of error moments, times squared weights for weighted rows.

    ``over_sum`` becomes the sum of all errors and ``under_sum`` becomes 0, which does not change metrics of their
    difference.
    """
    weight, total = column(table, "weight"), column(table, "over_sum") - column(table, "under_sum")
    with np.errstate(all="ignore"):
        bias = total / weight
        added: dict[str, dict[tuple[int, int], Floats | float]] = {  # contributions of a row, by powers of dy, de
            "weight": {(0, 0): 1.0},
            "over_sum": {(0, 0): bias, (0, 1): 1.0},
            "square_error_sum": {(0, 0): bias**2, (0, 1): 2 * bias, (0, 2): 1.0},
            "actual_m2": {(2, 0): 1.0},
            "predicted_m2": {(2, 0): 1.0, (1, 1): 2.0, (0, 2): 1.0},
            "comoment": {(2, 0): 1.0, (1, 1): 1.0},
        }
        moments = _moments(table, SQUARES if f"weight{SQUARES}" in table.columns else "")
        products = {
            name: sum(
                (moments[i + k, j + m] * x * y for (i, j), x in added[a].items() for (k, m), y in added[b].items()),
                np.zeros(table.height),
            )
            for (a, b), name in PRODUCTS.items()
        }
    return table.with_columns(
        *(pl.Series(name, product, pl.Float64) for name, product in products.items()),
        over_sum=pl.Series(total),
        under_sum=pl.lit(0.0),
    )


def _moments(table: pl.DataFrame, end: str) -> dict[tuple[int, int], Floats]:
    """Central moments by order in y and in the error. ``end`` is the suffix of columns with squared weights."""
    sums = {name: column(table, name + end) for name in SUMS}
    central = {
        (0, 0): sums["weight"],
        (2, 0): sums["actual_m2"],
        (1, 1): sums["comoment"] - sums["actual_m2"],
        (0, 2): error_m2(sums, sums["over_sum"] - sums["under_sum"]),
        **{(i, j): column(table, f"moment_{i}{j}{end}") for i, j in HIGHER},
    }
    dy, dp = (
        sum(column(table, f"{mean}{end}") - column(table, mean) for mean in (f"{side}_mean", f"{side}_mean_rest"))
        for side in ("actual", "predicted")
    )
    return {(i, j): moved_moment(central, i, j, np.asarray(dy), np.asarray(dp - dy)) for i, j in ORDERS}


def column(table: pl.DataFrame, name: str) -> Floats:
    """Return a column as floats."""
    return table[name].cast(pl.Float64).to_numpy()
