"""Rows that stand for several equal rows. That their state is that of the repeated rows is a law of `sm.testing`."""

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks
from hypothesis import given, settings
from hypothesis import strategies as st

import streammetrics as sm
from streammetrics.testing.laws import require_same

BINARY = {"y_true": "y", "y_score": "p"}
KEYS = ["score", "clicked", "country"]


def counted(rows):
    """The statement of a warehouse: rows that are equal, and how many there are."""
    return rows.group_by(KEYS, maintain_order=True).len("n").with_columns(pl.col("n").cast(pl.Int64))


def test_hundreds_of_rows_stand_for_half_a_million_with_the_same_metrics_and_intervals():
    rows = pl.concat([clicks().with_columns(pl.col("score").round(2))] * 125)
    few = counted(rows)
    assert len(few) < 700
    assert few["n"].sum() == len(rows) == 500_000
    one = sm.binary(count="n", **CLICKS).update(few).finalize(confidence=0.95)
    other = sm.binary(**CLICKS).update(rows).finalize(confidence=0.95)
    assert one.frame.equals(other.frame)
    assert one["rows"].value == 500_000
    weighted = sm.binary(sample_weight="n", **CLICKS).update(few).finalize(["roc_auc"], confidence=0.95)["roc_auc"]
    auc = one["roc_auc"]
    assert weighted.value == auc.value
    assert weighted.ci_upper - weighted.ci_lower > 10 * (auc.ci_upper - auc.ci_lower)


def test_counted_rows_and_rows_merge_by_group():
    rows, by = clicks(), {"by": "country", **CLICKS}
    both = sm.binary(count="n", **by).update(counted(rows[:1500])) + sm.binary(**by).update(rows[1500:])
    require_same(both, sm.binary(**by).update(rows))
    assert "count='n'" in repr(both)
    assert sm.Accumulator.from_bytes(both.to_bytes()).update(counted(rows)).seen == 2 * len(rows)


def test_a_count_of_0_is_no_row_and_no_group():
    rows = pl.DataFrame({"y": [1, 0, 1], "p": [0.2, 0.1, 0.3], "g": ["a", "b", "c"], "n": [0.0, 2.0, 1.0]})
    acc = sm.binary(**BINARY, count="n", by="g").update(rows)
    assert acc.state.keys["g"].to_list() == ["b", "c"]
    assert acc.seen == 3


def test_dropped_rows_are_counted_as_often_as_they_occur():
    rows = pl.DataFrame(
        {"y": [1, 0, 1, 0], "p": [0.2, None, 0.3, 0.1], "w": [1.0, 1.0, 0.0, 1.0], "n": [2, 3, 4, None]}
    )
    acc = sm.binary(**BINARY, count="n", sample_weight="w", nulls="drop").update(rows)
    assert acc.state.tables["row_counts"].select("rows", "dropped").rows() == [(2, 8)]


def test_counts_of_custom_sums_are_exact():
    class Clicked(sm.statistics.RowSums):
        inputs = ("y_true",)

        def of_rows(self, y_true):
            return {"seen_rows": 1, "clicked_rows": y_true > 0}

    rows = pl.DataFrame({"y": [1, 0, 1], "n": [2**33, 5, 3]})
    table = sm.Accumulator(Clicked(), y_true="y", count="n").update(rows).state.tables["clicked"]
    assert table.select("seen_rows", "clicked_rows").row(0) == (2**33 + 8, 2**33 + 3)


def test_more_rows_than_a_state_holds_change_nothing():
    most = {"y": [1] * 9007, "n": [10**12] * 9007}
    acc = sm.binary(y_true="y", y_pred="y", count="n").update(most)
    for more in (most, {"y": [1], "n": [10**12]}):
        with pytest.raises(sm.errors.DataError, match="9,007,199,254,740,992"):
            acc.update(more)
    assert sm.Accumulator.from_bytes(acc.to_bytes()).seen == 9007 * 10**12
    with pytest.raises(sm.errors.DataError, match="9,007,199,254,740,992"):
        acc.update(most)


def test_large_counts_have_exact_losses():
    rows = pl.DataFrame({"y": [1, 0], "p": [0.0, 0.25], "n": [10**9, 10**9 + 1]})
    acc = sm.binary(**BINARY, count="n").update(rows)
    single = sm.binary(y_true="y", y_score="p").update(rows).state.tables["probability_loss"]
    sums = acc.state.tables["probability_loss"]["log_loss_sum"].to_list()
    expected = [int(sum_ * 10**18) * n for sum_, n in zip(single["log_loss_sum"], [10**9 + 1, 10**9], strict=True)]
    assert [int(sum_ * 10**18) for sum_ in sums] == expected


def test_labels_that_wait_for_scores_can_have_counts(tmp_path):
    task = sm.binary(**BINARY, by="day", count="n")
    joiner = sm.Joiner(sm.MetricStore(tmp_path), task, key="id", expires="45d", labels=["y", "n"])
    joiner.add_scores({"id": [1, 2, 3], "p": [0.2, 0.9, 0.5], "day": [date(2026, 1, 31)] * 3})
    assert joiner.add_labels({"id": [1, 2, 3], "y": [1, 0, 1], "n": [2, 0, 3]}).matched == 3
    assert joiner.store.query().seen == 5


def test_engines_and_sources_read_the_count(tmp_path):
    few = counted(clicks())
    few.write_parquet(tmp_path / "counts.parquet")
    report = sm.evaluate(tmp_path / "counts.parquet", sm.binary(count=pl.col("n") * 2, by="country", **CLICKS))
    assert report.get("rows", country="IN").value == 2 * clicks().filter(pl.col("country") == "IN").height
    assert np.isclose(
        report.get("roc_auc", country="IN").value,
        sm.binary(**CLICKS).update(clicks().filter(pl.col("country") == "IN")).finalize()["roc_auc"].value,
    )


@pytest.mark.thorough
@settings(max_examples=40, derandomize=True)
@given(
    scores=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=30),
    step=st.sampled_from([0.5, 0.25, 0.1]),
)
def test_bounds_of_rounded_scores_contain_the_metrics_of_the_scores_before(scores, step):
    names = ["roc_auc", "average_precision", "ks", "max_f1", "pr_auc", "recall_at_fpr(fpr=0.2)"]
    p, y = (np.array(column, dtype=np.float64) for column in zip(*scores, strict=True))
    rounded = np.clip(np.round(p / step) * step, 0, 1)
    before = sm.binary(**BINARY, metrics=names).update({"y": y, "p": p}).finalize().frame
    after = sm.binary(rounding=step, **BINARY, metrics=names).update({"y": y, "p": rounded}).finalize().frame
    both = before.join(after, on="metric", suffix="_rounded").drop_nulls("value")
    within = pl.col("value").is_between(pl.col("lower_rounded") - 1e-12, pl.col("upper_rounded") + 1e-12)
    assert both.select(within.all()).item()


@pytest.mark.thorough
@settings(max_examples=40, derandomize=True)
@given(
    steps=st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=2, max_size=30),
    inverse=st.sampled_from([40, 100, 1000, 100_000]),
)
def test_rounded_scores_are_the_same_from_any_engine_and_in_any_type(steps, inverse):
    """As the nearest float, as a product of the step, and as 32 bits, whose order is that of rounding errors."""
    k, y = (np.array(column) for column in zip(*steps, strict=True))
    p = k / inverse
    task = sm.binary(rounding=1 / inverse, thresholds=[k[0] / inverse], **BINARY)
    nearest = task.copy().update({"y": y, "p": p})
    others = [task.copy().update({"y": y, "p": column}) for column in (k * (1 / inverse), p.astype(np.float32))]
    assert [other.to_bytes() for other in others] == [nearest.to_bytes()] * 2


def test_float32_cannot_hold_fine_steps():
    p = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    scores = sm.binary(rounding=1e-7, **BINARY).update({"y": [1, 0, 1], "p": p}).finalize().curve("scores")
    assert scores["lowest"].to_list() == p.tolist()


def test_infinite_and_large_scores_stay_as_they_are():
    p = [-np.inf, -1e300, 2e8 + 0.25, 1e300, np.inf]
    acc = sm.binary(rounding=0.25, domain="real", **BINARY).update({"y": [0, 0, 0, 1, 1], "p": p})
    assert acc.finalize().curve("scores")["lowest"].to_list() == p


@pytest.mark.thorough
@settings(max_examples=20, derandomize=True)
@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 3, st.integers(0, 2)), min_size=3, max_size=30))
def test_bounds_of_rounded_probabilities_of_classes_contain_the_metrics_of_those_before(rows):
    values = np.array(rows)
    p, y = values[:, :3] / values[:, :3].sum(axis=1, keepdims=True), values[:, 3].astype(int)
    task = {"y_true": "y", "y_score": "p", "labels": [0, 1, 2], "metrics": ["roc_auc", "average_precision"]}
    before = sm.multiclass(**task).update({"y": y, "p": p}).finalize().frame
    after = sm.multiclass(rounding=0.1, **task).update({"y": y, "p": p.round(1)}).finalize().frame
    both = before.join(after, on=["metric", "label"], suffix="_rounded").drop_nulls("value")
    within = pl.col("value").is_between(pl.col("lower_rounded") - 1e-12, pl.col("upper_rounded") + 1e-12)
    assert both.select(within.all()).item()


def test_every_number_of_a_step_leaves_the_same_state():
    rows = {"y": [1, 0], "p": [1.0, 1.0]}
    states = {
        sm.binary(rounding=step, **BINARY).update(rows).to_bytes() for step in (1, 1.0, Decimal(1), np.float32(1))
    }
    assert len(states) == 1
    assert sm.Accumulator.from_bytes(states.pop()).finalize()["roc_auc"].upper == 1.0


def test_bounds_of_rounded_scores_are_attained():
    rows = {"y": [1, 0, 1, 0], "p": [0.5, 0.5, 1.0, 0.0]}
    auc = sm.binary(rounding=0.5, **BINARY).update(rows).finalize()["roc_auc"]
    assert (auc.lower, auc.value, auc.upper) == (0.75, 0.875, 1.0)
    single = sm.binary(rounding=0.5, **BINARY).update({"y": [1, 0], "p": [0.5, 0.0]}).finalize()["roc_auc"]
    assert single.lower == single.upper == 1.0
