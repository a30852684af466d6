"""Predictions and true values in rectangles: each row lies in its own, and the chart shows them."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics import charts

HUGE = np.finfo(float).max
RNG = np.random.default_rng(0)
INPUTS = {
    "normal": (RNG.normal(size=2_000), RNG.normal(size=2_000)),
    "skewed": (np.exp(3 * RNG.normal(size=2_000)), np.exp(3 * RNG.normal(size=2_000))),
    "huge": (RNG.choice([-HUGE, -1.0, 0.0, 5e-324, HUGE], 500), RNG.choice([-HUGE, 0.0, 1e-300, HUGE], 500)),
    "integers": (RNG.integers(-5, 5, 500), RNG.integers(-5, 5, 500)),
}


def evaluated(true, predicted, **options):
    task = sm.Accumulator(sm.PredictionHistogram(**options), y_true="y", y_pred="p")
    return task.update({"y": true, "p": predicted}).finalize()


def inside(cells, true, predicted):
    """Whether each row lies in each rectangle."""
    ends = [cells[f"{what}_{end}"].to_numpy() for what in ("predicted", "actual") for end in ("lowest", "highest")]
    low, high, floor, top = ends
    p, y = (np.asarray(values, dtype=float)[:, None] for values in (predicted, true))
    return (low <= p) & (p <= high) & (floor <= y) & (y <= top)


@pytest.mark.parametrize(("true", "predicted"), INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("capacity", [8, 64, 4_096])
def test_each_row_lies_in_one_rectangle(true, predicted, capacity):
    cells = evaluated(true, predicted, capacity=capacity).curve("actual_vs_predicted")
    found = inside(cells, true, predicted)
    assert (found.sum(axis=1) == 1).all()
    assert found.sum(axis=0).tolist() == cells["count"].to_list()


def test_few_pairs_are_separate():
    cells = evaluated([1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 3.0, 4.0]).curve("actual_vs_predicted")
    assert sorted(cells.select("predicted_lowest", "actual_lowest", "count").rows()) == [
        (3, 1, 2),
        (3, 2, 1),
        (4, 2, 1),
    ]
    assert (cells["predicted_highest"] - cells["predicted_lowest"]).max() < 1e-5


def test_the_chart_shows_the_means_of_true_values():
    p = RNG.uniform(10, 20, 50_000)
    y = p + np.where(p > 15, 3, 0) + RNG.normal(size=p.size)
    picture = charts.actual_vs_predicted(evaluated(y, p))
    (means,) = (layer.frame for layer in picture.layers if layer.kind == "line")
    for x, mean in means.select("x", "y").rows():
        if abs(x - 15) > 1 and 11 < x < 19:
            assert mean == pytest.approx(x + 3 * (x > 15), abs=0.15)
    tiles = next(layer.frame for layer in picture.layers if layer.kind == "tile")
    assert tiles["shade"].max() == 1
    assert (tiles["y2"] > tiles["y"]).all()


def test_skewed_values_have_logarithmic_axes():
    p = np.exp(2 * RNG.normal(size=5_000))
    assert charts.actual_vs_predicted(evaluated(p * 1.1, p)).x.scale == "log"
    assert charts.actual_vs_predicted(evaluated(-p, p)).x.scale == "linear"


def test_several_models_need_a_choice():
    rows = {"y": [1.0, 2.0], "a": [1.0, 2.0], "b": [1.0, 3.0]}
    report = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}, joint=True).update(rows).finalize()
    with pytest.raises(sm.ReportError, match="2 distributions of predictions and true values match"):
        charts.actual_vs_predicted(report)
    assert charts.actual_vs_predicted(report, model="b").subtitle == "b"


def test_without_it_the_chart_says_what_to_do():
    report = sm.regression(y_true="y", y_pred="p").update({"y": [1.0], "p": [1.0]}).finalize()
    with pytest.raises(sm.MetricError, match="Evaluate with joint=True"):
        report.curve("actual_vs_predicted")


def test_other_options_are_refused():
    for options in ({"domain": "probability"}, {"atoms": (0.5,), "capacity": 100}, {"capacity": 4}):
        with pytest.raises(sm.SpecificationError):
            sm.PredictionHistogram(**options)


def test_weights_are_summed():
    rows = pl.DataFrame({"y": [1.0, 1.0], "p": [2.0, 2.0], "w": [0.5, 2.0]})
    task = sm.regression(y_true="y", y_pred="p", sample_weight="w", joint=True)
    assert task.update(rows).finalize().curve("actual_vs_predicted")["count"].to_list() == [2.5]
