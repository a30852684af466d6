import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

from streammetrics.metrics import agreement, all_metrics
from streammetrics.metrics.agreement import kappa, majority_accuracy, mcc, normalized_accuracy
from streammetrics.metrics.ratios import (
    accuracy,
    cost,
    diagnostic_odds_ratio,
    f1,
    fbeta,
    negative_likelihood_ratio,
    positive_likelihood_ratio,
    precision,
    predicted_positives,
    support,
)
from streammetrics.uncertainty import as_proportion, delta_intervals, effective_rows, wilson_interval
from streammetrics.uncertainty import delta as delta_module

Z = 1.959963984540054
CELLS = ("tp", "fp", "fn", "tn")
OF_CELLS = [
    m for m in all_metrics() if set(m.columns) <= set(CELLS) and m.__module__.startswith("streammetrics.metrics")
]
TABLES = [(30, 10, 20, 40), (94, 50, 6, 850), (1, 2, 3, 4), (20, 180, 10, 1820), (10**9, 10**5, 7, 10**8), (5, 5, 1, 9)]


def table_of(*tables):
    return pl.DataFrame(tables, schema=dict.fromkeys(CELLS, pl.Float64), orient="row")


def wilson(count, total, confidence=0.95, rows=None):
    table = pl.DataFrame({"k": [count], "n": [total], "rows": [rows]}, schema_overrides={"rows": pl.Float64})
    rows = None if rows is None else pl.col("rows")
    return table.select(wilson_interval(pl.col("k"), pl.col("n"), confidence, rows)).row(0)


def delta(metric, *cells):
    return delta_intervals(table_of(cells), [metric]).row(0)[1:]


@pytest.mark.parametrize(
    ("count", "total", "published"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_wilson_as_published_by_newcombe_1998(count, total, published):
    assert tuple(round(x, 4) for x in wilson(count, total)) == published


@pytest.mark.parametrize(("count", "total"), [(1, 2), (3, 10), (50, 51), (123_456, 10**6), (1, 10**12)])
@pytest.mark.parametrize(("confidence", "z"), [(0.95, Z), (0.99, 2.5758293035489004)])
def test_wilson_limits_are_the_proportions_that_are_just_not_rejected(count, total, confidence, z):
    share = count / total
    lower, upper = wilson(count, total, confidence)
    assert 0 < lower < share < upper < 1
    for p in (lower, upper):
        assert abs(share - p) == pytest.approx(z * math.sqrt(p * (1 - p) / total), rel=1e-9)


def test_wilson_at_the_ends():
    for total in (1, 2, 7, 1_000, 10**15):
        edge = Z**2 / (total + Z**2)
        assert wilson(0, total) == (0, pytest.approx(edge, rel=1e-12))
        assert wilson(total, total) == (pytest.approx(1 - edge, rel=1e-9, abs=1e-15), 1)
    assert wilson(0, 0) == (None, None)


def test_wilson_of_weighted_rows():
    weights = np.array([1.0, 1, 2, 4, 0.5])
    table = pl.DataFrame({"w": weights})
    rows = table.select(effective_rows(pl.col("w").sum(), (pl.col("w") ** 2).sum())).item()
    assert rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert wilson(3.0, 8.5, rows=rows) == pytest.approx(wilson(3 / 8.5 * rows, rows), rel=1e-12)
    assert wilson(20.0, 200.0, rows=100.0) == pytest.approx(wilson(10, 100), rel=1e-12)
    assert wilson(20.0, 200.0, rows=math.nan) == (None, None)
    unknown = pl.DataFrame({"k": [20.0], "n": [200.0]}).select(
        wilson_interval(pl.col("k"), pl.col("n"), rows=pl.lit(None, pl.Float64))
    )
    assert unknown.row(0) == (None, None)


def test_which_metrics_are_proportions():
    assert {m.name for m in OF_CELLS if as_proportion(m)} == {
        *("accuracy", "error_rate", "prevalence", "predicted_positive_rate", "jaccard"),
        *("precision", "fdr", "npv", "false_omission_rate", "recall", "fnr", "specificity", "fpr"),
        "cost",  # with its defaults, the error rate
    }
    assert as_proportion(cost(fp=1, fn=10)) is None
    for m in OF_CELLS:
        if proportion := as_proportion(m):
            count, total = table_of(*TABLES).select(count=proportion[0], total=proportion[1])
            assert (count / total).to_list() == table_of(*TABLES).select(m.expression()).to_series().to_list()


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
    width, share = high - low, (value - low) / (high - low)
    return low + width * expit(logit(share) + step / width / (share * (1 - share)))


SMOOTH = [
    *(m for m in OF_CELLS if m.name not in ("majority_accuracy", "normalized_accuracy", "class_imbalance", "support")),
    fbeta(beta=2),
    cost(tp=-2, fp=3, fn=10),
]


@pytest.mark.parametrize("metric", SMOOTH, ids=str)
def test_delta_of_every_metric_follows_its_exact_gradient(metric, monkeypatch):
    monkeypatch.setattr(agreement, "each_near_one", lambda formula, *counts: formula(*counts))  # they are near enough
    for cells in TABLES:
        n = sum(cells)
        derivatives = [complex_step(metric, cells, c) for c in CELLS]
        value, (*changes,) = derivatives[0][0], (d for _, d in derivatives)
        shares, gradient = np.array(cells) / n, np.array(changes) * n / np.array(cells)
        error = math.sqrt((shares @ gradient**2 - (shares @ gradient) ** 2) / n)
        expected = [on_the_scale_of(metric.range, value, side * Z * error) for side in (-1, 1)]
        assert delta(metric, *cells) == pytest.approx(expected, rel=1e-7), cells


def test_delta_of_a_proportion_has_the_binomial_variance():
    p, n = 0.7, 100
    step = Z * math.sqrt(p * (1 - p) / n) / (p * (1 - p))
    assert delta(accuracy, 30, 10, 20, 40) == pytest.approx([expit(logit(p) - step), expit(logit(p) + step)], rel=1e-9)


def test_delta_of_likelihood_and_odds_ratios_is_the_log_method():
    tp, fp, fn, tn = 20, 180, 10, 1820
    errors = {  # Simel, Samsa & Matchar 1991; Woolf 1955
        positive_likelihood_ratio: 1 / tp - 1 / (tp + fn) + 1 / fp - 1 / (fp + tn),
        negative_likelihood_ratio: 1 / fn - 1 / (tp + fn) + 1 / tn - 1 / (fp + tn),
        diagnostic_odds_ratio: 1 / tp + 1 / fp + 1 / fn + 1 / tn,
    }
    for metric, variance in errors.items():
        factor = math.exp(Z * math.sqrt(variance))
        value = metric(*(c for c in (tp, fp, fn, tn)))
        assert delta(metric, tp, fp, fn, tn) == pytest.approx((value / factor, value * factor), rel=1e-9)


def test_delta_of_kappa_has_the_variance_of_fleiss_cohen_and_everitt_1969():
    cells, n = np.array([[0.40, 0.15], [0.10, 0.35]]), 200
    row, column = cells.sum(axis=1), cells.sum(axis=0)
    observed, chance = np.trace(cells), row @ column
    k = (observed - chance) / (1 - chance)
    diagonal = sum(cells[i, i] * (1 - (row[i] + column[i]) * (1 - k)) ** 2 for i in range(2))
    rest = (1 - k) ** 2 * sum(cells[i, j] * (column[i] + row[j]) ** 2 for i in range(2) for j in range(2) if i != j)
    variance = (diagonal + rest - (k - chance * (1 - k)) ** 2) / (n * (1 - chance) ** 2)
    step = Z * math.sqrt(variance) / (1 - k**2)
    tp, fn, fp, tn = (cells * n).ravel()
    assert delta(kappa, tp, fp, fn, tn) == pytest.approx([np.tanh(np.arctanh(k) + s) for s in (-step, step)], rel=1e-9)


def test_delta_agrees_with_the_spread_of_drawn_tables():
    shares, n = np.array([0.25, 0.08, 0.12, 0.55]), 5_000
    drawn = table_of(*np.random.default_rng(3).multinomial(n, shares, 20_000))
    for metric in (f1, mcc, kappa, precision):
        lower, upper = delta(metric, *(shares * n))
        spread = drawn.select(metric.expression()).to_series().std()
        assert (upper - lower) / (2 * Z) == pytest.approx(spread, rel=0.02), metric


def test_delta_of_the_larger_class():
    lower, upper = delta(majority_accuracy, 30, 10, 10, 50)
    p = 0.6
    step = Z * math.sqrt(p * (1 - p) / 100) * 0.5 / ((p - 0.5) * (1 - p))
    assert (lower, upper) == pytest.approx([0.5 + 0.5 * expit(logit(0.2) + s) for s in (-step, step)], rel=1e-9)
    for metric in (majority_accuracy, normalized_accuracy):
        assert delta(metric, 30, 20, 20, 30) == (None, None)


@pytest.mark.parametrize(
    ("metric", "cells"),
    [
        (f1, (5, 0, 0, 4)),
        (f1, (0, 3, 2, 4)),
        (f1, (0, 0, 0, 9)),
        (precision, (0, 0, 3, 4)),
        (positive_likelihood_ratio, (20, 0, 10, 2000)),
        (diagnostic_odds_ratio, (20, 0, 10, 0)),
        (mcc, (3, 1, 0, 0)),
        (support, (3, 1, 5, 7)),
        (support, (10**6, 1, 3, 0)),
        (accuracy, (0, 0, 0, 0)),
    ],
    ids=str,
)
def test_where_the_delta_method_has_no_interval(metric, cells):
    assert delta(metric, *cells) == (None, None)


def test_what_does_not_vary_has_no_interval():
    tables = np.random.default_rng(0).random((200, 4)) * 1_000  # such sums round
    assert delta_intervals(table_of(*tables.tolist()), [support])["ci_lower"].is_null().all()


def test_cells_without_rows_do_no_harm():
    for metric in (f1, mcc, kappa):
        for empty in range(4):
            lower, upper = delta(metric, *(0 if i == empty else 20 + i for i in range(4)))
            value = metric(*(0 if i == empty else 20 + i for i, c in enumerate(CELLS) if c in metric.columns))
            if value:
                assert lower < value < upper


def test_delta_of_counts_takes_the_number_of_rows_as_given():
    lower, upper = delta(predicted_positives, 30, 10, 20, 40)
    assert math.log(upper / lower) / (2 * Z) == pytest.approx(math.sqrt(100 * 0.4 * 0.6) / 40, rel=1e-9)


def test_delta_of_weighted_rows():
    weighted = table_of((60, 20, 40, 80), (60, 20, 40, 80)).with_columns(rows=pl.Series([100, None]))
    found = delta_intervals(weighted, [f1], rows="rows").rows()
    assert found[0][1:] == pytest.approx(delta(f1, 30, 10, 20, 40), rel=1e-9)
    assert found[1] == ("f1", None, None)


def test_many_tables_and_metrics_at_once(monkeypatch):
    metrics = [mcc, f1, diagnostic_odds_ratio]
    table = table_of(*TABLES).cast(pl.Int64).with_columns(day=pl.Series([3, 1, None, 1, 1, 2]), threshold=pl.lit(0.5))
    expected = [(day, 0.5, m.name, *delta(m, *cells)) for *cells, day, _ in table.rows() for m in metrics]
    for rows in (delta_module.ROWS, 2):
        monkeypatch.setattr(delta_module, "ROWS", rows)
        assert delta_intervals(table, metrics, by=["day", "threshold"]).rows() == expected


def test_no_tables():
    found = delta_intervals(table_of().with_columns(day=pl.lit("monday")), [f1, mcc], by=["day"])
    assert dict(found.schema) == {"day": pl.String, "metric": pl.String} | dict.fromkeys(
        ["ci_lower", "ci_upper"], pl.Float64
    )
    assert found.is_empty()
    assert delta_intervals(table_of(*TABLES), []).is_empty()
