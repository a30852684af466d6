"""Numbers of any size: weights multiplied by a number change no ratio, and values far from zero keep their digits."""

import re
from functools import cache

import numpy as np
import polars as pl
import pytest

import streammetrics as sm

RELATIVE = 1e-9
ROUNDING = 1e-12  # of metrics that are near 0
TOTALS = {
    *("support", "positives", "negatives", "predicted_positives", "predicted_negatives", "ss_res", "ss_tot"),
    *("true_positives", "false_positives", "false_negatives", "true_negatives"),
}
OF_ROWS = ["adjusted_r2"]  # corrects for the number of rows, which is the sum of their weights
rng = np.random.default_rng(0)
N = 301
WEIGHTS = {"equal": np.full(N, 0.625), "different": rng.integers(1, 9, N) / 8}


def binary(weight, capacity):
    score = np.random.default_rng(1).random(N).round(3)
    label = np.random.default_rng(2).random(N) < score
    statistics = (sm.ScoreHistogram(capacity=capacity), sm.ConfusionCounts(thresholds=(0.5,)), sm.ProbabilityLoss())
    acc = sm.Accumulator(*statistics, sm.CalibrationBins(), y_true="y", y_score="p", sample_weight="w")
    return acc.update({"y": label, "p": score, "w": weight})


def regression(weight, capacity):
    values = np.random.default_rng(3)
    actual = np.exp(values.normal(size=N))
    predicted = actual * np.exp(values.normal(0, 0.3, N))
    families = ("log", "log_cosh", "poisson", "gamma", "tweedie")
    statistics = (sm.ErrorMoments(families=families), sm.ErrorHistogram(capacity=capacity), sm.TDigest(compression=20))
    acc = sm.Accumulator(*statistics, y_true="y", y_pred="p", sample_weight="w")
    return acc.update({"y": actual, "p": predicted, "w": weight})


def classes(weight, capacity):
    values = np.random.default_rng(4)
    shares = values.dirichlet([1, 1, 1], N)
    label = (shares.cumsum(axis=1) < values.random((N, 1))).sum(axis=1)
    scores = {i: f"p{i}" for i in range(3)}
    statistics = (sm.ConfusionMatrix(), sm.ClassLoss(), sm.PairHistograms(capacity), sm.ScoreHistogram(capacity))
    acc = sm.Accumulator(*statistics, sm.RankCounts(), task="multiclass", y_true="y", y_score=scores, sample_weight="w")
    return acc.update({"y": label, "w": weight} | {column: shares[:, i] for i, column in scores.items()})


def label_sets(weight, capacity):
    values = np.random.default_rng(6)
    score = values.random((2, N)).round(3)
    label = values.random((2, N)) < score
    statistics = (sm.ScoreHistogram(capacity=capacity), sm.ConfusionCounts(thresholds=(0.5,)), sm.ProbabilityLoss())
    roles = {"y_true": {"a": "y0", "b": "y1"}, "y_score": {"a": "p0", "b": "p1"}, "sample_weight": "w"}
    acc = sm.Accumulator(*statistics, sm.LabelSets(), task="multilabel", **roles)
    return acc.update({"y0": label[0], "y1": label[1], "p0": score[0], "p1": score[1], "w": weight})


@cache
def unscaled(task, weight, capacity):
    return task(WEIGHTS[weight], capacity).finalize().frame


@pytest.mark.parametrize(
    ("weight", "capacity", "scale"),
    [
        *(("different", 16, scale) for scale in (1e-200, 1e-82, 1e80, 1e200)),
        *(("equal", 16_384, scale) for scale in (2.0**-664, 2.0**664)),  # exact, so that no sum meets a level by chance
    ],
)
@pytest.mark.parametrize("task", [binary, regression, classes, label_sets])
def test_metrics_do_not_depend_on_the_scale_of_weights(task, capacity, weight, scale):
    found, expected = task(WEIGHTS[weight] * scale, capacity).finalize().frame, unscaled(task, weight, capacity)
    found, expected = (frame.filter(~pl.col("metric").is_in(OF_ROWS)) for frame in (found, expected))
    assert found.drop("value", "lower", "upper").equals(expected.drop("value", "lower", "upper"))  # notes, too
    assert expected["value"].is_not_null().all()
    for one, other in zip(found.rows(named=True), expected.rows(named=True), strict=True):
        factor = scale if one["metric"] in TOTALS else 1
        for column in ("value", "lower", "upper"):
            wanted = (
                None if other[column] is None else pytest.approx(other[column] * factor, RELATIVE, ROUNDING * factor)
            )
            assert one[column] == wanted, (one, other)


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e300])
def test_equal_weights_of_any_size(weight):
    score, label = [0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update({"y": label, "p": score, "w": [weight] * 4})
    assert acc.finalize(["roc_auc", "mcc", "best_mcc"]).frame["value"].to_list() == pytest.approx(
        [0.75, 0.57735, 0.57735], abs=1e-5
    )


def refused(acc, batch, message):
    before = acc.to_bytes()
    with pytest.raises(sm.DataError, match=message):
        acc.update(batch)
    assert acc.to_bytes() == before


@pytest.mark.parametrize("make", [sm.binary, sm.predictions])
@pytest.mark.parametrize("capacity", [16, 16_384])
def test_weights_whose_sum_overflows_are_refused_at_once(make, capacity):
    rows = {"y": [0, 1], "p": [0.2, 0.7], "w": [6e307, 6e307]}
    roles = {"y_score": "p", "sample_weight": "w"} | ({"y_true": "y"} if make is sm.binary else {})
    acc = make(**roles, capacity=capacity).update(rows)
    assert sm.Accumulator.from_bytes(acc.to_bytes()).to_bytes() == acc.to_bytes()
    refused(acc, rows, r"beyond ±1e\+140, .* overflow, in 2 of 2 rows \(first: 6e\+307 at row 0")
    refused(make(**roles), rows | {"w": [1.0, 1e308]} | {"w": [1.7e308, 1.7e308]}, "Column 'w'")
    acc.update(rows | {"w": [1.0, 1.0]})


@pytest.mark.parametrize("column", ["y", "p"])
def test_errors_whose_squares_overflow_are_refused_at_once(column):
    rows = {"y": [0.0, 1.0, 2.0], "p": [0.0, 1.5, 2.0]}
    acc = sm.regression(y_true="y", y_pred="p").update(rows)
    refused(acc, rows | {column: [0.0, 1e200, 2.0]}, rf"'{column}' .* in 1 of 3 rows \(first: 1e\+200 at row 1")
    far = {"y": [0.0, 1e150, 2.0], "p": [0.0, 1.5, 2.0]} | {column: [0.0, -1e200, 2.0]}
    refused(acc, far, rf"'{column}' .* in 1 of 3 rows \(first: -1e\+200 at row 1 of the batch\)")
    assert acc.update(rows | {column: [0.0, 1e150, 2.0]}).finalize()["r2"].value is not None
    kept = sm.Accumulator(sm.Histogram(of="y_true"), y_true="y").update({"y": [1e200, 1e300]})  # no squares are summed
    assert kept.finalize()["maximum"].value == 1e300


def test_weights_that_make_squares_overflow_are_refused_at_once():
    rows = {"y": [0.0, 1.0, 3e77], "p": [0.0, 1.5, 2.0], "w": [1e200] * 3}
    acc = sm.regression(y_true="y", y_pred="p", sample_weight="w")
    refused(acc, rows, r"'y' contains values beyond ±1e\+77, .* in 1 of 3 rows \(first: 3e\+77 at row 2")
    assert acc.update(rows | {"y": [0.0, 1.0, 2.0]}).finalize()["mse"].value == pytest.approx(0.25 / 3)


OF_SQUARES = ["mse", "rmse", "error_sd", "r2", "explained_variance", "pearson_r", "concordance", "rmsle", "ss_tot"]


@pytest.mark.parametrize("unit", [1e-200, 1e-160, 5e-324])
@pytest.mark.parametrize("weight", [None, 1e-200, 1.0, 1e200])
def test_squares_that_underflow_are_undefined(unit, weight):
    """They were 0, and R² was 1."""
    rows = {"y": np.arange(1, 9) * unit, "p": np.arange(8, 0, -1) * unit, "w": np.full(8, weight or 1.0)}
    weighted = {} if weight is None else {"sample_weight": "w"}
    report = sm.regression(y_true="y", y_pred="p", families=["log"], **weighted).update(rows).finalize()
    for metric in OF_SQUARES:
        assert report[metric].value is None
        assert "underflow; rescale the column" in report[metric].note, metric
    if weight != 1e-200:
        assert report["mae"].value == pytest.approx(4 * unit)
        assert report["wape"].value == pytest.approx(32 / 36)
    else:
        assert report["mae"].value is None
    perfect = sm.regression(y_true="y", y_pred="y", families=["log"], **weighted).update(rows).finalize()
    assert perfect["mse"].value == perfect["rmse"].value == perfect["rmsle"].value == 0.0


@pytest.mark.parametrize("unit", [1e-140, 1e-90, 1e130])
def test_squares_near_the_ends_of_floats_are_exact(unit):
    rows = {"y": np.arange(1, 9) * unit, "p": np.arange(8, 0, -1) * unit}
    report = sm.regression(y_true="y", y_pred="p").update(rows).finalize()
    assert report["rmse"].value == pytest.approx(21**0.5 * unit)
    assert report["r2"].value == pytest.approx(-3)
    mixed = {"y": [0.0, 1.0, 2.0], "p": [1e-200, 1.0, 2.0 + 1e-9]}
    assert sm.regression(y_true="y", y_pred="p").update(mixed).finalize()["rmse"].value == pytest.approx(1e-9 / 3**0.5)


HEAVY = {"w": [6e307, 6e307]}
FAR = 9e153  # whose squares can be added up twice
OVERFLOWING = {
    "score_histogram": (
        lambda: sm.Accumulator(sm.ScoreHistogram(), y_true="y", y_score="p", sample_weight="w"),
        {"y": [0, 1], "p": [0.2, 0.7]} | HEAVY,
    ),
    "tdigest": (
        lambda: sm.Accumulator(sm.TDigest(), y_true="y", y_pred="p", sample_weight="w"),
        {"y": [0.0, 1.0], "p": [0.2, 0.7]} | HEAVY,
    ),
    "error_moments": (
        lambda: sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p"),
        {"y": [0.0, 0.0], "p": [FAR, 0.0]},
    ),
}


@pytest.mark.parametrize("name", OVERFLOWING)
@pytest.mark.parametrize("loaded", [False, True], ids=["counted", "loaded"])
def test_states_whose_sums_overflow_together_cannot_be_merged(name, loaded):
    make, rows = OVERFLOWING[name]
    one, other = make().update(rows), make().update(rows)
    if name == "error_moments":
        one.update(rows)
    if loaded:
        one, other = (sm.Accumulator.from_bytes(acc.to_bytes()) for acc in (one, other))
    before = one.to_bytes(), other.to_bytes()
    with pytest.raises(sm.MergeError, match=f"sums of '{name}' would exceed the largest float"):
        one.merge(other)
    assert (one.to_bytes(), other.to_bytes()) == before
    light = make().update(rows | {"w": [1.0, 1.0], "p": [0.25, 0.5]})
    assert one.merge(light).seen == sm.Accumulator.from_bytes(before[0]).seen + 2


def test_values_that_overflow_are_named_by_their_file(tmp_path):
    rows = pl.DataFrame({"y": [1.0, 2.0, 3.0], "p": [1.0, 1e200, 3e250]})
    rows.write_parquet(tmp_path / "b.parquet")
    rows.with_columns(p=1.0).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(sm.DataError, match=r"'p' .* rows \(first: 1e\+200 at row 1 of .*b\.parquet\)\. Rescale"):
        sm.evaluate(tmp_path, sm.regression(y_true="y", y_pred="p"))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pass_whose_sums_overflow_together_does_not_name_states(workers):
    make, rows = OVERFLOWING["score_histogram"]
    with pytest.raises((sm.DataError, sm.MergeError), match=r"overflow|exceed the largest float") as caught:
        sm.evaluate([rows] * 4, make(), workers=workers)
    assert not re.search("state|merge", str(caught.value))


@pytest.mark.parametrize("scale", [2.0**-450, 2.0**450])
def test_metrics_of_errors_do_not_depend_on_the_unit(scale):
    values = np.random.default_rng(5)
    y = np.exp(values.normal(size=N))
    p = y * np.exp(values.normal(0, 0.3, N))
    names = ["r2", "adjusted_r2", "explained_variance", "pearson_r", "concordance", "mape", "rmspe", "smape", "wape"]
    one, other = (
        sm.regression(y_true="y", y_pred="p").update({"y": y * s, "p": p * s}).finalize(names).frame for s in (1, scale)
    )
    assert one["value"].is_not_null().all()
    for column in ("value", "lower", "upper"):
        assert other[column].to_list() == pytest.approx(one[column].to_list(), RELATIVE)
