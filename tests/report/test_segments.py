"""Many groups: the worst of them, how far they differ, and fairness by hand."""

import numpy as np
import polars as pl
import pytest

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
    acc = sm.binary(y_true="y", y_pred="z", by="g").update(from_counts(cells, "g"))
    report = acc.finalize(confidence=0.95)
    assert report.worst("accuracy")["g"].to_list() == ["tiny", "bad", "good"]
    assert report.worst("accuracy", min_rows=100)["g"].to_list() == ["bad", "good"]
    by_bound = report.worst("accuracy", by_bound=True)
    assert by_bound["g"].to_list() == ["tiny", "bad", "good"]  # none of three is bad for certain
    assert by_bound["ci_upper"].is_sorted()
    assert report.worst("error_rate", by_bound=True)["ci_lower"].is_sorted(descending=True)
    assert report.best("accuracy", by_bound=True)["ci_lower"].is_sorted(descending=True)
    assert report.best("error_rate", by_bound=True)["ci_upper"].is_sorted()
    two = sm.binary(y_true="y", y_pred="z", by="g").update(
        from_counts({"tiny": (0, 1, 0, 0), "bad": cells["bad"]}, "g")
    )
    assert two.finalize().worst("accuracy")["g"][0] == "tiny"
    assert two.finalize(confidence=0.95).worst("accuracy", by_bound=True)["g"][0] == "bad"


def test_of_equal_groups_the_larger_comes_first():
    acc = sm.binary(y_true="y", y_pred="z", by="g").update(from_counts({"a": (1, 1, 1, 1), "b": (2, 2, 2, 2)}, "g"))
    assert acc.finalize().worst("accuracy")["g"].to_list() == ["b", "a"]


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
        values = {
            h: report.get("roc_auc", g=row["g"], h=h).value
            for h in range(3)
            if report.get("rows", g=row["g"], h=h).value >= 10
        }
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
    wide, truth = (report.gaps("roc_auc", over="g") for report in (coarse, exact))
    for name in ("difference", "ratio"):
        inside = truth[name].is_between(wide[f"{name}_lower"] - 1e-12, wide[f"{name}_upper"] + 1e-12)
        assert inside.all()
        assert (wide[f"{name}_lower"] < wide[f"{name}_upper"]).all()
        assert wide[name].is_between(wide[f"{name}_lower"], wide[f"{name}_upper"]).all()
    assert wide["difference_lower"].min() >= 0
    assert wide["ratio_upper"].max() <= 1


def test_gaps_of_odd_values():
    cells = {"a": (5, 0, 0, 5), "b": (0, 4, 0, 6), "c": (2, 2, 2, 4)}
    report = sm.binary(y_true="y", y_pred="z", by="g").update(from_counts(cells, "g")).finalize()
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
    negative = sm.binary(y_true="y", y_pred="z", by="g").update(
        from_counts({"a": (1, 3, 3, 1), "b": (3, 1, 1, 3)}, "g")
    )
    found = negative.finalize().gaps("mcc", over="g").row(0, named=True)
    assert (found["difference"], found["ratio"]) == (1.0, None)
    none = report.gaps("recall", over="g", g="b").row(0, named=True)
    assert (none["difference"], none["ratio"], none["note"]) == (None, None, "undefined for 1 of 1 values of g")


CELLS = {"f": (30, 10, 20, 40), "m": (45, 20, 5, 30), "x": (8, 1, 2, 9)}


def test_fairness_by_hand():
    report = sm.binary(y_true="y", y_pred="z", by="gender").update(from_counts(CELLS)).finalize()
    selected, recall = [40 / 100, 65 / 100, 9 / 20], [30 / 50, 45 / 50, 8 / 10]
    fpr, precision = [10 / 50, 20 / 50, 1 / 10], [30 / 40, 45 / 65, 8 / 9]
    expected = [
        ("demographic_parity", "predicted_positive_rate", selected),
        ("equal_opportunity", "recall", recall),
        ("equalized_odds", "recall", recall),
        ("equalized_odds", "fpr", fpr),
        ("predictive_parity", "precision", precision),
    ]
    for row, (criterion, metric, values) in zip(report.fairness(over="gender").to_dicts(), expected, strict=True):
        assert (row["criterion"], row["metric"], row["note"]) == (criterion, metric, None)
        assert (row["highest"], row["lowest"]) == ("fmx"[np.argmax(values)], "fmx"[np.argmin(values)])
        assert row["difference"] == pytest.approx(max(values) - min(values))
        assert row["difference"] == row["difference_lower"] == row["difference_upper"]
        assert row["ratio"] == pytest.approx(min(values) / max(values))


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
    rows = {"y": [1, 0] * 20 + [0] * 20, "p": [1, 0] * 20 + [0] * 20, "g": ["a"] * 40 + ["b"] * 20}
    report = sm.binary(y_true="y", y_pred="p", by="g").update(rows).finalize()
    for criteria in (report.fairness(over="g", reference="b"), report.fairness(over="g", reference="a")):
        undefined = criteria.filter(pl.col("difference").is_null())
        assert undefined.height == 3
        assert undefined["note"].null_count() == 0
    assert report.gaps("recall", over="g", reference="b")["note"].to_list() == ["reference: 0/0"]
    assert report.gaps("fpr", over="g", reference="b")["note"].to_list() == [None]
