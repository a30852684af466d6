"""Predictions whose labels have not come: volume, nulls, scores and predicted positives, and labels that come later."""

import numpy as np
import pytest
from data import candidates
from scipy import stats

import streammetrics as sm

SHOWN = [
    *("rows", "dropped", "dropped_rate", "predicted_positive_rate"),
    *("mean", "quantile(q=0.05)", "median", "quantile(q=0.95)"),
]


def test_predicted_labels():
    batch = {"z": ["yes", "no", None, "yes"], "p": [0.1, 0.2, 0.3, 0.4]}
    report = sm.predictions(y_pred="z", positive="yes").update(batch).finalize()
    assert report.frame["metric"].to_list() == SHOWN[:4]
    both = sm.predictions(y_pred="z", y_score="p", positive="yes").update(batch).finalize()
    assert both.frame["metric"].to_list() == SHOWN
    assert report["predicted_positive_rate"].value == both["predicted_positive_rate"].value == 2 / 3
    assert both["median"].value == 0.2
    with pytest.raises(sm.errors.DataError, match="'z'"):
        sm.predictions(y_pred="z", positive="yes", nulls="raise").update(batch)


def test_forecasts_and_margins():
    acc = sm.predictions(y_score="margin", domain="real").update({"margin": [-3.0, 0.0, 2.0, 40.0]})
    assert acc.finalize()["predicted_positive_rate"].value == 0.75
    forecasts = sm.predictions(y_score="margin", domain="real", thresholds=()).update({"margin": [-3.0, 0.0]})
    assert "predicted_positive_rate" not in forecasts.finalize().frame["metric"]
    assert forecasts.finalize()["mean"].value == -1.5


def test_the_rate_without_labels_is_that_of_labels_that_come_later():
    rows = candidates().with_row_index("id")
    columns = {"y_score": "partial", "by": "country"}
    early = sm.predictions(**columns).update(rows.drop("clicked")).finalize()
    joined = rows.drop("clicked").join(rows.select("id", "clicked"), on="id")
    late = sm.binary(y_true="clicked", nulls="drop", **columns).update(joined).finalize()
    found = sm.compare(early, late, metrics=None).frame
    assert found["metric"].unique(maintain_order=True).to_list() == ["rows", "dropped"]
    assert set(found["better"]) == {"equal"}
    for country in ("DE", "FR"):
        one, other = (report.get("predicted_positive_rate", country=country).value for report in (early, late))
        assert one == other


def test_intervals_are_those_of_shares_and_of_a_mean():
    p, partial = candidates()["new"].to_numpy(), candidates()["partial"]
    report = (
        sm.predictions(y_score="new")
        .update(candidates())
        .finalize(["mean", "predicted_positive_rate"], confidence=0.95)
    )
    error = p.std(ddof=1) / np.sqrt(len(p)) * stats.norm.ppf(0.975)
    assert (report["mean"].ci_lower, report["mean"].ci_upper) == pytest.approx((p.mean() - error, p.mean() + error))
    dropped = sm.predictions(y_score="partial").update(candidates()).finalize("dropped_rate", confidence=0.95)
    for found, count in (
        (report["predicted_positive_rate"], (p >= 0.5).sum()),
        (dropped["dropped_rate"], partial.null_count()),
    ):
        expected = stats.binomtest(int(count), len(p)).proportion_ci(0.95, "wilson")
        assert (found.ci_lower, found.ci_upper) == pytest.approx(expected)
