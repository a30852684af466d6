"""Predictions whose labels have not come: volume, nulls, scores and predicted positives, and labels that come later."""

import itertools
import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import streammetrics as sm

SHOWN = [
    *("rows", "dropped", "dropped_rate", "predicted_positive_rate"),
    *("mean", "quantile(q=0.05)", "median", "quantile(q=0.95)"),
]


def scores(count=2_000, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "p": pl.Series(rng.beta(2, 5, count)).set(pl.Series(rng.random(count) < 0.1), None),
            "q": rng.random(count),
            "y": rng.random(count) < 0.3,
            "w": rng.random(count),
            "day": pl.Series(["mon", "tue", None]).gather(rng.integers(0, 3, count)),
        }
    )


def test_a_report_against_numpy():
    data = scores()
    report = sm.predictions(y_score="p").update(data).finalize()
    p = data["p"].drop_nulls().to_numpy()
    assert report.frame["metric"].to_list() == SHOWN
    expected = [len(p), 2_000 - len(p), 1 - len(p) / 2_000, (p >= 0.5).mean(), p.mean()]
    expected += [np.quantile(p, 0.05), np.median(p), np.quantile(p, 0.95)]
    assert report.frame["value"].to_list() == pytest.approx(expected, rel=1e-12)
    assert report.frame["note"].null_count() == len(SHOWN)
    assert report.get("predicted_positives").value == (p >= 0.5).sum()
    assert report.get("predicted_negatives").value == (p < 0.5).sum()


def test_groups_models_thresholds_and_weights():
    data = scores()
    acc = sm.predictions(y_score={"a": "p", "b": "q"}, thresholds=(0.2, 0.7), by="day", sample_weight="w")
    report = acc.update(data).finalize()
    for day, (model, column) in itertools.product(["mon", "tue", None], [("a", "p"), ("b", "q")]):
        rows = data.filter(pl.col("day").eq_missing(day), pl.col(column).is_not_null())
        p, w = rows[column].to_numpy(), rows["w"].to_numpy()
        keys = {"day": day, "model": model}
        assert report.get("mean", **keys).value == pytest.approx(np.average(p, weights=w))
        for threshold in (0.2, 0.7):
            found = report.get("predicted_positive_rate", threshold=threshold, **keys)
            assert found.value == pytest.approx(w[p >= threshold].sum() / w.sum())
            assert found.exact
    assert report.get("dropped", day=None, model="b").value == 0


def test_predicted_labels():
    batch = {"z": ["yes", "no", None, "yes"], "p": [0.1, 0.2, 0.3, 0.4]}
    report = sm.predictions(y_pred="z", positive="yes").update(batch).finalize()
    assert report.frame["metric"].to_list() == SHOWN[:4]
    assert report["predicted_positive_rate"].value == 2 / 3
    both = sm.predictions(y_pred="z", y_score="p", positive="yes").update(batch).finalize()
    assert both["predicted_positive_rate"].value == 2 / 3
    assert both["median"].value == 0.2
    with pytest.raises(sm.DataError, match="'z'"):
        sm.predictions(y_pred="z", positive="yes", nulls="raise").update(batch)


def test_forecasts_and_margins():
    acc = sm.predictions(y_score="margin", domain="real").update({"margin": [-3.0, 0.0, 2.0, 40.0]})
    assert acc.finalize()["predicted_positive_rate"].value == 0.75
    forecasts = sm.predictions(y_score="margin", domain="real", thresholds=()).update({"margin": [-3.0, 0.0]})
    assert "predicted_positive_rate" not in forecasts.finalize().frame["metric"]
    assert forecasts.finalize()["mean"].value == -1.5


def test_what_does_not_fit_is_refused():
    with pytest.raises(sm.SpecificationError, match="requires y_score=, y_pred=, or both"):
        sm.predictions()
    with pytest.raises(sm.SpecificationError, match="thresholds= requires y_score="):
        sm.predictions(y_pred="z", thresholds=(0.5,))
    with pytest.raises(sm.SpecificationError, match="Pass either thresholds= or y_pred=, not both"):
        sm.predictions(y_pred="z", y_score="p", thresholds=(0.5,))
    with pytest.raises(sm.SpecificationError, match="distinct numbers"):
        sm.predictions(y_score="p", thresholds=(0.5, 0.5))
    with pytest.raises(sm.DataError, match="'p'"):
        sm.predictions(y_score="p").update({"p": [1.5]})
    with pytest.raises(sm.MetricError, match="'recall' requires the statistic ConfusionCounts"):
        sm.predictions(y_score="p").finalize(["recall"])


def test_labels_that_come_later_are_joined_and_evaluated():
    """The rate that was reported without labels is the one with them, and so is any score."""
    data = scores().with_row_index("id")
    early = sm.predictions(y_score="p", by="day").update(data.drop("y")).finalize()
    joined = data.drop("y").join(data.select("id", "y"), on="id")
    late = sm.binary(y_true="y", y_score="p", by="day", nulls="drop").update(joined).finalize()
    found = sm.compare(early, late, metrics=None).frame
    assert found["metric"].unique(maintain_order=True).to_list() == ["rows", "dropped"]
    assert set(found["better"]) == {"equal"}
    for day in ("mon", "tue", None):
        name = "predicted_positive_rate"
        assert early.get(name, day=day).value == late.get(name, day=day).value


def test_intervals_hold_the_rate_and_the_mean():
    """Wilson's and the normal interval, by their formulas."""
    p = scores()["q"].to_numpy()
    report = sm.predictions(y_score="q").update({"q": p})
    report = report.finalize(["mean", "predicted_positive_rate"], confidence=0.95)
    mean, error = p.mean(), p.std(ddof=1) / math.sqrt(len(p))
    found = report["mean"]
    assert (found.ci_lower, found.ci_upper) == pytest.approx((mean - 1.959964 * error, mean + 1.959964 * error))
    rate, z = (p >= 0.5).mean(), 1.959964
    half = z * math.sqrt(rate * (1 - rate) / len(p) + (z / (2 * len(p))) ** 2) / (1 + z**2 / len(p))
    center = (rate + z**2 / (2 * len(p))) / (1 + z**2 / len(p))
    found = report["predicted_positive_rate"]
    assert (found.ci_lower, found.ci_upper) == pytest.approx((center - half, center + half))


def test_the_share_of_dropped_rows_has_the_interval_of_a_share():
    found = (
        sm.predictions(y_score="p")
        .update({"p": [0.5] * 36 + [None] * 4})
        .finalize("dropped_rate", confidence=0.9)["dropped_rate"]
    )
    expected = stats.binomtest(4, 40).proportion_ci(0.9, "wilson")
    assert (found.ci_lower, found.ci_upper) == pytest.approx(expected)


def test_a_saved_state_with_another_threshold_is_refused():
    acc = sm.predictions(y_score="p").update({"p": [0.1, 0.9]})
    table = acc.to_arrow()
    cells = table["predicted_counts"].to_pylist()
    for wrong in ({"threshold": 0.4}, {"threshold": None}, {"predicted_positives": -1}):
        column = pa.array([[cells[0][0] | wrong]], table.schema.field("predicted_counts").type)
        changed = table.set_column(table.column_names.index("predicted_counts"), "predicted_counts", column)
        with pytest.raises(sm.StateError, match="'predicted_counts' contains 1 invalid cells"):
            sm.Accumulator.from_arrow(changed.replace_schema_metadata(table.schema.metadata))
