"""Wilson's interval, which metrics it is for, and the interval of a sum of proportions."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from streammetrics.intervals.proportions import as_proportion, sum_interval, wilson_interval
from streammetrics.metrics import all_metrics
from streammetrics.metrics.ratios import cost

Z = 1.959963984540054
CELLS = ("tp", "fp", "fn", "tn")
OF_CELLS = [
    m for m in all_metrics() if set(m.columns) <= set(CELLS) and m.__module__.startswith("streammetrics.metrics")
]
TABLES = [(30, 10, 20, 40), (94, 50, 6, 850), (1, 2, 3, 4), (20, 180, 10, 1820), (10**9, 10**5, 7, 10**8), (5, 5, 1, 9)]


def table_of(*tables):
    return pl.DataFrame(tables, schema=dict.fromkeys(CELLS, pl.Float64), orient="row")


def wilson(count, total, confidence=0.95):
    table = pl.DataFrame({"k": [count], "n": [total]})
    return table.select(wilson_interval(pl.col("k"), pl.col("n"), confidence)).row(0)


@pytest.mark.parametrize(
    ("count", "total", "published"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0.0, 0.1611)), (1, 29, (0.0061, 0.1718))],
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


def sums(*shares, factor=1.0, shift=0.0, confidence=0.95):
    """The interval of a sum of proportions, given as counts and totals."""
    columns = {f"{what}{i}": [x] for i, share in enumerate(shares) for what, x in zip("kn", share, strict=True)}
    pairs = [(pl.col(f"k{i}"), pl.col(f"n{i}")) for i in range(len(shares))]
    return pl.DataFrame(columns).select(sum_interval(pairs, factor, shift, confidence)).row(0)


@pytest.mark.parametrize(
    ("first", "second", "published"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0000)),
        ((10, 10), (0, 10), (0.6075, 1.0000)),
    ],
    ids=str,
)
def test_differences_as_published_by_newcombe_1998(first, second, published):
    """A difference of two proportions is the sum of the one and of the share of the others, less 1 (method 10)."""
    count, total = second
    found = sums(first, (total - count, total), shift=-1.0)
    assert tuple(round(x, 4) for x in found) == published


def test_a_sum_of_one_proportion_is_that_of_wilson():
    assert sums((81, 263), confidence=0.9) == pytest.approx(wilson(81, 263, 0.9), rel=1e-12)
    lower, upper = wilson(81, 263)
    assert sums((81, 263), factor=3.0, shift=-1.0) == pytest.approx((3 * lower - 1, 3 * upper - 1), rel=1e-12)


def test_sums_of_more_proportions_are_wider_as_the_root_of_their_number():
    """Means of equal proportions of many rows, about which limits lie evenly."""
    (lower, upper), (low, high) = (sums(*[(500_000, 10**6)] * n, factor=1 / n) for n in (1, 9))
    assert (high - low) == pytest.approx((upper - lower) / 3, rel=1e-9)


def test_sums_without_rows_of_one_have_no_interval():
    assert sums((3, 9), (0, 0)) == (None, None)
    assert None not in sums((3, 9), (0, 1))


@pytest.mark.parametrize("rows", [(4, 2_000), (40, 60), (10, 10)], ids=str)
def test_intervals_of_sums_hold_the_truth(rows):
    """Over all tables there are, with the probability of each; the mean over many truths, as coverage is uneven."""
    numbers = [np.arange(n + 1) for n in rows]
    counts = pl.DataFrame({"a": np.repeat(numbers[0], len(numbers[1])), "b": np.tile(numbers[1], len(numbers[0]))})
    shares = [(pl.col(c), pl.lit(n)) for c, n in zip("ab", rows, strict=True)]
    lower, upper = counts.select(sum_interval(shares, 0.5, 0.0, 0.95)).to_numpy().T
    truths = np.linspace(0.03, 0.98, 12)
    chances = [stats.binom.pmf(number, n, truths[:, None]) for number, n in zip(numbers, rows, strict=True)]
    covered = [
        (((lower <= (p + q) / 2) & ((p + q) / 2 <= upper)) @ np.outer(of_p, of_q).ravel())
        for p, of_p in zip(truths, chances[0], strict=True)
        for q, of_q in zip(truths, chances[1], strict=True)
    ]
    assert 0.94 <= np.mean(covered) <= 0.97
