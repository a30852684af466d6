"""Many groups: the worst of them, how far they differ, with intervals, and fairness."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import streammetrics as sm


def labelled(count=4_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(count)
    return pl.DataFrame(
        {
            "p": p,
            "q": rng.random(count),
            "y": rng.random(count) < p,
            "g": pl.Series([*"abcdef", None]).gather(rng.integers(0, 7, count)),
            "h": rng.integers(0, 3, count),
        }
    )


def report_of(data, by="g", confidence=None, **options):
    return sm.binary(y_true="y", y_score="p", by=by, **options).update(data).finalize(confidence=confidence)


def of_counts(cells, column="g", confidence=None):
    """The report of hard predictions with these confusion counts."""
    return (
        sm.binary(y_true="y", y_pred="z", by=column).update(from_counts(cells, column)).finalize(confidence=confidence)
    )


def from_counts(cells, column="gender"):
    """Rows of y, z from the 2x2 table of each value: tp, fp, fn, tn."""
    parts = [
        pl.DataFrame({column: [value] * n, "y": [y] * n, "z": [z] * n})
        for value, table in cells.items()
        for n, (y, z) in zip(table, ((1, 1), (0, 1), (1, 0), (0, 0)), strict=True)
    ]
    return pl.concat(p.cast({"y": pl.Int64, "z": pl.Int64, column: pl.String}) for p in parts)


@pytest.mark.parametrize(("metric", "high"), [("roc_auc", True), ("log_loss", False), ("precision", True)])
def test_worst_and_best_are_the_sorted_frame(metric, high):
    report = report_of(labelled())
    ranked = report.rows(metric).sort("value", descending=not high)
    worst, best = report.worst(metric, n=4), report.best(metric, n=4)
    assert worst.drop("rows").equals(ranked.head(4))
    assert best["value"].to_list() == ranked["value"].reverse()[:4].to_list()
    assert worst.columns == ["g", "threshold", "metric", "value", "rows", "lower", "upper", "status", "note"]
    counts = dict(labelled().group_by("g").len().iter_rows())
    assert worst["rows"].to_list() == [counts[g] for g in worst["g"]]
    assert report.worst(metric, n=100).height == 7
    assert report.worst(metric, n=0).is_empty()


def test_tiny_segments_lead_by_chance():
    """A group of three rows that are all wrong against a large one that is bad."""
    cells = {"tiny": (0, 2, 1, 0), "bad": (300, 200, 200, 300), "good": (450, 50, 50, 450)}
    report = of_counts(cells, confidence=0.95)
    assert report.worst("accuracy")["g"].to_list() == ["tiny", "bad", "good"]
    assert report.worst("accuracy", min_rows=100)["g"].to_list() == ["bad", "good"]
    by_bound = report.worst("accuracy", by_bound=True)
    assert by_bound["g"].to_list() == ["tiny", "bad", "good"]  # none of three is bad for certain
    assert by_bound["ci_upper"].is_sorted()
    assert report.worst("error_rate", by_bound=True)["ci_lower"].is_sorted(descending=True)
    assert report.best("accuracy", by_bound=True)["ci_lower"].is_sorted(descending=True)
    assert report.best("error_rate", by_bound=True)["ci_upper"].is_sorted()
    two = of_counts({"tiny": (0, 1, 0, 0), "bad": cells["bad"]}, confidence=0.95)
    assert two.worst("accuracy")["g"][0] == "tiny"
    assert two.worst("accuracy", by_bound=True)["g"][0] == "bad"
    equal = of_counts({"a": (1, 1, 1, 1), "b": (2, 2, 2, 2)})  # of which the larger comes first
    assert equal.worst("accuracy")["g"].to_list() == ["b", "a"]


def test_keys_models_and_undefined_groups():
    data = labelled()
    scores = {"one": "p", "two": "q"}
    acc = sm.binary(y_true="y", y_score=scores, by="g", thresholds=(0.2, 0.7), nulls="drop")
    report = acc.update(data).update({"y": [None], "p": [0.5], "q": [0.5], "g": ["void"]}).finalize()
    found = report.worst("recall", n=100, threshold=0.7, model="one", min_rows=0)
    assert found.height == 7  # a group without rows has no recall
    assert set(found["threshold"]) == {0.7}
    assert report.worst("recall", n=100).height == 7 * 2 * 2
    assert report.worst("roc_auc", n=1)["model"].item() == "two"
    total = report_of(data, by=())
    assert total.worst("roc_auc")["rows"].to_list() == [4_000]


def test_gaps_against_brute_force():
    data = labelled()
    report = report_of(data, by=["g", "h"])
    gaps = report.gaps("roc_auc", over="h", min_rows=10)
    assert gaps["g"].to_list() == [*"abcdef", None]
    for row in gaps.iter_rows(named=True):
        groups = [h for h in range(3) if report.get("rows", g=row["g"], h=h).value >= 10]
        values = {h: report.get("roc_auc", g=row["g"], h=h).value for h in groups}
        highest, lowest = max(values, key=values.get), min(values, key=values.get)
        assert (row["highest"], row["lowest"]) == (highest, lowest)
        assert (row["max"], row["min"]) == (values[highest], values[lowest])
        assert row["difference"] == row["difference_lower"] == row["difference_upper"] == row["max"] - row["min"]
        assert row["ratio"] == row["ratio_lower"] == row["ratio_upper"] == row["min"] / row["max"]
    one = report_of(data, by="h").gaps("roc_auc", over="h")
    assert one.height == 1
    assert one.columns[0] == "threshold"


@pytest.mark.parametrize("seed", [1, 0, 2, 3])
def test_bounds_of_gaps_hold(seed):
    """Coarse bins against exact ones."""
    data = labelled(600, seed)
    coarse, exact = (report_of(data, by=["h", "g"], capacity=c) for c in (8, 4_096))
    for reference in ({"reference": "a"}, {}):
        wide, truth = (report.gaps("roc_auc", over="g", **reference) for report in (coarse, exact))
        for name in ("difference", "ratio"):
            inside = truth[name].is_between(wide[f"{name}_lower"] - 1e-12, wide[f"{name}_upper"] + 1e-12)
            assert inside.all()
            assert (wide[f"{name}_lower"] < wide[f"{name}_upper"]).all()
            assert wide[name].is_between(wide[f"{name}_lower"], wide[f"{name}_upper"], "none").all()
    assert wide["difference_lower"].min() >= 0
    assert wide["ratio_upper"].max() <= 1


def test_gaps_of_odd_values():
    cells = {"a": (5, 0, 0, 5), "b": (0, 4, 0, 6), "c": (2, 2, 2, 4)}
    report = of_counts(cells)
    recall = report.gaps("recall", over="g").row(0, named=True)
    assert recall["note"] == "undefined for 1 of 3 values of g"
    assert (recall["highest"], recall["lowest"], recall["difference"], recall["ratio"]) == ("a", "c", 0.5, 0.5)
    mcc = report.gaps("mcc", over="g").row(0, named=True)
    assert mcc["difference"] == pytest.approx(1 - 4 / 24)
    zero = report.gaps("fnr", over="g", min_rows=10).row(0, named=True)
    assert (zero["max"], zero["min"], zero["ratio"]) == (0.5, 0.0, 0.0)
    same = report.gaps("fnr", over="g", g="a").row(0, named=True)
    assert (same["difference"], same["difference_lower"], same["difference_upper"]) == (0.0, 0.0, 0.0)
    assert (same["ratio"], same["ratio_lower"], same["ratio_upper"]) == (None, None, None)  # 0/0
    negative = of_counts({"a": (1, 3, 3, 1), "b": (3, 1, 1, 3)})
    found = negative.gaps("mcc", over="g").row(0, named=True)
    assert (found["difference"], found["ratio"]) == (1.0, None)
    none = report.gaps("recall", over="g", g="b").row(0, named=True)
    assert (none["difference"], none["ratio"], none["note"]) == (None, None, "undefined for 1 of 1 values of g")


CELLS = {"f": (30, 10, 20, 40), "m": (45, 20, 5, 30), "x": (8, 1, 2, 9)}
CRITERIA = [
    ("demographic_parity", "predicted_positive_rate"),
    ("equal_opportunity", "recall"),
    ("equalized_odds", "recall"),
    ("equalized_odds", "fpr"),
    ("predictive_parity", "precision"),
]


@pytest.mark.parametrize("confidence", [0.95, None])
def test_criteria_of_fairness_are_gaps(confidence):
    report = of_counts(CELLS, "gender", confidence)
    for reference, groups in (({}, [None]), ({"reference": "f"}, ["m", "x"])):
        found = report.fairness(over="gender", **reference)
        assert found.select("criterion", "metric").rows() == CRITERIA * len(groups)
        for row in found.drop("criterion").iter_rows(named=True):
            gaps = report.gaps(row["metric"], over="gender", **reference)
            assert row in gaps.to_dicts()
        assert ("ratio_ci_upper" in found.columns) == (confidence is not None)


def test_fairness_of_thresholds_models_labels_and_other_groups():
    data = labelled()
    acc = sm.binary(y_true="y", y_score={"one": "p", "two": "q"}, by=["h", "g"], thresholds=(0.2, 0.7)).update(data)
    found = acc.finalize().fairness(over="h")
    assert found.columns[:4] == ["g", "model", "threshold", "criterion"]
    assert found.height == 7 * 2 * 2 * 5
    some = found.filter(pl.col("g").is_null(), model="two", threshold=0.7, criterion="equal_opportunity")
    rows = data.filter(pl.col("g").is_null(), pl.col("y"))
    recalls = [(rows.filter(h=h)["q"] >= 0.7).mean() for h in range(3)]
    assert some["difference"].item() == pytest.approx(max(recalls) - min(recalls))
    assert acc.finalize().fairness(over="h", threshold=0.2, model="one").height == 7 * 5
    multi = sm.multilabel(y_true={"y": "y", "z": "g"}, y_score={"y": "p", "z": "q"}, by="h")
    multi.update(data.with_columns(g=pl.col("q") > 0.5))
    assert set(multi.finalize().fairness(over="h")["label"]) == {"y", "z"}


def test_fairness_without_labels_is_demographic_parity():
    report = sm.predictions(y_pred="z", by="gender").update(from_counts(CELLS).drop("y")).finalize()
    found = report.fairness(over="gender")
    assert found["criterion"].to_list() == ["demographic_parity"]
    assert found["difference"].item() == pytest.approx(0.25)


def test_the_note_of_a_metric_that_is_undefined_for_the_reference():
    report = of_counts({"a": (20, 0, 0, 20), "b": (0, 0, 0, 20)})
    for criteria in (report.fairness(over="g", reference="b"), report.fairness(over="g", reference="a")):
        undefined = criteria.filter(pl.col("difference").is_null())
        assert undefined.height == 3
        assert undefined["note"].null_count() == 0
    assert report.gaps("recall", over="g", reference="b")["note"].to_list() == ["reference: 0/0"]
    assert report.gaps("fpr", over="g", reference="b")["note"].to_list() == [None]


# Intervals and references

# ProPublica (2016), two-year recidivism, medium or high score against low: tp, fp, fn, tn
COMPAS = {"Black": (1369, 805, 532, 990), "White": (505, 349, 461, 1139)}


def wilson(count, rows):
    return stats.binomtest(count, rows).proportion_ci(0.95, "wilson")


@pytest.mark.parametrize(
    ("metric", "black", "white", "published"),
    [("fpr", (805, 1795), (349, 1488), (44.85, 23.45)), ("fnr", (532, 1901), (461, 966), (27.99, 47.72))],
)
def test_the_published_rates_of_compas(metric, black, white, published):
    gap = of_counts(COMPAS, "race", 0.95).gaps(metric, over="race", reference="White").row(0, named=True)
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
    report = of_counts(COMPAS, "race", 0.95)
    (extremes,), (other,) = (report.gaps("fpr", over="race", **r).to_dicts() for r in ({}, {"reference": "White"}))
    (inverse,) = report.gaps("fpr", over="race", reference="Black").to_dicts()
    assert (extremes["highest"], extremes["lowest"]) == ("Black", "White")
    for end in ("", "_ci_lower", "_ci_upper"):
        assert extremes[f"difference{end}"] == pytest.approx(other[f"difference{end}"])
        assert extremes[f"ratio{end}"] == pytest.approx(inverse[f"ratio{end}"])
    assert other["ratio_ci_lower"] == pytest.approx(1 / inverse["ratio_ci_upper"])
    assert other["difference_ci_lower"] == pytest.approx(-inverse["difference_ci_upper"])


def test_odd_references():
    report = of_counts({"a": (5, 0, 0, 5), "b": (0, 4, 0, 6), "c": (0, 2, 2, 4)}, "g", 0.95)
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
