"""Metrics of confusion counts: scikit-learn, textbooks, and what is undefined."""

import polars as pl
import pytest

from streammetrics import metrics as m

COUNTS = ("tp", "fp", "fn", "tn")


BANDS_OF_KAPPA = {
    (3, 0, 0, 0): (None, None),
    (0, 1, 1, 0): (-1.0, "poor"),
    (0, 9, 1, 0): (-18 / 82, "poor"),
    (0, 1, 9, 0): (-18 / 82, "poor"),
    (0, 1, 1, 9): (-2 / 20, "poor"),
    (1, 1, 1, 1): (0.0, "none to slight"),
    (3, 2, 2, 3): (0.2, "none to slight"),
    (25, 10, 15, 20): (2 / 7, "fair"),
    (7, 3, 3, 7): (0.4, "fair"),
    (8, 2, 2, 8): (0.6, "moderate"),
    (9, 1, 1, 9): (0.8, "substantial"),
    (99, 1, 1, 99): (0.98, "almost perfect"),
    (5, 0, 0, 5): (1.0, "perfect"),
    (9 * 10**8, 10**8, 10**8, 9 * 10**8): (0.8, "substantial"),
    (9 * 10**14, 10**14, 10**14, 9 * 10**14): (0.8, "substantial"),
}
BANDS_OF_IMBALANCE = {
    (2, 1, 1, 1): "balanced",
    (5, 1, 1, 1): "slightly imbalanced",
    (1, 11, 1, 7): "imbalanced",
    (1, 18, 1, 1): "highly imbalanced",
}


def of_tables(tables, expression):
    """An expression of each table of counts."""
    counts = pl.DataFrame([*tables], dict.fromkeys(COUNTS, pl.Int64), orient="row")
    return counts.select(expression).to_series().to_list()


def test_bands_are_exact_at_the_edges():
    kappas, bands = zip(*BANDS_OF_KAPPA.values(), strict=True)
    assert of_tables(BANDS_OF_KAPPA, m.kappa.expression()) == pytest.approx([*kappas], abs=1e-12)
    assert of_tables(BANDS_OF_KAPPA, m.kappa.note_expression()) == [band and f"{band} agreement" for band in bands]
    found = of_tables(BANDS_OF_IMBALANCE, m.class_imbalance.note_expression())
    assert found == [*BANDS_OF_IMBALANCE.values()]
