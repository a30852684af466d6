"""Several classes: labels of any type, probabilities, one label against the rest, averages; against scikit-learn."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from polars.testing import assert_frame_equal
from strategies import shards, use_small_chunks

import streammetrics as sm

LABELS = ["cow", "ant", "cat", "dog"]
SCORES = {label: f"p_{label}" for label in LABELS}
DAYS = [dt.date(2024, 1, d) for d in (3, 1, 2)]
KINDS = {
    "text": pl.Series(["b", "a", "é"]),
    "categories": pl.Series(["b", "a", "é"], dtype=pl.Categorical),
    "enum": pl.Series(["low", "high", "mid"], dtype=pl.Enum(["low", "mid", "high"])),
    "integers": pl.Series([3, -1, 7]),
    "bytes of integers": pl.Series([3, -1, 7], dtype=pl.Int8),
    "unsigned": pl.Series([3, 0, 2**64 - 1], dtype=pl.UInt64),
    "floats": pl.Series([0.5, -np.inf, 0.0]),
    "booleans": pl.Series([True, False]),
    "days": pl.Series(DAYS),
    "times": pl.Series(DAYS).cast(pl.Datetime("ms", "UTC")),
    "hours": pl.Series([dt.time(3), dt.time(1)]),
    "durations": pl.Series([dt.timedelta(3), dt.timedelta(1)]),
    "decimals": pl.Series([Decimal("1.5"), Decimal("-2.5")]),
}


BINARY = (
    "roc_auc",
    "average_precision",
    "pr_auc",
    "ks",
    "best_f1",
    "recall_at_fpr(fpr=0.2)",
    "ece",
    "brier_uncertainty",
)


def predictions(seed):
    """Labels, their probabilities, weights and groups."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(LABELS), 0.6), 400).clip(1e-6)
    p /= p.sum(axis=1, keepdims=True)
    actual = np.where(rng.random(400) < 0.5, p.argmax(axis=1), rng.integers(0, 4, 400))
    columns = {SCORES[label]: p[:, i] for i, label in enumerate(LABELS)}
    columns |= {"y": np.array(LABELS)[actual], "w": rng.random(400) + 0.1, "g": rng.integers(0, 2, 400)}
    return pl.DataFrame(columns)


def evaluated(frame, **options):
    return sm.multiclass(**{"y_true": "y"} | options).update(frame).finalize()


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_type(kind, tmp_path, monkeypatch):
    use_small_chunks(monkeypatch, rows=40)
    rng = np.random.default_rng(1)
    labels = KINDS[kind]
    y, z = (labels.gather(rng.integers(0, len(labels), 100)) for _ in range(2))
    frame = pl.DataFrame({"y": y, "z": z, "g": rng.integers(0, 3, 100)})
    acc = sm.multiclass(y_true="y", y_pred="z", by="g", metrics=["recall"])
    whole = acc.empty().update(frame)
    for part in shards(frame, rng, 4):
        acc.update(part)
    acc.save(tmp_path / "state")
    acc.save(tmp_path / "state.arrow")
    for same in (acc, sm.Accumulator.load(tmp_path / "state"), sm.Accumulator.load(tmp_path / "state.arrow")):
        assert same.to_bytes() == whole.to_bytes()
        assert same.update(frame).to_bytes() == (whole + whole).to_bytes()
    total = whole.rollup()
    cells = total.state.tables["confusion_matrix"]
    kept = cells.schema["actual"]
    assert kept == (pl.String if kind in ("categories", "enum") else labels.cast(kept).dtype)
    expected = Counter(zip(y.cast(kept), z.cast(kept), strict=True))
    assert {(a, b): n for a, b, n in cells.select("actual", "predicted", "count").rows()} == expected
    assert total.to_bytes() == sm.multiclass(y_true="y", y_pred="z", metrics=["recall"]).update(frame).to_bytes()
    report = total.finalize()
    assert report.frame.schema["label"] == kept


@pytest.mark.thorough
@pytest.mark.parametrize(("capacity", "weight"), [(16, "w"), (4096, None)])
def test_one_label_is_a_binary_task(weight, capacity):
    """Metrics of a report are those of a binary task, bounds and notes included."""
    frame = predictions(2)
    report = evaluated(frame, y_score=SCORES, sample_weight=weight, capacity=capacity)
    for label in LABELS:
        binary = sm.binary(y_true=pl.col("y") == label, y_score=SCORES[label], sample_weight=weight, capacity=capacity)
        expected = binary.update(frame).finalize()
        for metric in BINARY:
            found, of_binary = report.get(metric, label=label), expected[metric]
            limits, expected_limits = ((e.value, e.lower, e.upper) for e in (found, of_binary))
            assert limits == pytest.approx(expected_limits, rel=1e-12, abs=1e-15), metric
            assert found.note == of_binary.note


def test_of_equal_probabilities_the_first_label_wins():
    rows = {"y": ["b", "c", "a"], "a": [0.4, 0.2, 1 / 3], "b": [0.4, 0.4, 1 / 3], "c": [0.2, 0.4, 1 / 3]}
    for labels, right in (("abc", ["a", "b", "a"]), ("cba", ["b", "c", "c"]), ("bca", ["b", "b", "b"])):
        acc = sm.multiclass(y_true="y", y_score={label: label for label in labels}).update(rows)
        cells = acc.state.tables["confusion_matrix"]
        assert Counter(cells["predicted"].repeat_by(cells["count"]).explode().to_list()) == Counter(right)
        ranks = acc.state.tables["rank_counts"]
        first = ranks.filter(rank=1)["count"].sum()
        assert first == sum(r == y for r, y in zip(right, rows["y"], strict=True))
        assert acc.finalize()["top_k_accuracy(k=1)"] == acc.finalize()["accuracy"]


@pytest.mark.parametrize("kind", [pl.List(pl.Float64), pl.Array(pl.Float32, 4)], ids=["lists", "arrays"])
@pytest.mark.parametrize("models", [False, True], ids=["one", "models"])
def test_lists_of_probabilities_are_as_columns(kind, models):
    frame = predictions(3).with_columns(pl.col(SCORES.values()).cast(pl.Float32).cast(pl.Float64))
    lists = frame.with_columns(a=pl.concat_list(SCORES.values()).cast(kind)).with_columns(b="a")
    if models:
        listed = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, labels=LABELS).update(lists)
        columns = sm.multiclass(y_true="y", y_score={"a": SCORES, "b": SCORES}).update(frame)
        assert listed.roles.models == ("a", "b")
    else:
        listed = sm.multiclass(y_true="y", y_score="a", labels=LABELS).update(lists)
        columns = sm.multiclass(y_true="y", y_score=SCORES).update(frame)
    assert listed.finalize().frame.equals(columns.finalize().frame)


def test_models_side_by_side_are_as_if_alone():
    frame = predictions(4)
    other = dict(zip(reversed(LABELS), SCORES.values(), strict=True))
    both = sm.multiclass(y_true="y", y_score={"one": SCORES, "two": other}, by="g").update(frame)
    for model, scores in (("one", SCORES), ("two", {label: other[label] for label in LABELS})):
        alone = sm.multiclass(y_true="y", y_score=scores, by="g").update(frame).finalize().frame
        found = both.finalize().frame.filter(model=model).drop("model")
        assert_frame_equal(found, alone)


def test_reports_of_ordered_labels_show_weighted_kappa_first():
    for order, first in (((1, 2, 3), "kappa(weights=quadratic)"), ((), "accuracy")):
        acc = sm.multiclass(y_true="y", y_pred="z", order=order).update({"y": [1, 3, 2], "z": [1, 2, 2]})
        assert [metric.name for metric in acc.finalize().metrics][2] == first
        assert ("kappa(weights=quadratic)" in str(acc.finalize())) == bool(order)


def test_an_order_tells_the_type_of_labels_before_there_are_rows():
    report = sm.multiclass(y_true="y", y_pred="z", order=("low", "high")).finalize()
    assert report.confusion_matrix().schema == {"actual": pl.String, "predicted": pl.String, "count": pl.Int64}
    assert report.weighted_kappa([[0, 1], [1, 0]]).is_empty()
    with pytest.raises(sm.errors.SpecificationError, match="2 x 2"):
        report.weighted_kappa([[0]])


def test_an_average_says_for_how_many_labels_it_is_undefined():
    rows = {"y": ["a", "a", "b"], "a": [0.8, 0.1, 0.2], "b": [0.1, 0.8, 0.2], "c": [0.1, 0.1, 0.6]}
    report = evaluated(rows, y_score={label: label for label in "abc"})
    assert report.get("roc_auc", label="c") == sm.Estimate(None, None, None, "no positives", status="undefined")
    assert report["roc_auc(average=macro)"].note == "undefined for 1 of 3 labels"
    assert report["roc_auc(average=macro)"].value == np.mean([report.get("roc_auc", label=x).value for x in "ab"])
    assert report["recall(average=macro)"].note == "undefined for 1 of 3 labels"
    assert report["precision(average=macro)"].note is None
    infinite = report["class_imbalance(average=weighted)"]  # of "c", which has no rows and no weight
    assert infinite.value == pytest.approx((2 / 1 * 2 + 2 / 1 * 1) / 3)


def test_curves_and_operating_points_keep_labels_apart():
    frame = predictions(6)
    report = evaluated(frame, y_score=SCORES, by="g")
    for kind in ("roc", "calibration"):
        curve = report.curve(kind)
        assert curve.columns[:2] == ["g", "label"]
        for group, label in ((0, "cow"), (1, "dog")):
            rows = frame.filter(g=group).with_columns(t=pl.col("y") == label)
            alone = sm.binary(y_true="t", y_score=SCORES[label], capacity=4096).update(rows).finalize().curve(kind)
            assert curve.filter(g=group, label=label).drop("g", "label").equals(alone)
    points = report.operating_point(maximize="f1", subject_to="recall >= 0.3")
    assert points.select("g", "label").rows() == [(g, label) for g in (0, 1) for label in LABELS]
    for row in points.iter_rows(named=True):
        rows = frame.filter(g=row["g"])
        y, z = (rows["y"] == row["label"]).to_numpy(), (rows[SCORES[row["label"]]] >= row["threshold"]).to_numpy()
        assert row["value"] == pytest.approx(sk.f1_score(y, z))
        assert (row["tp"], row["fp"]) == ((y & z).sum(), (~y & z).sum())


def test_keys_select_curves_and_operating_points():
    frame = predictions(6)
    report = evaluated(frame, y_score=SCORES, by="g")
    for kind in ("roc", "calibration", "quantile_calibration", "scores"):
        assert report.curve(kind, g=1, label="dog").equals(report.curve(kind).filter(g=1, label="dog"))
    points = report.operating_point(maximize="f1", label="cow")
    assert points.equals(report.operating_point(maximize="f1").filter(label="cow"))
    models = sm.binary(y_true=pl.col("y") == "cow", y_score={"old": SCORES["cow"], "new": SCORES["dog"]})
    of_models = models.update(frame).finalize()
    assert set(of_models.curve("roc", model="old")["model"]) == {"old"}
    assert of_models.operating_point(maximize="f1", model="new")["model"].to_list() == ["new"]


def test_printed_reports_have_a_line_or_column_for_each_label():
    rows = {"y": ["a", "b", "a"], "z": ["a", "b", "c"], "g": [1, 1, 2]}
    lines = str(evaluated(rows, y_pred="z", metrics=["accuracy", "recall", "positives"])).splitlines()
    assert lines[2].split() == ["accuracy", "0.666667", "exact"]
    assert [line.split() for line in lines[4:]] == [
        ["label", "recall", "positives"],
        ["─" * 5, "─" * 6, "─" * 9],
        ["a", "0.5", "2"],
        ["b", "1.0", "1"],
        ["c", "–", "0"],
        ["Undefined", "values", "(–):", "0/0."],
    ]
    lines = str(evaluated(rows, y_pred="z", by="g", metrics=["recall", "f1"])).splitlines()
    assert lines[0].split("  ")[1:] == ["recall @ a", "recall @ b", "recall @ c", "f1 @ a", "f1 @ b", "f1 @ c"]
    starts = [lines[0].index(f"recall @ {label}") for label in "abc"]
    assert [line[s : s + 10].strip() for line in lines[2:4] for s in starts] == ["1", "1", "", "0", "", "–"]
    many = evaluated({"y": range(100), "z": range(100)}, y_pred="z", metrics=["recall", "f1"])
    *_, last, more = str(many).splitlines()
    assert last.split() == ["39", "1", "1"]
    assert more == "… and 60 more rows"


def test_a_thousand_columns_are_not_all_printed():
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(1000)})
    assert "y_score=['p0', 'p1', 'p2', 'p3', 'p4', '…']" in repr(acc)
