"""Exact values against scikit-learn, and against textbooks."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

import streammetrics as sm

RANKING = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "brier_score": sk.brier_score_loss,
    "log_loss": lambda y, p, **kw: sk.log_loss(y, np.clip(p, 1e-15, 1 - 1e-15), **kw),
}
AT_A_THRESHOLD = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "fbeta(beta=2)": lambda *a, **kw: sk.fbeta_score(*a, beta=2, **kw),
    "mcc": sk.matthews_corrcoef,
    "kappa": sk.cohen_kappa_score,
    "jaccard": sk.jaccard_score,
}
GROUPS = {(): None, ("g",): "g", ("g", "h"): ("g", "h")}


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def rows(seed=0, count=2000):
    rng = np.random.default_rng(seed)
    p = rng.random(count).round([16, 2, 1][seed])
    p = np.where(rng.random(count) < 0.1, rng.integers(0, 2, count), p)
    return pl.DataFrame(
        {
            "y": (rng.random(count) < 0.2 + 0.6 * p).astype(int),
            "p": p,
            "q": rng.random(count),
            "z": (rng.random(count) < p).astype(int),
            "w": rng.random(count) + 0.1,
            "g": rng.choice(["a", "b"], count),
            "h": rng.integers(0, 3, count),
        }
    )


def split(acc, frame, parts=3):
    """The rows taken in as several batches."""
    for n in range(parts):
        acc.update(frame[n::parts])
    return acc


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by", GROUPS)
def test_scores(by, weighted, seed):
    frame = rows(seed)
    weight = "w" if weighted else None
    acc = split(sm.binary(y_true="y", y_score="p", by=by, sample_weight=weight, capacity=4096), frame)
    report = acc.finalize([*RANKING, *AT_A_THRESHOLD])
    for keys, part in frame.group_by(by) if by else [((), frame)]:
        named = dict(zip(by, keys, strict=True))
        y, p, z = part["y"], part["p"], part["p"] >= 0.5
        w = {"sample_weight": part["w"]} if weighted else {}
        for name, reference in RANKING.items():
            found = report.get(name, **named)
            assert found.value == exactly(reference(y, p, **w)), name
            assert found.exact
        for name, reference in AT_A_THRESHOLD.items():
            assert report.get(name, **named).value == exactly(reference(y, z, **w)), name


@pytest.mark.parametrize("thresholds", [(0.3,), (0.9, 0.1, 0.5), tuple(np.linspace(0, 1, 50)[::-1])], ids=len)
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_in_any_order(thresholds, weighted):
    frame = rows(1)
    acc = sm.Accumulator(
        sm.ConfusionCounts(thresholds), y_true="y", y_score="p", sample_weight="w" if weighted else None
    )
    table = split(acc, frame).finalize()
    weight = frame["w"] if weighted else None
    for threshold in thresholds:
        tn, fp, fn, tp = sk.confusion_matrix(frame["y"], frame["p"] >= threshold, sample_weight=weight).ravel()
        for name, value in {"tp": tp, "fp": fp, "fn": fn, "tn": tn}.items():
            counts = acc.state.tables["confusion_counts"]
            assert counts.filter(threshold=threshold)[name].item() == exactly(value)
        precision = sk.precision_score(frame["y"], frame["p"] >= threshold, sample_weight=weight)
        assert table.get("precision", threshold=threshold).value == exactly(precision)


def test_light_rows_below_a_threshold_count_beside_heavy_rows_above():
    rows = {"y": [0, 0, 1, 1], "p": [0.9, 0.1, 0.9, 0.1], "w": [1e17, 1.0, 1e17, 3.0]}
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update(rows)
    assert acc.finalize()["npv"].value == 0.25
    assert acc.state.tables["confusion_counts"]["tn_w2"].item() == 1


def test_a_score_on_the_threshold_is_positive():
    report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.5, math.nextafter(0.5, 0)]}).finalize()
    assert report["accuracy"].value == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions(weighted):
    frame = rows(0)
    weight = "w" if weighted else None
    report = split(sm.binary(y_true="y", y_pred="z", y_score="p", sample_weight=weight), frame).finalize()
    for name, reference in AT_A_THRESHOLD.items():
        expected = reference(frame["y"], frame["z"], sample_weight=frame["w"] if weighted else None)
        assert report[name].value == exactly(expected), name


LABELS = {
    "text": (["no", "yes"], {"positive": "yes"}),
    "both": (["no", "yes"], {"positive": "yes", "negative": "no"}),
    "numbers": ([3, 7], {"positive": 7}),
    "swapped": ([1, 0], {"positive": 0}),
    "booleans": ([False, True], {}),
    "floats": ([0.0, 1.0], {}),
}


@pytest.mark.parametrize(("values", "named"), LABELS.values(), ids=LABELS)
def test_labels_of_any_type(values, named):
    frame = rows(0)
    y, z = (pl.Series(values).gather(frame[c]).alias(c) for c in ("y", "z"))
    report = sm.binary(y_true="y", y_pred="z", y_score="p", **named).update(frame.with_columns(y, z)).finalize()
    assert report["roc_auc"].value == exactly(sk.roc_auc_score(frame["y"], frame["p"]))
    assert report["mcc"].value == exactly(sk.matthews_corrcoef(frame["y"], frame["z"]))


def test_enums_and_every_other_label():
    kind = pl.Enum(["no", "yes", "maybe"])
    frame = pl.DataFrame({"y": pl.Series(["yes", "no", "maybe", "yes"], dtype=kind), "p": [0.9, 0.2, 0.6, 0.7]})
    assert sm.binary(y_true="y", y_score="p", positive="yes").update(frame).finalize()["specificity"].value == 0.5
    with pytest.raises(sm.DataError, match=r"1 of 4 rows.*'maybe'"):
        sm.binary(y_true="y", y_score="p", positive="yes", negative="no").update(frame)


def calibration(frame, bins, **roles):
    return sm.Accumulator(sm.CalibrationBins(bins), y_true="y", y_score="p", **roles).update(frame).finalize()


def score_sets(bins):
    rng = np.random.default_rng(bins)
    edges = np.linspace(0, 1, bins + 1)
    near = np.concatenate([np.nextafter(edges, 0), np.nextafter(edges, 1)])
    return {
        "random": rng.random(500),
        "edges": np.tile(edges, 3),
        "near edges": near,
        "0.29": np.array([0.29, 0.57, 0.58]),
    }


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 100, 1000])
def test_calibration_curve(bins):
    rng = np.random.default_rng(0)
    for name, p in score_sets(bins).items():
        y = (rng.random(len(p)) < p).astype(int)
        y[:2] = 0, 1
        curve = calibration({"y": y, "p": p}, bins).curve("calibration")
        observed, predicted = calibration_curve(y, p, n_bins=bins)
        assert curve["observed_rate"].to_list() == exactly(observed), name
        assert curve["mean_score"].to_list() == exactly(predicted), name


@pytest.mark.parametrize("bins", [1, 10, 50])
def test_quantile_calibration(bins):
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 9, 500)
    y = (rng.random(len(p)) < p).astype(int)
    acc = sm.binary(y_true="y", y_score="p", calibration_bins=bins).update({"y": y, "p": p})
    curve = acc.finalize().curve("quantile_calibration")
    observed, predicted = calibration_curve(y, p, n_bins=bins, strategy="quantile")
    assert curve["weight"].to_list() == [len(p) // bins] * bins
    assert curve["observed_rate"].to_list() == exactly(observed)
    assert curve["mean_score"].to_list() == exactly(predicted)
    assert (curve["lower"] == curve["upper"]).all()


def test_quantile_calibration_of_equal_scores_is_this_score():
    acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.7] * 3})
    bins = acc.finalize().curve("quantile_calibration")
    assert bins.select("lowest", "highest", "mean_score", "lower", "upper").row(0) == (0.7,) * 5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("capacity", [8, 64, 4096])
def test_quantile_calibration_contains_the_scores_of_its_rows(capacity, weighted):
    frame = rows(0)
    options = {"sample_weight": "w"} if weighted else {}
    acc = sm.binary(y_true="y", y_score="p", by="g", capacity=capacity, **options)
    report = acc.update(frame.with_columns(g=pl.int_range(pl.len()) % 3)).finalize()
    for g in range(3):
        y, p, w = (frame[c].to_numpy()[g::3] for c in ("y", "p", "w"))
        w = w if weighted else np.ones(len(p))
        bins = report.curve("quantile_calibration").filter(g=g)
        assert 1 <= bins.height <= 10
        assert bins["weight"].sum() == exactly(w.sum())
        assert (bins["lowest"][1:] > bins["highest"][:-1]).all()
        for row in bins.iter_rows(named=True):
            inside = (p >= row["lowest"]) & (p <= row["highest"])
            assert row["weight"] == exactly(w[inside].sum())
            assert row["observed_rate"] == exactly(np.average(y[inside], weights=w[inside]))
            assert row["lower"] * (1 - 1e-12) <= np.average(p[inside], weights=w[inside]) <= row["upper"] * (1 + 1e-12)
            assert row["lower"] <= row["mean_score"] <= row["upper"]
            largest = max(w[p == score].sum() for score in set(p[inside])) if capacity == 4096 else w.sum()
            assert row["weight"] <= w.sum() / 10 + largest


@pytest.mark.parametrize("bins", [1, 10, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_errors_by_brute_force(bins, weighted):
    frame = rows(0)
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    w = frame["w"].to_numpy() if weighted else np.ones(len(p))
    report = calibration(frame, bins, sample_weight="w" if weighted else None)
    edges = np.linspace(0, 1, bins + 1)
    inside = [(p > low) & (p <= high) | (low == p) & (low == 0) for low, high in itertools.pairwise(edges)]
    gaps = [(w[i].sum() / w.sum(), abs(np.average(p[i] - y[i], weights=w[i]))) for i in inside if i.any()]
    assert sum(i.sum() for i in inside) == len(p)
    expected = {
        "ece": sum(share * gap for share, gap in gaps),
        "mce": max(gap for _, gap in gaps),
        "rmsce": np.sqrt(sum(share * gap**2 for share, gap in gaps)),
        "mean_score": np.average(p, weights=w),
        "observed_rate": np.average(y, weights=w),
    }
    assert {metric: report[metric].value for metric in expected} == exactly(expected)
