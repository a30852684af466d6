"""The interval of the ROC AUC: the placements of DeLong, and Newcombe's method if a class has few rows."""

import numpy as np
import polars as pl
import pytest
from influences import limits_of_rows
from scipy.optimize import brentq
from sklearn.metrics import roc_auc_score

from streammetrics.frame import VARIANCE
from streammetrics.intervals.auc import FEW_PLACEMENTS, auc_intervals, newcombe_limit

Z = 1.959963984540054


def rows_of_two_classes(seed, rows, distinct, share=0.3):
    random = np.random.default_rng(seed)
    label = random.random(rows) < share
    score = np.round(random.normal(label * 1.0, 1, rows) * distinct) / distinct
    return label, score


def histogram(label, score):
    rows = pl.DataFrame({"score": score, "neg": ~label, "pos": label})
    return rows.group_by("score").agg(pl.sum("neg", "pos").cast(pl.Int64)).sort("score")


def limits(table, confidence=0.95):
    return auc_intervals(table, confidence=confidence).select("ci_lower", "ci_upper").row(0)


def delong(label, score, confidence=0.95):
    """From the comparison of every positive with every negative."""
    wins = np.sign(score[label][:, None] - score[~label]) / 2 + 0.5
    placements = [wins.mean(1), wins.mean(0)]
    parts = np.array([own.var(ddof=1) / len(own) for own in placements])
    degrees = parts.sum() ** 2 / (parts**2 / (np.array([label.sum(), (~label).sum()]) - 1)).sum()
    auc = roc_auc_score(label, score)
    influences = [(own - auc) / np.sqrt(len(own) * (len(own) - 1)) for own in placements]
    return limits_of_rows(auc, np.concatenate(influences), degrees, confidence, 0, 1)


def near(limits, value):
    """Within 1% of the distance to the value."""
    return pytest.approx(limits, abs=0.01 * abs(limits[0] - value))


@pytest.mark.parametrize("distinct", [0.5, 1, 3, 20, 1e9])
@pytest.mark.parametrize("rows", [150, 900])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_on_a_histogram_it_is_that_of_its_rows(rows, distinct, confidence):
    label, score = rows_of_two_classes(rows, rows, distinct)
    assert min(label.sum(), (~label).sum()) >= FEW_PLACEMENTS
    found = limits(histogram(label, score), confidence)
    assert found == near(delong(label, score, confidence), roc_auc_score(label, score))


def test_the_ratings_of_hanley_and_mcneil_1982():
    """Stata's manual shows the area 0.8932 with DeLong's standard error 0.0307 for these ratings ([R] roctab)."""
    table = pl.DataFrame({"neg": [33, 6, 6, 11, 2], "pos": [3, 2, 2, 11, 33]})
    assert round(auc_intervals(table)[VARIANCE].item() ** 0.5, 4) == 0.0307
    lower, upper = limits(table)
    assert lower < 0.8932 < upper
    assert 0.8932 - lower > upper - 0.8932


def newcombe(auc, positives, negatives, z):
    """Hanley and McNeil's variance for exponential scores, with the mean number of rows for that of each class."""

    def excess(theta):
        both_above, both_below = theta / (2 - theta), 2 * theta**2 / (1 + theta)
        more = (positives + negatives) / 2 - 1
        shared = more * (both_above - theta**2) + more * (both_below - theta**2)
        return (theta - auc) ** 2 - z**2 * (theta * (1 - theta) + shared) / (positives * negatives)

    tiny = 1e-12
    upper = 1.0 if excess(1 - tiny) < 0 else brentq(excess, auc, 1 - tiny, xtol=1e-13)
    return brentq(excess, tiny, min(auc, 1 - tiny), xtol=1e-13), upper


@pytest.mark.parametrize("auc", [0.5, 0.7, 0.8932, 0.999])
@pytest.mark.parametrize(("positives", "negatives"), [(2, 2), (4, 2_000), (51, 58)])
@pytest.mark.parametrize("z", [1.0, Z])
def test_newcombes_limits_lie_z_standard_errors_away(auc, positives, negatives, z):
    values = [np.array([float(x)]) for x in (auc, positives, negatives)]
    found = [newcombe_limit(*values, z, side).item() for side in (-1, 1)]
    assert found == pytest.approx(newcombe(auc, positives, negatives, z), abs=1e-9)


def test_newcombes_limits_of_all_tables_of_a_size():
    """They rise with the AUC, hold it, and those of the classes swapped are the limits of 1 - AUC."""
    auc = np.arange(0, 41) / 40
    eight, five = np.full(41, 8.0), np.full(41, 5.0)
    lower, upper = (newcombe_limit(auc, eight, five, Z, side) for side in (-1, 1))
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert ((lower <= auc) & (auc <= upper)).all()
    swapped = newcombe_limit(1 - auc, five, eight, Z, 1)
    assert lower == pytest.approx(1 - swapped, abs=1e-12)


@pytest.mark.parametrize(("rows", "share"), [(12, 0.4), (60, 0.3), (900, 0.02)])
def test_few_rows_of_a_class_have_the_hull_of_both(rows, share):
    label, score = rows_of_two_classes(rows, rows, 3, share)
    positives, negatives = label.sum(), (~label).sum()
    assert 2 <= positives < FEW_PLACEMENTS
    of_newcombe = newcombe(roc_auc_score(label, score), positives, negatives, Z)
    of_delong = delong(label, score)
    expected = min(of_delong[0], of_newcombe[0]), max(of_delong[1], of_newcombe[1])
    assert limits(histogram(label, score)) == near(expected, roc_auc_score(label, score))


@pytest.mark.parametrize("size", [2, 5, 29, 30, 1_000])
def test_of_classes_apart(size):
    lower, upper = limits(pl.DataFrame({"neg": [size, 0], "pos": [0, size]}))
    below, above = limits(pl.DataFrame({"neg": [0, size], "pos": [size, 0]}))
    assert upper == 1
    assert below == 0
    assert 1 - lower == pytest.approx(above)
    assert lower == pytest.approx(newcombe(1.0, size, size, Z)[0], abs=1e-9)


@pytest.mark.parametrize(
    ("neg", "pos"), [([], []), ([3, 2], [0, 0]), ([1, 0], [0, 5]), ([1, 2, 0], [1, 0, 0]), ([0, 1], [0, 50])], ids=str
)
def test_where_there_is_no_interval(neg, pos):
    table = pl.DataFrame({"neg": neg, "pos": pos}, schema={"neg": pl.Int64, "pos": pl.Int64})
    assert limits(table) == (None, None)


def test_scores_that_are_all_tied_tell_nothing():
    lower, upper = limits(pl.DataFrame({"neg": [4], "pos": [5]}))
    assert (lower, upper) == pytest.approx(newcombe(0.5, 5, 4, Z), abs=1e-9)
