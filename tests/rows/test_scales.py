"""Numbers of any size: weights multiplied by a number change no ratio, and values far from zero keep their digits."""

import numpy as np
import polars as pl
import pytest
from data import DELIVERIES, deliveries
from polars.testing import assert_frame_equal

import streammetrics as sm

RELATIVE = 1e-9
N = 301


@pytest.mark.parametrize("make", [sm.binary, sm.predictions])
def test_the_largest_weights_are_counted(make):
    columns = {"y_score": "p", "sample_weight": "w"} | ({"y_true": "y"} if make is sm.binary else {})
    rows = {"y": [0, 1], "p": [0.2, 0.7]}
    acc = make(**columns).update(rows | {"w": [1e280, 1e280]})
    with pytest.raises(sm.errors.DataError, match="'w'"):
        acc.update(rows | {"w": [1.0, 1.1e280]})
    assert acc.update(rows | {"w": [1e280, 1.0]}).seen == 4


TOO_LARGE = "sums exceed the largest float; rescale the column"


@pytest.mark.parametrize("column", ["y", "p"])
@pytest.mark.parametrize("far", [1e200, -1e200, 1.7e308])
def test_metrics_whose_sums_exceed_the_largest_float_are_undefined(column, far):
    rows = {"y": [0.0, 1.0, 2.0, 3.0], "p": [0.0, 1.5, 2.0, 2.5], "g": ["a", "a", "b", "b"]}
    far_rows = rows | {column: [0.0, far, 2.0, 3.0]}
    one, other = (sm.regression(y_true="y", y_pred="p", by="g").update(batch) for batch in (rows, far_rows))
    found = sm.merge([one, other])
    for acc in (found, sm.Accumulator.from_bytes(found.to_bytes())):
        report = acc.finalize(["r2", "rmse", "mae", "median_error"], confidence=0.9)
        for metric in ("r2", "rmse", "mae"):
            estimate = report.get(metric, g="a")
            assert (estimate.value, estimate.note) == (None, TOO_LARGE)
            assert report.get(metric, g="b").value is not None
        assert report.get("median_error", g="a").value == pytest.approx(0.25, abs=0.25)
        assert acc.rollup().finalize(["r2"])["r2"].note == TOO_LARGE
    kept = sm.Accumulator(sm.statistics.Histogram(of="y_true"), y_true="y").update(
        {"y": [1e200, 1e300]}
    )  # no squares are summed
    assert kept.finalize()["maximum"].value == 1e300


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e80, 1e190])
def test_a_model_whose_errors_are_far_off_can_be_compared(unit):
    y, a, b = np.random.default_rng(1).normal(size=(3, 400))
    acc = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}).update({"y": y, "a": a, "b": b * unit})
    compared = acc.finalize(confidence=0.95).compare("a", "b", metrics=["mae", "mse"])
    assert ("largest float" in str(compared)) == (unit == 1e190)
    assert compared.frame["a"].to_list() == pytest.approx([np.abs(a - y).mean(), np.square(a - y).mean()])


def test_squares_times_weights_that_exceed_the_largest_float_are_undefined():
    rows = {"y": [0.0, 1.0, 3e77], "p": [0.0, 1.5, 2.0], "w": [1e200] * 3}
    acc = sm.regression(y_true="y", y_pred="p", sample_weight="w")
    assert acc.update(rows | {"y": [0.0, 1.0, 2.0]}).finalize()["mse"].value == pytest.approx(0.25 / 3)
    assert acc.update(rows).finalize()["mse"].note == TOO_LARGE


class Spent(sm.statistics.RowSums):
    inputs = ("spent",)

    def of_rows(self, spent):
        return {"purchases": 1, "spent_sum": spent}


@sm.metric(range=(0, float("inf")))
def mean_spent(spent_sum, purchases):
    """Mean of the amounts."""
    return spent_sum / purchases


@pytest.mark.filterwarnings("ignore:overflow")
def test_own_sums_beyond_the_largest_float_are_undefined():
    acc = sm.Accumulator(Spent(), spent="x").update({"x": [1e308, 1.0]})
    assert acc.finalize()["mean_spent"].value == pytest.approx(5e307)
    found = sm.Accumulator.from_bytes(acc.merge(acc).to_bytes()).finalize()["mean_spent"]
    assert (found.value, found.note) == (None, TOO_LARGE)


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


def test_metrics_of_errors_do_not_depend_on_the_unit():
    names = ["r2", "adjusted_r2", "explained_variance", "pearson_r", "concordance", "mape", "rmspe", "smape", "wape"]
    usual, small, large = (
        sm.regression(**DELIVERIES).update(deliveries()[:N].with_columns(pl.col(DELIVERIES.values()) * scale))
        for scale in (1.0, 2.0**-450, 2.0**450)
    )
    expected = usual.finalize(names).frame
    assert expected["value"].is_not_null().all()
    for acc in (small, large):
        assert_frame_equal(acc.finalize(names).frame, expected, rel_tol=RELATIVE)
