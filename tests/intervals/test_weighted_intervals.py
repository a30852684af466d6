"""Confidence intervals of weighted rows, off sums with squared weights."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import expit, logit

import streammetrics as sm

Z = 1.959963984540054
LIMITS = ["ci_lower", "ci_upper"]
SCORES = {"y_true": "label", "y_score": "score"}
ERRORS = {"y_true": "y", "y_pred": "p"}


def data(seed=0, n=2_000):
    """Weights that follow scores and errors."""
    r = np.random.default_rng(seed)
    label = r.random(n) < 0.35
    score = 1 / (1 + np.exp(-r.normal(1.2 * label, 1)))
    y = r.normal(size=n)
    p = y + r.normal(0.1, 0.5, n)
    w = np.exp(r.normal(size=n) * 0.6 + score + 0.4 * np.abs(p - y))
    return pl.DataFrame({"label": label, "score": score, "y": y, "p": p, "w": w, "one": 1.0, "g": np.arange(n) % 3})


def report(kind, rows, *, weight="w", metrics=None, **options):
    columns = SCORES if kind is sm.binary else ERRORS
    return kind(**columns, sample_weight=weight, **options).update(rows).finalize(metrics, confidence=0.95)


def limits(found, metric, **keys):
    estimate = found.get(metric, **keys)
    return estimate.ci_lower, estimate.ci_upper


@pytest.mark.parametrize(
    ("metric", "loss"), [("bias", lambda e: e), ("mae", np.abs), ("mse", np.square), ("mape", None)]
)
def test_means_of_errors(metric, loss):
    rows = data()
    error, w = (rows["p"] - rows["y"]).to_numpy(), rows["w"].to_numpy()
    losses = np.abs(error / rows["y"].to_numpy()) if loss is None else loss(error)
    mean = np.average(losses, weights=w)
    step = Z * np.sqrt(np.sum(w**2 * (losses - mean) ** 2)) / w.sum()
    lower, upper = limits(report(sm.regression, rows), metric)
    assert 1.98 * step < upper - lower < 2.6 * step
    if metric != "bias":  # skewed losses
        assert mean - lower < upper - mean


@pytest.mark.parametrize("metric", ["log_loss", "brier_score"])
def test_means_of_losses(metric):
    rows = data()
    y, p, w = (rows[c].cast(pl.Float64).to_numpy() for c in ("label", "score", "w"))
    losses = -np.log(np.where(y == 1, p, 1 - p)) if metric == "log_loss" else (y - p) ** 2
    mean = np.average(losses, weights=w)
    error = np.sqrt(np.sum(w**2 * (losses - mean) ** 2)) / w.sum()
    lower, upper = limits(report(sm.binary, rows), metric)
    assert error < (upper - lower) / (2 * Z) < 1.05 * error


@pytest.mark.thorough
def test_they_are_as_wide_as_metrics_of_rows_drawn_again_spread():
    rows, names = data(1), ["accuracy", "precision", "recall", "f1", "roc_auc", "average_precision", "prevalence"]
    found = report(sm.binary, rows, metrics=names)
    chosen = np.random.default_rng(2).integers(0, rows.height, (600, rows.height))
    again = rows[chosen.ravel()].with_columns(copy=np.repeat(np.arange(600), rows.height))
    copies = sm.binary(**SCORES, sample_weight="w", by="copy").update(again).finalize(names).frame
    for name in names:
        spread = logit(copies.filter(metric=name)["value"].to_numpy()).std()
        lower, upper = limits(found, name)
        assert (logit(upper) - logit(lower)) / (2 * Z) == pytest.approx(spread, rel=0.12), name


@pytest.mark.parametrize("kind", [sm.binary, sm.regression])
def test_equal_weights_give_nearly_the_intervals_of_rows_without(kind):
    rows = data(3)
    equal, without = (report(kind, rows, weight=weight).frame for weight in ("one", None))
    both = equal.join(without, on="metric", suffix="_without").drop_nulls(LIMITS)
    assert both.height >= (19 if kind is sm.binary else 4)
    width = pl.col("ci_upper_without") - pl.col("ci_lower_without")
    apart = both.select("metric", *((pl.col(c) - pl.col(f"{c}_without")).abs() / width for c in LIMITS))
    assert apart.filter(pl.max_horizontal(LIMITS) > 0.05).rows() == []


def test_a_group_column_that_is_known_to_be_sorted_changes_nothing():
    """Polars groups by a column that is flagged as sorted in a way of its own, which has had wrong numbers."""
    rows, names = data(5).sort("g"), ["median_error", "within(x=1)"]
    flagged, plain = (rows.with_columns(g=g) for g in (rows["g"].set_sorted(), pl.Series(rows["g"].to_list())))
    found = report(sm.regression, flagged, by="g", metrics=names).frame
    assert found.equals(report(sm.regression, plain, by="g", metrics=names).frame)
    alone = report(sm.regression, rows.filter(g=1), metrics=names).frame
    assert_frame_equal(found.filter(g=1).drop("g"), alone, rel_tol=1e-12)


@pytest.mark.thorough
def test_the_unit_of_weights_makes_no_difference():
    rows = data(4)
    for kind in (sm.binary, sm.regression):
        frames = [report(kind, rows.with_columns(pl.col("w") * unit), by="g").frame for unit in (1, 1e9, 1e-9)]
        for found in frames[1:]:
            same = [
                frames[0][c].fill_null(-9).to_numpy() == pytest.approx(found[c].fill_null(-9).to_numpy(), rel=1e-5)
                for c in LIMITS
            ]
            assert all(same)


def test_labels_and_averages_over_them():
    rows = data(5).with_columns(z=pl.col("label") ^ (pl.col("score") > 0.7))
    acc = sm.multiclass(y_true="label", y_pred="z", sample_weight="w").update(rows)
    found = acc.finalize(["accuracy", "kappa", "f1(average=macro)"], confidence=0.95)
    hit, w = (rows["label"] == rows["z"]).to_numpy(), rows["w"].to_numpy()
    accuracy = np.average(hit, weights=w)
    error = np.sqrt(np.sum(w**2 * (hit - accuracy) ** 2)) / w.sum() / (accuracy * (1 - accuracy))
    lower, upper = limits(found, "accuracy")
    assert (logit(upper) - logit(lower)) / (2 * Z) == pytest.approx(error, rel=0.01)
    for metric in ("kappa", "f1(average=macro)"):
        lower, upper = limits(found, metric)
        assert lower < found[metric].value < upper


def weighted_mean(values, weights, range=(0, 1)):
    """A mean and its limits, on the logit or the logarithm."""
    mean = np.average(values, weights=weights)
    error = np.sqrt(np.sum(weights**2 * (values - mean) ** 2)) / weights.sum()
    if range[1] == np.inf:
        return mean * np.exp(-Z * error / mean), mean * np.exp(Z * error / mean)
    low, high = range
    odds = logit((mean - low) / (high - low))
    step = Z * error * (high - low) / ((mean - low) * (high - mean))
    return tuple(low + (high - low) / (1 + np.exp(-odds - side * step)) for side in (-1, 1))


@pytest.mark.parametrize(
    "metric", ["accuracy", "balanced_accuracy", "recall(average=macro)", "precision(average=macro)"]
)
def test_a_rare_label_of_large_weight(metric):
    """Intervals hold the true value in 95% of samples, even if six rows have a third of the weight."""
    labels, samples, rows, right = 3, 600, 300, 0.7
    random, shares, weights = np.random.default_rng(0), np.array([0.6, 0.38, 0.02]), np.array([1.0, 1.0, 30.0])
    y = random.choice(labels, p=shares, size=samples * rows)
    z = np.where(random.random(y.size) < right, y, random.choice(labels, p=shares, size=y.size))
    acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w", by="sample")
    acc.update({"y": y, "z": z, "w": weights[y], "sample": np.repeat(np.arange(samples), rows)})
    expected = (shares * weights)[:, None] * (right * np.eye(labels) + (1 - right) * shares)
    hits = expected.diagonal()
    precision, recall = ((hits / expected.sum(axis=axis)).mean() for axis in (0, 1))
    truth = hits.sum() / expected.sum() if metric == "accuracy" else precision if "precision" in metric else recall
    found = acc.finalize([metric], confidence=0.95).frame
    assert 0.93 <= found.select(pl.lit(truth).is_between("ci_lower", "ci_upper").mean()).item() <= 0.98


def test_accuracy_of_weighted_labels_without_an_error():
    rows = {"y": [0, 1] * 25, "w": [1.0, 3.0] * 25}
    acc = sm.multiclass(y_true="y", y_pred="y", sample_weight="w").update(rows)
    accuracy = acc.finalize(["accuracy"], confidence=0.95)["accuracy"]
    effective = 100**2 / 250
    assert (accuracy.ci_lower, accuracy.ci_upper) == (pytest.approx(1 / (1 + Z**2 / effective)), 1)


def class_rows(n=3_000):
    r = np.random.default_rng(8)
    y, p = r.integers(0, 4, n), r.dirichlet(np.ones(4), n)
    p[np.arange(n), y] += 0.2 * r.random(n)
    p /= p.sum(axis=1, keepdims=True)
    return y, p, np.exp(r.normal(size=n) * 0.5 + p[:, 0])


def test_each_label_against_the_rest():
    y, p, w = class_rows()
    rows = {"y": y, "w": w, "z": p.argmax(axis=1)}
    acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w").update(rows)
    found = acc.finalize(["recall", "precision", "specificity", "f1"], confidence=0.95)
    for label in range(4):
        true, seen = y == label, rows["z"] == label
        binary = sm.binary(y_true="t", y_pred="s", sample_weight="w").update({"t": true, "s": seen, "w": w})
        same = binary.finalize(["recall", "precision", "specificity", "f1"], confidence=0.95)
        for metric in ("recall", "precision", "specificity", "f1"):
            assert limits(found, metric, label=label) == pytest.approx(limits(same, metric), rel=1e-9)
        assert limits(found, "recall", label=label) == pytest.approx(weighted_mean(seen[true], w[true]), rel=0.01)


def test_losses_and_ranks_of_several_classes():
    y, p, w = class_rows()
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(4)}, sample_weight="w")
    acc.update({"y": y, "w": w, **{f"p{i}": p[:, i] for i in range(4)}})
    found = acc.finalize(["log_loss", "brier_score", "top_k_accuracy(k=2)"], confidence=0.95)
    own = p[np.arange(len(y)), y]
    brier = ((p - (y[:, None] == np.arange(4))) ** 2).sum(axis=1)
    second = (p > own[:, None]).sum(axis=1) < 2
    assert limits(found, "log_loss") == pytest.approx(weighted_mean(-np.log(own), w, (0, np.inf)), rel=2e-3)
    assert limits(found, "brier_score") == pytest.approx(weighted_mean(brier, w, (0, 2)), rel=2e-3)
    assert limits(found, "top_k_accuracy(k=2)") == pytest.approx(weighted_mean(second, w), rel=2e-3)


@pytest.mark.parametrize("weight", [None, "w"])
def test_sets_of_labels(weight):
    r = np.random.default_rng(9)
    x, w = r.normal(size=(2_000, 3)) + r.normal(size=(2_000, 1)), r.exponential(size=2_000)
    y, p = r.random((2_000, 3)) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-x))
    columns = {f"{name}{i}": values[:, i] for name, values in (("y", y), ("p", p)) for i in range(3)}
    names = {side: {i: f"{side}{i}" for i in range(3)} for side in "yp"}
    acc = sm.multilabel(y_true=names["y"], y_score=names["p"], sample_weight=weight).update(columns | {"w": w})
    found = acc.finalize(["subset_accuracy", "hamming_loss", "samples_jaccard"], confidence=0.95)
    z, w = p >= 0.5, np.ones(2_000) if weight is None else w
    both, either = (y & z).sum(axis=1), (y | z).sum(axis=1)
    jaccard = np.divide(both, either, out=np.zeros(2_000), where=either > 0)
    for metric, values in (("hamming_loss", (y ^ z).mean(axis=1)), ("samples_jaccard", jaccard)):
        assert limits(found, metric) == pytest.approx(weighted_mean(values, w), rel=1e-3)
    assert limits(found, "subset_accuracy") == pytest.approx(weighted_mean((y == z).all(axis=1), w), rel=5e-3)


@pytest.mark.parametrize("weight", [1e200, 1e-200])
def test_weights_whose_squares_are_no_floats_have_none(weight):
    found = report(sm.binary, data().with_columns(w=pl.lit(weight)))
    assert limits(found, "accuracy") == (None, None)
    assert "no interval" in found["accuracy"].note


@pytest.mark.thorough
def test_quantiles_are_as_wide_as_those_of_rows_drawn_again_spread():
    rows = data(6, 3_000)
    names = ["median_error", "error_quantile(q=0.9)", "median_absolute_error", "r2", "wape"]
    acc = sm.regression(y_true="y", y_pred="p", sample_weight="w").update(rows)
    found = acc.finalize(names, confidence=0.95)
    chosen = np.random.default_rng(7).integers(0, rows.height, (400, rows.height))
    again = rows[chosen.ravel()].with_columns(copy=np.repeat(np.arange(400), rows.height))
    copies = sm.regression(y_true="y", y_pred="p", sample_weight="w", by="copy", capacity=2_048).update(again)
    copies = copies.finalize(names).frame
    for name in names:
        spread = copies.filter(metric=name)["value"].std()
        lower, upper = limits(found, name)
        assert lower < found[name].value < upper
        assert (upper - lower) / (2 * Z) == pytest.approx(spread, rel=0.2), name


def test_what_is_not_available_for_weighted_rows():
    acc = sm.Accumulator(sm.TDigest(), task="regression", y_true="y", y_pred="p", sample_weight="w").update(data())
    found = acc.finalize(["digest_median", "digest_cdf"], confidence=0.95)
    assert found["digest_median"].note == "no interval: not available for weighted rows"
    note = "no interval: not available for weighted rows; pass unit= for a confidence interval"
    assert found["digest_cdf"].note == note


def test_one_vs_one_of_weighted_units():
    """Histograms of pairs have no squared weights; folds do not need them."""
    r = np.random.default_rng(0)
    shares = dict(zip("abc", r.dirichlet(np.ones(3), 400).T, strict=True))
    rows = shares | {"label": r.choice([*"abc"], 400), "w": r.random(400), "unit": np.arange(400) // 4}
    scores = {label: label for label in shares}
    acc = sm.multiclass(y_true="label", y_score=scores, sample_weight="w", unit="unit", one_vs_one=True).update(rows)
    lower, upper = limits(acc.finalize("roc_auc_ovo", confidence=0.95), "roc_auc_ovo")
    assert 0.3 < lower < 0.5 < upper < 0.7


@pytest.mark.parametrize("weight", [1 / 3, 0.1, 1.0])
def test_equal_values_have_no_interval_from_rounding(weight):
    equal = pl.DataFrame({"y": [0.9] * 60, "p": [0.6] * 60, "label": [1, 0, 0] * 20, "score": [0.3] * 60, "w": weight})
    for kind, metrics in ((sm.binary, ["mean_score"]), (sm.regression, ["bias", "mae", "rmse", "smape"])):
        for given in ("w", None):
            assert report(kind, equal, weight=given, metrics=metrics).frame["ci_lower"].null_count() == len(metrics)


def test_as_many_rows_as_needed_are_enough_whatever_their_weight():
    label = np.repeat([1, 0], [3, 57])
    rows = pl.DataFrame({"label": label, "score": np.where(label, 0.9, np.arange(60) / 60)})
    metrics = ["accuracy", "balanced_accuracy", "mcc", "average_precision"]
    ends = [
        report(sm.binary, rows.with_columns(w=pl.lit(w)), metrics=metrics).frame.select("note", pl.col(LIMITS).round(6))
        for w in (1.0, 0.3, 1 / 7)
    ]
    assert all(found.equals(ends[0]) for found in ends)


def test_few_rows_of_heavy_classes_have_no_interval_of_average_precision():
    """Each of 400 negatives weighs as much as ten positives, so few of them carry the precision."""
    random = np.random.default_rng(0)
    label = np.repeat([True, False], 400)
    rows = {"label": label, "score": expit(random.normal(label)), "w": np.where(label, 1.0, 10.0)}
    acc = sm.binary(y_true="label", y_score="score", sample_weight="w").update(rows)
    found = acc.finalize(["average_precision", "roc_auc"], confidence=0.95)
    assert found["average_precision"].ci_lower is None
    assert found["average_precision"].note == "no interval: too few rows of a class"
    assert found["roc_auc"].ci_lower < found["roc_auc"].value
