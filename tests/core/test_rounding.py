"""Rates that equal a level meet it, however they were rounded: held against arithmetic in whole numbers."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.base.rounding import ROUNDING, above, at_least, at_most, below
from streammetrics.metrics import gain, lift, precision_at_recall, recall_at_fpr
from streammetrics.metrics.requirement import Requirement
from streammetrics.reading.thresholds import best_threshold

PERCENTS = [7, 10, 14, 20, 28, 30, 55, 56, 58, 60, 70, 80, 90, 99, *range(1, 98, 8)]
SIZES = range(2, 60, 3)
RANKED = {n: np.random.default_rng(n).permutation(np.repeat([0, 1], [n, 2 + n // 5])) for n in SIZES}
"""Labels in descending order of score, no two scores alike: n negatives, and a few positives."""


def table(weight=1.0, swapped=False):
    """The histograms of all sizes, ``group`` telling them apart, in ascending order of score."""
    labels = {size: label[::-1] ^ swapped for size, label in RANKED.items()}
    parts = [pl.DataFrame({"group": n, "neg": weight * (1 - y), "pos": weight * y}) for n, y in labels.items()]
    return pl.concat(parts)


def read(metrics, rows):
    found = rows.group_by("group", maintain_order=True).agg(m.expression().alias(str(i)) for i, m in enumerate(metrics))
    return found.drop("group").to_numpy()


def along(label):
    """Rows of each class up to every place, from the highest score down."""
    return np.append(0, np.cumsum(1 - label)), np.append(0, np.cumsum(label))


def reached(moved, risen, percent):
    """How far a path has risen where it has moved by some percent of its way, straight between its points."""
    way = percent * moved[-1]
    here = int(np.flatnonzero(100 * moved <= way)[-1])
    part = Fraction(int(way - 100 * moved[here]), int(100 * (moved[here + 1] - moved[here])))
    return int(risen[here]) + part * int(risen[here + 1] - risen[here])


@pytest.mark.whole
@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_readings_at_a_level(weight):
    levels = [p / 100 for p in PERCENTS]
    recalls, gains, lifts = (
        read([metric(**{option: x}) for x in levels], table(weight))
        for metric, option in ((recall_at_fpr, "fpr"), (gain, "top"), (lift, "top"))
    )
    precisions = read([precision_at_recall(recall=x) for x in levels], table(weight, swapped=True))
    for row, label in enumerate(RANKED.values()):
        fp, tp = along(label)
        at_fpr = [float(reached(fp, tp, p) / int(tp[-1])) for p in PERCENTS]
        at_top = [float(reached(fp + tp, tp, p) / int(tp[-1])) for p in PERCENTS]
        assert recalls[row] == pytest.approx(at_fpr, rel=1e-12)
        assert gains[row] == pytest.approx(at_top, rel=1e-12)
        assert lifts[row] == pytest.approx(np.array(at_top) / levels, rel=1e-12)
        fp, tp = (n[1:] for n in along(label ^ 1))
        truth = [(tp / (tp + fp))[100 * tp >= p * tp[-1]].max() for p in PERCENTS]
        assert precisions[row] == pytest.approx(truth, rel=1e-12)


@pytest.mark.whole
@pytest.mark.parametrize("weight", [1.0, 0.1])
@pytest.mark.parametrize("constraint", ["recall >= {}", "fpr <= {}", "recall > {}", "fpr < {}"])
def test_constraints_of_operating_points(constraint, weight):
    rows = table(weight, swapped=True).with_columns(low=pl.int_range(pl.len()).over("group"))
    goal = "precision" if "recall" in constraint else "recall"
    for percent in (10, 29, 30, 57, 70, 90):
        where = constraint.format(percent / 100)
        found = best_threshold({"tied": rows}, maximize=goal, subject_to=where)["value"]
        for value, label in zip(found, RANKED.values(), strict=True):
            fp, tp = along(label ^ 1)
            rate, total = (tp, tp[-1]) if "recall" in constraint else (fp, fp[-1])
            left, right = 100 * rate, percent * total
            meets = {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[where.split()[1]]
            with np.errstate(invalid="ignore"):
                goals = tp / (tp + fp) if goal == "precision" else tp / tp[-1]
            assert value == pytest.approx(np.nanmax(goals[meets]), rel=1e-12), (where, label)


def evaluated(label, score, weight=None):
    batch = {"y": label, "p": score} | ({} if weight is None else {"w": [weight] * len(label)})
    return sm.evaluate(batch, sm.binary(y_true="y", y_score="p", sample_weight=None if weight is None else "w"))


def test_of_thresholds_alike_but_for_rounding_the_highest_is_taken():
    label, score = [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [(20 - i) / 21 for i in range(13)]
    for weight in (None, 0.1, 1 / 3):
        thresholds = evaluated(label, score, weight).operating_point(maximize="youden_j")
        truth = evaluated(label, score).operating_point(maximize="youden_j")
        assert thresholds["threshold"].equals(truth["threshold"])


def test_requirements_of_shares():
    """Shares of n rows, divided in every way that there is."""
    n, k = pl.col("n"), pl.col("k")
    counts = pl.DataFrame({"n": np.repeat(SIZES, SIZES), "k": np.concatenate([np.arange(n) for n in SIZES])})
    for percent in PERCENTS:
        left, right = 100 * k, percent * n
        truth = {">=": left >= right, ">": left > right, "<=": left <= right, "<": left < right}
        for sign, true in truth.items():
            required = Requirement("recall", sign, percent / 100)
            held = [required.holds(share) == true for share in (k / n, k * (1 / n), 1 - (n - k) / n)]
            assert counts.select(pl.all_horizontal(held).all()).item(), required


def test_numbers_within_rounding_of_a_level_equal_it():
    """Rounding is a share of the level, and exactly the level is no distance away, however small it is."""
    for level, away in product((-1e6, -0.3, 0.0, 0.3, 1e6), (0.0, 0.5, 2.0)):
        low, high = level - away * ROUNDING * abs(level), level + away * ROUNDING * abs(level)
        apart = low < level and away > 1
        assert (at_most(high, level), above(high, level)) == (not apart, apart)
        assert (at_least(low, level), below(low, level)) == (not apart, apart)
        assert at_most(low, level)
        assert at_least(high, level)
        assert not above(low, level)
        assert not below(high, level)
    for level in (np.inf, -np.inf):
        compared = [compare(level, level) for compare in (at_most, at_least, above, below)]
        assert compared == [True, True, False, False]
