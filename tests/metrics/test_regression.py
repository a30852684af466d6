"""The regression task: what it shows, numbers that cancel or overflow, what is undefined and why, error curves."""

import math

import numpy as np
import polars as pl
import pytest
from data import DELIVERIES, deliveries
from polars.testing import assert_frame_equal

import streammetrics as sm

FAMILIES = ("log", "log_cosh", "poisson", "gamma", "tweedie")
OF_TRUE_VALUES = ("r2", "adjusted_r2", "explained_variance", "pearson_r", "d2_poisson", "d2_gamma", "d2_tweedie")
DEVIANCES = ("poisson_deviance", "gamma_deviance", "tweedie_deviance", "msle", "rmsle")


def report_of(y, p, parts=2):
    """The report of true values and predictions that come in parts, which are merged."""
    acc = sm.regression(y_true="y", y_pred="p", families=FAMILIES)
    rows = pl.DataFrame({"y": y, "p": p}, schema={"y": pl.Float64, "p": pl.Float64})
    return sm.merge([acc.empty().update(rows[n::parts]) for n in range(parts)]).finalize()


def test_what_is_shown():
    plain = sm.regression(**DELIVERIES).update(deliveries()).finalize()
    assert plain.frame["metric"].to_list()[:4] == ["rows", "dropped", "mae", "rmse"]
    every = sm.regression(**DELIVERIES, families=FAMILIES).update(deliveries()).finalize()
    more = {"msle", "log_cosh", "poisson_deviance", "d2_poisson", "d2_gamma", "tweedie_deviance"}
    assert more <= set(every.frame["metric"]) - set(plain.frame["metric"])
    assert_frame_equal(every.frame.join(plain.frame, on="metric", how="semi"), plain.frame)


def test_pearson_is_exact_on_a_line():
    y = deliveries()["minutes"].to_numpy()
    for slope in (3.0, -1e-150, 1e150):
        assert report_of(y, slope * y)["pearson_r"].value == pytest.approx(math.copysign(1, slope), abs=1e-15)
    assert report_of(y, np.full(len(y), 0.1), parts=3)["pearson_r"].value is None


def test_constant_true_values_are_explained_by_perfect_predictions_alone():
    for size in (1, 1_000):
        perfect, other = (report_of([0.1] * size, [p] * size) for p in (0.1, 0.3))
        for metric in ("r2", "d2_poisson", "d2_gamma", "d2_tweedie"):
            assert (perfect[metric].value, other[metric].value) == (1, None)
    assert report_of([0, 0, 0], [1, 2, 3])["d2_poisson"].value is None


@pytest.mark.whole
@pytest.mark.parametrize(
    ("y", "p", "values"),
    [
        ([0, 1], [1, 1], {"mape": math.inf, "rmspe": math.inf}),
        ([0, 1], [0, 2], {"mape": None}),
        ([0, 1], [0, 1], {"smape": 0}),
        ([0, 1], [5, 1], {"smape": 1}),
        ([0, 0], [0, 1], {"wape": math.inf}),
        ([0, 0], [0, 0], {"wape": None}),
        ([1, -1], [1, 1], dict.fromkeys(["msle", "rmsle", "poisson_deviance", "d2_poisson"])),
        ([1, 0], [1, 1], dict.fromkeys(["gamma_deviance", "d2_gamma"])),
        ([1, 2], [1, 0], dict.fromkeys(["poisson_deviance", "d2_poisson", "tweedie_deviance", "gamma_deviance"])),
        ([1, 2], [1, -1.5], dict.fromkeys(["msle", "rmsle"])),
    ],
)
def test_values_outside_of_the_domain_of_a_metric(y, p, values):
    report = report_of(y, p)
    assert {metric: report[metric].value for metric in values} == values
    assert report["mse"].value is not None
    for metric in {*DEVIANCES} & {*values}:
        assert report[metric].status == "undefined"


def test_notes_say_what_does_not_vary():
    constant, varied = report_of([2, 2], [1, 3]), report_of([2, 3, 4, 5], [1, 3, 3, 3.5])
    for metric in OF_TRUE_VALUES:
        assert (constant[metric].note, varied[metric].note) == ("true values do not vary", None)
    assert [varied[metric].note for metric in DEVIANCES] == [None] * len(DEVIANCES)


def test_one_value_in_place_of_several():
    rows = {"y": [1.0, 2.0], "p": [1.5, 2.0]}
    one = sm.regression(y_true="y", y_pred="p", families="log", atoms=0.5).update(rows)
    several = sm.regression(y_true="y", y_pred="p", families=["log"], atoms=[0.5]).update(rows)
    assert one.to_bytes() == several.to_bytes()


@pytest.mark.parametrize(("p", "note"), [([1.0, 1.0], "a true value is 0"), ([0.0, 1.0], "a true value and")])
def test_percentages_of_zero_are_told(p, note):
    report = sm.regression(y_true="y", y_pred="p").update({"y": [0.0, 2.0], "p": p}).finalize(["mape", "rmspe"])
    for metric in ("mape", "rmspe"):
        assert report[metric].note.startswith(note)
        assert report[metric].note.endswith("0, which wape and smape allow")
    [verdict] = report.check("mape <= 0.2").frame["verdict"]
    assert (verdict == "undefined") == (p[0] == 0)
