"""Differences and ratios between groups: intervals, a reference, and the published COMPAS rates."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from test_segments import CELLS, from_counts, labelled

import streammetrics as sm

# ProPublica (2016), two-year recidivism, medium or high score against low: tp, fp, fn, tn
COMPAS = {"Black": (1369, 805, 532, 990), "White": (505, 349, 461, 1139)}


def report_of(cells, confidence=0.95, column="race"):
    acc = sm.binary(y_true="y", y_pred="z", by=column).update(from_counts(cells, column))
    return acc.finalize(confidence=confidence)


def wilson(count, rows):
    return stats.binomtest(count, rows).proportion_ci(0.95, "wilson")


@pytest.mark.parametrize(
    ("metric", "black", "white", "published"),
    [("fpr", (805, 1795), (349, 1488), (44.85, 23.45)), ("fnr", (532, 1901), (461, 966), (27.99, 47.72))],
)
def test_the_published_rates_of_compas(metric, black, white, published):
    gap = report_of(COMPAS).gaps(metric, over="race", reference="White").row(0, named=True)
    assert (gap["race"], gap["reference"], gap["rows"]) == ("Black", "White", 3696)
    assert (round(100 * gap["value"], 2), round(100 * gap["reference_value"], 2)) == published
    assert gap["difference"] == gap["difference_lower"] == pytest.approx(black[0] / black[1] - white[0] / white[1])
    assert gap["ratio"] == gap["ratio_upper"] == pytest.approx(black[0] / black[1] / (white[0] / white[1]))
    (l1, u1), (l2, u2), p1, p2 = wilson(*black), wilson(*white), black[0] / black[1], white[0] / white[1]
    assert gap["difference_ci_lower"] == pytest.approx(p1 - p2 - np.hypot(p1 - l1, u2 - p2))
    assert gap["difference_ci_upper"] == pytest.approx(p1 - p2 + np.hypot(u1 - p1, p2 - l2))
    error = np.sqrt(1 / black[0] - 1 / black[1] + 1 / white[0] - 1 / white[1])  # of the logarithm of the ratio
    assert gap["ratio_ci_lower"] == pytest.approx(p1 / p2 * np.exp(-1.96 * error), rel=0.005)
    assert gap["ratio_ci_upper"] == pytest.approx(p1 / p2 * np.exp(1.96 * error), rel=0.005)


def test_the_highest_and_the_lowest_are_those_of_a_reference():
    report = report_of(COMPAS)
    (extremes,), (other,) = (report.gaps("fpr", over="race", **r).to_dicts() for r in ({}, {"reference": "White"}))
    (inverse,) = report.gaps("fpr", over="race", reference="Black").to_dicts()
    assert (extremes["highest"], extremes["lowest"]) == ("Black", "White")
    for end in ("", "_ci_lower", "_ci_upper"):
        assert extremes[f"difference{end}"] == pytest.approx(other[f"difference{end}"])
        assert extremes[f"ratio{end}"] == pytest.approx(inverse[f"ratio{end}"])
    assert other["ratio_ci_lower"] == pytest.approx(1 / inverse["ratio_ci_upper"])
    assert other["difference_ci_lower"] == pytest.approx(-inverse["difference_ci_upper"])


def test_fairness_against_a_reference():
    found = report_of(CELLS, column="gender").fairness(over="gender", reference="f")
    assert found.columns[:7] == ["gender", "threshold", "criterion", "metric", "reference", "rows", "value"]
    assert found["gender"].to_list() == ["m"] * 5 + ["x"] * 5
    odds = found.filter(gender="m", criterion="equalized_odds")
    assert odds["metric"].to_list() == ["recall", "fpr"]
    assert odds["difference"].to_list() == pytest.approx([0.9 - 0.6, 0.4 - 0.2])
    assert odds["ratio"].to_list() == pytest.approx([1.5, 2.0])
    assert found["difference"].is_between(found["difference_ci_lower"], found["difference_ci_upper"]).all()
    assert found["ratio"].is_between(found["ratio_ci_lower"], found["ratio_ci_upper"]).all()


def test_fairness_has_the_intervals_of_its_metrics():
    report = report_of({"f": (8, 600, 2, 400), "m": (4, 330, 6, 670)}, column="gender")
    for row in report.fairness(over="gender").to_dicts():
        assert row.pop("criterion")
        assert row == report.gaps(row["metric"], over="gender").row(0, named=True)
    plain = report_of(CELLS, None, "gender").fairness(over="gender")
    assert not [c for c in plain.columns if "_ci_" in c]


def test_odd_references():
    report = report_of({"a": (5, 0, 0, 5), "b": (0, 4, 0, 6), "c": (0, 2, 2, 4)}, column="g")
    recall = report.gaps("recall", over="g", reference="a").to_dicts()
    assert [r["value"] for r in recall] == [None, 0.0]
    assert recall[0]["difference"] is None
    assert recall[0]["note"] == "0/0"
    assert (recall[1]["ratio"], recall[1]["ratio_ci_lower"]) == (0.0, 0.0)
    assert 0 < recall[1]["ratio_ci_upper"] <= 1.2
    fpr = report.gaps("fpr", over="g", reference="a").to_dicts()  # which is 0
    assert fpr[0]["ratio"] == np.inf
    assert fpr[0]["ratio_ci_upper"] in (None, np.inf)
    (alone,) = report.gaps("fnr", over="g", g="a").to_dicts()
    assert (alone["difference"], alone["difference_ci_lower"]) == (0.0, None)
    assert report.gaps("mcc", over="g", reference="a").filter(g="c")["ratio"].item() is None  # of a negative value


def test_references_by_model_threshold_and_other_columns():
    scores = {"one": "p", "two": "q"}
    acc = sm.binary(y_true="y", y_score=scores, by=["h", "g"], thresholds=(0.2, 0.7)).update(labelled())
    report = acc.finalize(confidence=0.9)
    found = report.gaps("recall", over="h", reference=1)
    assert found.columns[:5] == ["h", "g", "model", "threshold", "metric"]
    assert found.height == 2 * 7 * 2 * 2
    row = found.filter(pl.col("g").is_null(), h=2, model="two", threshold=0.7).row(0, named=True)
    one, other = (report.get("recall", g=None, h=h, model="two", threshold=0.7) for h in (2, 1))
    assert row["difference"] == pytest.approx(one.value - other.value)
    assert row["difference_ci_lower"] < row["difference"] < row["difference_ci_upper"]


@pytest.mark.parametrize(
    ("rates", "rows"), [((0.3, 0.5), (60, 90)), ((0.04, 0.02), (300, 500)), ((0.9, 0.9), (50, 50))]
)
def test_intervals_hold_the_truth(rates, rows):
    rng = np.random.default_rng(0)
    samples = 800
    parts = [
        pl.DataFrame({"s": np.repeat(np.arange(samples), n), "g": g, "z": rng.random(samples * n) < rate})
        for g, rate, n in zip("ab", rates, rows, strict=True)
    ]
    acc = sm.predictions(y_pred="z", by=["s", "g"]).update(pl.concat(parts))
    found = acc.finalize(confidence=0.9).gaps("predicted_positive_rate", over="g", reference="b")
    for measure, truth in (("difference", rates[0] - rates[1]), ("ratio", rates[0] / rates[1])):
        lower, upper = (found[f"{measure}_ci_{end}"] for end in ("lower", "upper"))
        covered = ((lower <= truth) & (truth <= upper.fill_null(np.inf))).mean()
        assert 0.865 <= covered <= 0.945, (measure, covered)
