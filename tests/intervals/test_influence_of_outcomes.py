"""Intervals of metrics of the 2x2 table that are no proportions, against exact gradients and published formulas."""

import math

import numpy as np
import polars as pl
import pytest

from streammetrics.intervals.influence import counted, influence_intervals
from streammetrics.intervals.methods import method_of
from streammetrics.intervals.smooth import Influence
from streammetrics.metrics import agreement, all_metrics
from streammetrics.metrics.agreement import kappa, mcc, normalized_accuracy
from streammetrics.metrics.ratios import (
    cost,
    diagnostic_odds_ratio,
    f1,
    fbeta,
    negative_likelihood_ratio,
    positive_likelihood_ratio,
)

Z = 1.959963984540054
CELLS = ("tp", "fp", "fn", "tn")
ADDED = 0.5
TABLES = [
    (3_000, 1_000, 2_000, 4_000),
    (940, 500, 60, 8_500),
    (2_000, 18_000, 1_000, 182_000),
    (10**9, 10**5, 7, 10**8),
]
SMOOTH = [
    *(
        m
        for m in all_metrics()
        if {*m.columns} <= {*CELLS} and isinstance(method_of(m), Influence) and m is not normalized_accuracy
    ),
    fbeta(beta=2),
    cost(tp=-2, fp=3, fn=10),
]


def intervals(tables, metrics, **options):
    table = pl.DataFrame(tables, schema=dict.fromkeys(CELLS, pl.Float64), orient="row")
    expressions = {m.name: m.expression() for m in metrics}
    found = influence_intervals(
        table.with_row_index("group"), metrics, counted(*CELLS), lambda copies: copies.select(**expressions), **options
    )
    return found.select("ci_lower", "ci_upper").rows()


def limits(metric, *cells, added=ADDED):
    return intervals([cells], [metric], added=added)[0]


class Complex(np.ndarray):
    """Complex numbers with the methods of expressions that formulas use."""

    def sqrt(self):
        return np.sqrt(self)


def complex_step(metric, cells, cell):
    """The metric and x df/dx, exact but for the last digits."""
    columns = {c: np.array(complex(x)).view(Complex) for c, x in zip(CELLS, cells, strict=True)}
    columns[cell] = columns[cell] * (1 + 1e-40j)
    options = {name: metric.options[name.rstrip("_")] for name in metric.formula.__kwdefaults__ or {}}
    value = complex(metric.formula(*(columns[c] for c in metric.columns), **options))
    return value.real, value.imag / 1e-40


def on_the_scale_of(range, value, step):
    low, high = range
    if math.isinf(low) and math.isinf(high):
        return value + step
    if math.isinf(high):
        return low + math.exp(math.log(value - low) + step / (value - low))
    return value + step


@pytest.mark.parametrize("metric", SMOOTH, ids=str)
def test_every_metric_follows_its_exact_gradient(metric, monkeypatch):
    monkeypatch.setattr(agreement, "each_near_one", lambda formula, *counts: formula(*counts))  # they are near enough
    for cells in TABLES:
        filled = np.array(cells) + ADDED
        derivatives = [complex_step(metric, filled, c) for c in CELLS]
        value, changes = derivatives[0][0], np.array([d for _, d in derivatives])
        error = math.sqrt((changes**2 / filled).sum() - changes.sum() ** 2 / filled.sum())
        lower, upper = (on_the_scale_of(metric.range, value, side * Z * error) for side in (-1, 1))
        room = 0.1 if min(cells) > 30 else 0.6  # few rows have a skewed influence
        assert limits(metric, *cells) == pytest.approx((lower, upper), abs=room * (upper - lower)), cells


def test_likelihood_and_odds_ratios_have_the_log_method():
    tp, fp, fn, tn = cells = (200, 1800, 100, 18200)
    errors = {  # Simel, Samsa & Matchar 1991; Woolf 1955
        positive_likelihood_ratio: 1 / tp - 1 / (tp + fn) + 1 / fp - 1 / (fp + tn),
        negative_likelihood_ratio: 1 / fn - 1 / (tp + fn) + 1 / tn - 1 / (fp + tn),
        diagnostic_odds_ratio: 1 / tp + 1 / fp + 1 / fn + 1 / tn,
    }
    for metric, variance in errors.items():
        lower, upper = limits(metric, *cells, added=0.0)
        assert lower * upper == pytest.approx(metric(*cells) ** 2, rel=0.03)
        assert math.log(upper / lower) / (2 * Z) == pytest.approx(math.sqrt(variance), rel=0.05)


def test_kappa_has_the_variance_of_fleiss_cohen_and_everitt_1969():
    cells, n = np.array([[0.40, 0.15], [0.10, 0.35]]), 2_000
    row, column = cells.sum(axis=1), cells.sum(axis=0)
    observed, chance = np.trace(cells), row @ column
    k = (observed - chance) / (1 - chance)
    diagonal = sum(cells[i, i] * (1 - (row[i] + column[i]) * (1 - k)) ** 2 for i in range(2))
    rest = (1 - k) ** 2 * sum(cells[i, j] * (column[i] + row[j]) ** 2 for i in range(2) for j in range(2) if i != j)
    variance = (diagonal + rest - (k - chance * (1 - k)) ** 2) / (n * (1 - chance) ** 2)
    lower, upper = limits(kappa, *(cells * n).ravel()[[0, 2, 1, 3]], added=0.0)
    assert (upper + lower) / 2 == pytest.approx(k, rel=0.01)
    assert (upper - lower) / (2 * Z) == pytest.approx(math.sqrt(variance), rel=0.02)


@pytest.mark.parametrize("metric", [f1, mcc, kappa], ids=str)
@pytest.mark.parametrize("cells", [(5, 0, 0, 40), (0, 3, 9, 40), (20, 0, 7, 30), (20, 30, 0, 40)], ids=str)
def test_cells_without_rows_do_no_harm(metric, cells):
    value = metric(*(x for x, c in zip(cells, CELLS, strict=True) if c in metric.columns))
    lower, upper = limits(metric, *cells)
    assert metric.range[0] <= lower <= value <= upper <= metric.range[1]
    assert lower < upper


def test_classes_without_rows_have_no_interval():
    for metric in (f1, mcc, kappa, diagnostic_odds_ratio):
        assert limits(metric, 0, 3, 0, 40) == limits(metric, 4, 0, 9, 0) == (None, None)


def test_infinite_ratios_have_a_lower_limit():
    lower, upper = limits(diagnostic_odds_ratio, 20, 0, 7, 30)
    assert 0 < lower < diagnostic_odds_ratio(20.5, 0.5, 7.5, 30.5)
    assert upper == math.inf
