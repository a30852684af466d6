"""Several classes: labels of any type, probabilities, one label against the rest, averages; against scikit-learn."""

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from polars.testing import assert_frame_equal
from strategies import shards, use_small_chunks

import streammetrics as sm
from streammetrics import core
from streammetrics.testing.rows import merged_as_a_tree
from streammetrics.text.values import dates

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
OVERALL = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "kappa": sk.cohen_kappa_score,
    "kappa(weights=linear)": lambda *a, **kw: sk.cohen_kappa_score(*a, weights="linear", **kw),
}
OF_A_LABEL = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "jaccard": lambda *a, **kw: sk.jaccard_score(*a, **kw | {"zero_division": 0}),
    "fbeta(beta=2)": lambda *a, **kw: sk.fbeta_score(*a, beta=2, **kw),
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


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def averaged(name, average):
    return f"{name[:-1]}, average={average})" if name.endswith(")") else f"{name}(average={average})"


def predictions(seed=0, rows=400, digits=16):
    """Labels, probabilities (distinct, or of few values), predicted labels, weights and groups."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(LABELS), 0.6), rows).clip(1e-6)
    p /= p.sum(axis=1, keepdims=True)
    p = p if digits == 16 else np.floor(p * 10**digits) / 10**digits
    p[:, 0] = np.maximum(1 - p[:, 1:].sum(axis=1), 0)
    actual = np.where(rng.random(rows) < 0.5, p.argmax(axis=1), rng.integers(0, 4, rows))
    return pl.DataFrame(
        {
            "y": pl.Series(LABELS).gather(actual),
            **{SCORES[label]: p[:, i] for i, label in enumerate(LABELS)},
            "z": pl.Series([*LABELS, "bee"]).gather(rng.integers(0, 5, rows)),
            "w": rng.random(rows) + 0.1,
            "g": rng.integers(0, 2, rows),
        }
    )


def matrix(frame):
    return frame.select(SCORES.values()).to_numpy()


def evaluated(frame, **options):
    return sm.multiclass(**{"y_true": "y"} | options).update(frame).finalize()


def assert_as_binary(report, frame, positive, score, weight, capacity=4096, **keys):
    """Metrics of a report that are those of a binary task, bounds and notes included."""
    binary = sm.binary(y_true="t", y_score="s", sample_weight=weight, capacity=capacity)
    expected = binary.update(frame.with_columns(t=positive, s=score)).finalize()
    for metric in BINARY:
        found, of_binary = report.get(metric, **keys), expected[metric]
        assert (found.value, found.lower, found.upper) == exactly((of_binary.value, of_binary.lower, of_binary.upper))
        assert found.note == of_binary.note


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
    assert f"\n{dates(labels.cast(kept))[0]}  " in str(report)


@pytest.mark.parametrize("column", [pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series([1], dtype=pl.Int128)])
def test_labels_that_are_no_plain_values(column):
    with pytest.raises(sm.ColumnError, match="Class labels must be plain values"):
        evaluated(pl.DataFrame({"y": column, "z": column}), y_pred="z")


def test_labels_appear_as_they_come_and_unite():
    parts = [pl.DataFrame({"y": y, "z": z}) for y, z in ((["a"], ["b"]), (["c", "a"], ["c", "a"]), ([], []))]
    accs = [sm.multiclass(y_true="y", y_pred="z").update(p.cast(pl.String)) for p in parts]
    total = merged_as_a_tree(accs, np.random.default_rng(0))
    assert total.to_bytes() == evaluated_state(pl.concat(p.cast(pl.String) for p in parts))
    assert total.finalize().rows("recall")["label"].to_list() == ["a", "b", "c"]


def evaluated_state(frame):
    return sm.multiclass(y_true="y", y_pred="z").update(frame).to_bytes()


def test_a_batch_with_labels_of_another_type_is_refused_and_changes_nothing():
    acc = sm.multiclass(y_true="y", y_pred="z", by="g").update({"y": ["a"], "z": ["b"], "g": [1]})
    before = acc.to_bytes()
    for batch in (
        {"y": [1], "z": [1], "g": [1]},
        {"y": ["a"], "z": [1], "g": [1]},
        {"y": [DAYS[0]], "z": ["a"], "g": [1]},
    ):
        with pytest.raises(sm.ColumnError, match="Class labels have different types in different columns or batches"):
            acc.update(batch)
        assert acc.to_bytes() == before
    other = acc.empty().update({"y": [1], "z": [1], "g": [1]})
    with pytest.raises(sm.ColumnError, match=r"Class labels have different types.*Int64 and String. Cast them to"):
        acc.absorb(other)
    assert acc.to_bytes() == before


def test_integers_and_floats_are_the_same_labels():
    """As pandas reads integers with a missing value."""
    batches = [{"y": [1, 2], "z": [1.0, 1.0]}, {"y": [2.0, -0.0], "z": [2, 0]}]
    acc = sm.multiclass(y_true="y", y_pred="z")
    for batch in batches:
        acc.update(batch)
    assert acc.to_bytes() == acc.empty().update(batches[1]).update(batches[0]).to_bytes()
    assert acc.finalize().get("recall", label=2).value == 0.5
    assert acc.finalize().get("recall", label=0).value == 1.0


def test_null_labels_are_dropped_whatever_the_type_of_the_batch():
    acc = sm.multiclass(y_true="y", y_pred="z", nulls="drop")
    acc.update({"y": [None, None], "z": [None, None]})
    assert acc.finalize()["accuracy"].value is None
    acc.update({"y": ["a", None, "b"], "z": ["a", "b", None]}).update({"y": [None], "z": ["c"]})
    report = acc.finalize()
    assert (report["rows"].value, report["dropped"].value, report["accuracy"].value) == (1, 5, 1.0)
    assert acc.state.tables["confusion_matrix"].rows() == [(0, "a", "a", 1)]
    with pytest.raises(sm.DataError, match="'y' contains null or NaN in 1 of 2 rows"):
        evaluated(pl.DataFrame({"y": ["a", None], "z": ["a", "a"]}), y_pred="z")
    declared = evaluated(pl.DataFrame({"y": ["a", None], "z": ["a", "a"]}), y_pred="z", labels=["a"], nulls="drop")
    assert declared["rows"].value == 1


def test_rows_without_weight_leave_no_trace():
    acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w")
    acc.update({"y": ["a", "c", "b"], "z": ["a", "c", "d"], "w": [2.0, 0.0, 0.5]})
    cells = acc.state.tables["confusion_matrix"].select("actual", "predicted", "count").rows()
    assert cells == [("a", "a", 2.0), ("b", "d", 0.5)]
    assert acc.finalize()["accuracy"].value == 0.8


@pytest.mark.parametrize("by", [(), "g"], ids=["ungrouped", "grouped"])
def test_thousands_of_labels_stay_sparse(by):
    """So many that their square does not fit 32 bits."""
    rng = np.random.default_rng(0)
    y, z = rng.permutation(90_000), rng.permutation(90_000)
    frame = pl.DataFrame({"y": y, "z": np.where(rng.random(90_000) < 0.5, y, z), "g": y % 3})
    acc = sm.multiclass(y_true="y", y_pred="z", by=by).update(frame)
    cells = acc.rollup().state.tables["confusion_matrix"]
    expected = frame.select(actual="y", predicted="z").sort("actual")
    assert cells.select("actual", "predicted").equals(expected)
    assert acc.rollup().finalize(["accuracy"])["accuracy"].value == (frame["y"] == frame["z"]).mean()


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("predicted", ["y_pred", "y_score"])
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_predictions_equal_scikit_learn(predicted, weight):
    frame = predictions()
    roles = {"y_pred": "z"} if predicted == "y_pred" else {"y_score": SCORES}
    averages = [averaged(name, average) for name in OF_A_LABEL for average in ("macro", "micro", "weighted")]
    metrics = [*OVERALL, *OF_A_LABEL, *averages]
    report = evaluated(frame, by="g", sample_weight=weight, metrics=metrics, **roles)
    for (group,), rows in frame.group_by("g"):
        z = rows["z"] if predicted == "y_pred" else pl.Series(LABELS).gather(matrix(rows).argmax(axis=1))
        options = {"sample_weight": None if weight is None else rows["w"].to_numpy()}
        for name, reference in OVERALL.items():
            assert report.get(name, g=group).value == exactly(reference(rows["y"], z, **options)), name
        for name, reference in OF_A_LABEL.items():
            options["zero_division"] = np.nan
            for average in ("macro", "micro", "weighted"):
                expected = reference(rows["y"], z, average=average, **options)
                assert report.get(averaged(name, average), g=group).value == exactly(expected), (name, average)
            labels = sorted({*rows["y"], *z})
            for label, value in zip(labels, reference(rows["y"], z, average=None, **options), strict=True):
                found = report.get(name, g=group, label=label).value
                assert found == (None if np.isnan(value) else exactly(value)), (name, label)


@pytest.mark.parametrize("digits", [1, 16])
@pytest.mark.parametrize("weight", [None, "w"])
def test_probabilities_equal_scikit_learn(weight, digits):
    frame = predictions(1, digits=digits)
    order = np.argsort(LABELS)
    y, p, w = frame["y"].to_list(), matrix(frame)[:, order], {"sample_weight": frame[weight] if weight else None}
    report = evaluated(frame, y_score=SCORES, sample_weight=weight)
    for average in ("macro", "micro", "weighted"):
        auc = report[f"roc_auc(average={average})"]
        assert auc.value == exactly(sk.roc_auc_score(y, p, multi_class="ovr", average=average, **w))
        assert auc.exact
        precision = report[f"average_precision(average={average})"].value
        assert precision == exactly(sk.average_precision_score(y, p, average=average, **w))
    clipped = p.clip(1e-15)
    assert report["log_loss"].value == pytest.approx(sk.log_loss(y, clipped, **w), rel=1e-10)
    assert report["brier_score"].value == exactly(sk.brier_score_loss(y, p, scale_by_half=False, **w))
    if digits == 16:
        for k in (1, 2, 3):
            expected = sk.top_k_accuracy_score(y, p, k=k, **w)
            assert report[f"top_k_accuracy(k={k})"].value == exactly(expected)


@pytest.mark.parametrize("capacity", [16, 4096])
@pytest.mark.parametrize("weight", [None, "w"])
def test_one_label_is_a_binary_task_and_micro_pools_them(weight, capacity):
    frame = predictions(2)
    report = evaluated(frame, y_score=SCORES, sample_weight=weight, capacity=capacity)
    for label in LABELS:
        assert_as_binary(report, frame, pl.col("y") == label, SCORES[label], weight, capacity, label=label)
    if capacity == 4096:
        pooled = pl.concat(
            frame.select("w", t=pl.col("y") == label, s=SCORES[label], label=pl.lit(label)) for label in LABELS
        )
        micro = {name: averaged(name, "micro") for name in BINARY}
        expected = sm.binary(y_true="t", y_score="s", sample_weight=weight).update(pooled).finalize()
        for name, of_all in micro.items():
            assert report[of_all].value == exactly(expected[name].value), name


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("capacity", [8, 32])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_averages_hold_the_truth(seed, capacity, average):
    frame = predictions(seed, rows=1500)
    p = matrix(frame)[:, np.argsort(LABELS)]
    report = evaluated(frame, y_score=SCORES, capacity=capacity)
    auc, precision = (report[f"{name}(average={average})"] for name in ("roc_auc", "average_precision"))
    assert auc.lower < sk.roc_auc_score(frame["y"], p, multi_class="ovr", average=average) < auc.upper
    assert precision.lower < sk.average_precision_score(frame["y"], p, average=average) < precision.upper
    assert auc.lower <= auc.value <= auc.upper


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


def test_integers_booleans_and_categories_are_declared_labels():
    p = {"p": [0.9, 0.2], "q": [0.1, 0.8]}
    for labels, y in (
        (np.array([3, 5]), pl.Series([3, 5], dtype=pl.Int8)),
        (np.array([True, False]), pl.Series([True, False])),
        (np.array(["a", "b"]), pl.Series(["a", "b"], dtype=pl.Categorical)),
        (pl.Series([0.5, 2.0]), pl.Series([0.5, 2.0], dtype=pl.Float32)),
        ((3, 5), pl.Series([3.0, 5.0])),
    ):
        acc = sm.multiclass(y_true="y", y_score=dict(zip(list(labels), "pq", strict=True))).update({"y": y} | p)
        assert acc.finalize()["accuracy"].value == 1.0
        assert sm.Accumulator.from_bytes(acc.to_bytes()).to_bytes() == acc.to_bytes()
        assert sm.Accumulator.from_bytes(acc.to_bytes()).roles == acc.roles


FAULTS = {
    "sum": (
        {"a": [0.5, 0.7], "b": [0.5, 0.2]},
        r"'a \+ b' contains probabilities .* not sum to 1 in 1 of 2 .* 0.8999.*row 1",
    ),
    "nearly": ({"a": [0.5, 0.7], "b": [0.5, 0.3002]}, "renormalize=True"),
    "beyond one": (
        {"a": [1.2, 0.7], "b": [-0.2, 0.3]},
        r"'a' contains scores outside \[0, 1\] in 1 of 2 rows .*1.2 at row 0",
    ),
    "null": ({"a": [None, 0.7], "b": [1.0, 0.3]}, "'a' contains null or NaN in 1 of 2 rows"),
    "NaN": ({"a": [0.5, 0.7], "b": [0.5, float("nan")]}, "'b' contains null or NaN in 1 of 2 rows"),
    "label": (
        {"a": [0.5, 0.7], "b": [0.5, 0.3], "y": ["a", "c"]},
        r"'y' contains labels other than 'a', 'b' in 1 .*'c' at row 1",
    ),
    "prediction": ({"a": [0.5, 0.7], "b": [0.5, 0.3], "z": ["c", "a"]}, "'z' contains labels other than 'a', 'b'"),
}


@pytest.mark.parametrize(("columns", "message"), FAULTS.values(), ids=FAULTS)
def test_faulty_rows_are_named_and_change_nothing(columns, message):
    good = {"y": ["a", "b"], "z": ["a", "b"], "a": [0.5, 0.7], "b": [0.5, 0.3]}
    acc = sm.multiclass(y_true="y", y_pred="z", y_score={"a": "a", "b": "b"}).update(good)
    before = acc.to_bytes()
    with pytest.raises(sm.DataError, match=message):
        acc.update(good | columns)
    assert acc.to_bytes() == before


def test_labels_without_a_score_come_before_the_sums_that_they_explain(tmp_path):
    rows = pl.DataFrame({"y": ["a", "b", "c"], "a": [0.5, 0.2, 0.2], "b": [0.2, 0.5, 0.2], "c": [0.3, 0.3, 0.6]})
    rows.write_csv(tmp_path / "three.csv")
    task = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"})
    expected = r"'y' contains labels other than 'a', 'b' in 1 of 3 rows .*Pass y_score= for every label, or drop"
    with pytest.raises(sm.DataError, match=expected):
        task.update(rows)
    with pytest.raises(sm.DataError, match=expected):
        sm.evaluate(tmp_path / "three.csv", task)
    with pytest.raises(sm.DataError, match="probabilities that do not sum to 1 in 3 of 3 rows"):
        sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, nulls="drop").update(rows.with_columns(y=pl.lit("a")))


def test_sums_within_the_tolerance_pass():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(300), 50).astype(np.float32)
    columns = {f"p{i}": p[:, i] for i in range(300)}
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(300)})
    assert acc.update(columns | {"y": p.argmax(axis=1)}).finalize()["accuracy"].value == 1.0
    with pytest.raises(
        sm.DataError, match=r"'p0 \+ p1 \+ p2 \+ p3 \+ p4 \+ … \(300 columns\)' contains prob.* in 50 of 50"
    ):
        acc.update({name: p / 2 for name, p in columns.items()} | {"y": p.argmax(axis=1)})


def test_renormalized_votes():
    votes = {"y": ["a", "b"], "a": [3, 0], "b": [1, 7]}
    acc = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, renormalize=True)
    assert acc.update(votes).finalize()["log_loss"].value == pytest.approx(-np.log(0.75) / 2)
    for wrong in ([-1, 0], [np.inf, 0]):
        with pytest.raises(sm.DataError, match="negative or infinite scores in 1 of 2 rows"):
            acc.update(votes | {"a": wrong})
    with pytest.raises(sm.DataError, match="all 0"):
        acc.update({"y": ["a"], "a": [0], "b": [0]})


SHORT = [0.75, 0.05, 0.05, 0.05, 0.05]  # sums to 0.95, in floats to one of several numbers


def renormalized(rows, labels=tuple("abcde")):
    acc = sm.multiclass(y_true="y", y_score="p", labels=labels, renormalize=True)
    return acc.update(pl.DataFrame({"y": [labels[i % len(labels)] for i in range(len(rows))], "p": rows}))


def test_renormalized_rows_of_the_same_numbers_tie():
    """The order of the addends moves the last bit of a sum."""
    rows = [SHORT, *(SHORT[i:] + SHORT[:i] for i in range(1, 5)), SHORT[::-1]]
    assert len({reduce(add, row) for row in rows}) > 1  # sum() is more precise since Python 3.12
    table = renormalized(rows).state.tables["score_histogram"]
    assert table["bin"].n_unique() == 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        row = rng.random(5)
        table = renormalized([rng.permutation(row).tolist() for _ in range(9)]).state.tables["score_histogram"]
        assert table["bin"].n_unique() == 5


def test_renormalized_rows_of_the_same_sum_tie():
    """0.1 + 0.2 is no 0.3, but here it is."""
    rows = [[0.1, 0.2, 0, 0, 0], [0.1, 0.15, 0.05, 0, 0], [0.1, 0.05, 0.05, 0.05, 0.05], [0.1, 0.1, 0.1, 0, 0]]
    table = renormalized(rows).state.tables["score_histogram"].filter(pl.col("group") == 0)
    assert table["bin"].n_unique() == 1


def test_renormalized_ranking_is_that_of_the_decimals():
    rng = np.random.default_rng(3)
    hundredths = rng.multinomial(95, [0.2] * 5, size=400)
    rows = hundredths / 100
    truth = rng.integers(0, 5, 400)
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(5)}, renormalize=True)
    report = acc.update({"y": truth} | {f"p{i}": rows[:, i] for i in range(5)}).finalize()
    for label in range(5):
        assert report.get("roc_auc", label=label).value == pytest.approx(
            sk.roc_auc_score(truth == label, hundredths[:, label]), abs=1e-15
        )


def test_renormalized_rows_keep_what_is_certain():
    for x in (0.1234567890123456789, 5e-324, 8e307, 7.0, np.nextafter(0.3, 1)):
        table = renormalized([[x, 0, 0, 0, 0], [x, x, 0, 0, 0]]).state.tables["class_loss"]
        assert table["brier_sum"].to_list() == [0.0, 0.5]
    with pytest.raises(sm.DataError, match="whose sum overflows in 1 of 2 rows"):
        renormalized([SHORT, [1e308, 1e308, 0, 0, 0]])


def test_row_sums_are_exact():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.random((200, 30)), rng.random((200, 30)) ** 9 * 10.0 ** rng.integers(-9, 9, (200, 30))])
    sums = core.row_sums(list(rows.T))
    assert sums.tolist() == [math.fsum(row) for row in rows]
    decimals = rng.integers(0, 10**9, (300, 7))
    assert core.row_sums(list((decimals / 1e12).T)).tolist() == (decimals.sum(axis=1) / 1e12).tolist()
    assert np.isnan(core.row_sums([np.array([0.5]), np.array([np.nan])])).all()


def test_renormalized_rows_with_nulls_are_dropped():
    acc = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, renormalize=True, nulls="drop")
    report = acc.update({"y": ["a", "b"], "a": [3, None], "b": [1, 7]}).finalize()
    assert (report["rows"].value, report["dropped"].value) == (1, 1)


def test_renormalized_probabilities():
    frame = predictions(5)
    scaled = frame.with_columns(pl.col(SCORES.values()) * pl.col("w"))
    acc = sm.multiclass(y_true="y", y_score=SCORES, renormalize=True)
    found, expected = (acc.empty().update(f).finalize().frame for f in (scaled, frame))
    assert_frame_equal(found, expected, rel_tol=1e-12)
    with pytest.raises(sm.DataError, match="that are all 0 in 1 of 400 rows"):
        acc.update(
            frame.with_columns(
                pl.when(pl.int_range(pl.len()) == 7).then(0.0).otherwise(pl.col(SCORES.values())).name.keep()
            )
        )
    assert acc.seen == 0


SPECIFICATIONS = {
    "nothing predicted": ({}, "y_score=, y_pred=, or both"),
    "no labels": ({"y_score": "p"}, "Map each label to a column"),
    "text": ({"y_score": "p", "labels": "abc"}, "of one type, got 'abc'"),
    "mixed": ({"y_score": {1: "p", "b": "q"}}, "of one type, got 1, 'b'"),
    "equal": ({"y_score": "p", "labels": [True, 1, 0]}, "of one type"),
    "twice": ({"y_score": "p", "labels": ["a", "b", "a"]}, "'a' is repeated"),
    "null": ({"y_score": {None: "p", "b": "q"}}, "must not contain null or NaN"),
    "NaN": ({"y_score": {float("nan"): "p", 1.0: "q"}}, "must not contain null or NaN"),
    "days": ({"y_score": "p", "labels": DAYS}, "strings, numbers, or Booleans"),
    "wide integers": ({"y_score": "p", "labels": [2**80, 1]}, "strings, numbers, or Booleans"),
    "lists": ({"y_score": "p", "labels": [[1], [2]]}, "strings, numbers, or Booleans"),
    "other labels": ({"y_score": {"a": "p", "c": "q"}, "labels": ["a", "b"]}, "'a', 'c', but the labels are 'a', 'b'"),
    "order of others": (
        {"y_score": {"a": "p", "b": "q"}, "order": ["a", "c"]},
        "'a', 'b', but the labels are 'a', 'c'",
    ),
    "order of fewer": (
        {"y_pred": "z", "labels": ["a", "b"], "order": ["a"]},
        "orders the labels 'a', but the .* are 'a', 'b'",
    ),
    "order twice": ({"y_pred": "z", "order": ["a", "a"]}, "'a' is repeated"),
    "unnamed models": ({"y_pred": {0: "z", 1: "z"}}, "each must have a name"),
    "other models": ({"y_pred": {"m": "z"}, "y_score": {"n": {"a": "p", "b": "q"}}}, "the same models"),
    "pairs of nothing": ({"y_pred": "z", "one_vs_one": True}, "one_vs_one= requires y_score="),
}


@pytest.mark.parametrize(("options", "message"), SPECIFICATIONS.values(), ids=SPECIFICATIONS)
def test_specifications_that_do_not_fit(options, message):
    with pytest.raises(sm.SpecificationError, match=message):
        sm.multiclass(y_true="y", **options)


@pytest.mark.parametrize(
    ("statistic", "roles", "message"),
    [
        (sm.ConfusionMatrix(), {"y_score": "p"}, "Map each label to a column"),
        (sm.ConfusionMatrix(), {}, "ConfusionMatrix requires y_pred=, or y_score="),
        (sm.ConfusionMatrix(), {"y_pred": "z", "task": "binary"}, "ConfusionMatrix cannot be used in binary tasks"),
        (sm.ProbabilityLoss(), {"y_score": "p", "task": "regression"}, "ProbabilityLoss cannot be used in regression"),
        (sm.ClassLoss(), {"y_pred": "z"}, "ClassLoss requires y_score="),
        (sm.ConfusionCounts(), {"y_score": "p", "labels": ["a"]}, "labels= applies to multiclass"),
        (sm.Histogram(of="y_pred"), {"y_pred": "z", "task": "multiclass"}, "Histogram requires a score for each label"),
    ],
)
def test_statistics_that_the_columns_cannot_feed(statistic, roles, message):
    with pytest.raises(sm.SpecificationError, match=message):
        sm.Accumulator(statistic, y_true="y", **roles)


def test_reports_of_ordered_labels_show_weighted_kappa_first():
    for order, first in (((1, 2, 3), "kappa(weights=quadratic)"), ((), "accuracy")):
        acc = sm.multiclass(y_true="y", y_pred="z", order=order).update({"y": [1, 3, 2], "z": [1, 2, 2]})
        assert [metric.name for metric in acc.finalize().metrics][2] == first
        assert ("kappa(weights=quadratic)" in str(acc.finalize())) == bool(order)


def test_an_order_declares_the_labels():
    acc = sm.multiclass(y_true="y", y_pred="z", order=["low", "mid", "high"])
    acc.update({"y": ["low", "high", "mid"], "z": ["low", "mid", "mid"]})
    assert acc.finalize().rows("f1")["label"].to_list() == ["low", "mid", "high"]
    assert acc.finalize()["kappa(weights=linear)"].value == exactly(
        sk.cohen_kappa_score([0, 2, 1], [0, 1, 1], weights="linear")
    )
    advice = "Pass labels= or order= with every label, or drop these rows first"
    with pytest.raises(sm.DataError, match=f"labels other than 'low', 'mid', 'high' .*{advice}"):
        acc.update({"y": ["none"], "z": ["low"]})


@pytest.mark.parametrize("by", [(), "g"], ids=["ungrouped", "grouped"])
@pytest.mark.parametrize("roles", [{"y_pred": "z"}, {"y_score": SCORES, "one_vs_one": True}], ids=["labels", "scores"])
def test_without_rows_everything_is_null(roles, by):
    frame = predictions(0)[:3].with_columns(y=None)
    acc = sm.multiclass(y_true="y", nulls="drop", by=by, **roles)
    names = [averaged("f1", average) for average in ("macro", "micro", "weighted")] + ["accuracy", "mcc"]
    names += ["roc_auc_ovo", "roc_auc(average=macro)"] * ("y_score" in roles)
    for filled in [acc.update(frame)] + ([] if by else [acc.empty()]):
        found = filled.finalize(names).frame
        assert found.height == len(set(names)) * max(1, filled.state.groups.height)
        assert found["value"].null_count() == found["note"].is_not_null().sum() == found.height
        assert set(filled.finalize(["true_positives(average=micro)"]).frame["value"]) == {0.0}


def test_an_average_says_for_how_many_labels_it_is_undefined():
    rows = {"y": ["a", "a", "b"], "a": [0.8, 0.1, 0.2], "b": [0.1, 0.8, 0.2], "c": [0.1, 0.1, 0.6]}
    report = evaluated(rows, y_score={label: label for label in "abc"})
    assert report.get("roc_auc", label="c") == sm.Estimate(None, None, None, "no positives")
    assert report["roc_auc(average=macro)"].note == "undefined for 1 of 3 labels"
    assert report["roc_auc(average=macro)"].value == np.mean([report.get("roc_auc", label=x).value for x in "ab"])
    assert report["recall(average=macro)"].note == "undefined for 1 of 3 labels"
    assert report["precision(average=macro)"].note is None
    infinite = report["class_imbalance(average=weighted)"]  # of "c", which has no rows and no weight
    assert infinite.value == pytest.approx((2 / 1 * 2 + 2 / 1 * 1) / 3)
    with pytest.raises(sm.MetricError, match=r"the statistic ProbabilityLoss\. In Python, pass it to Accumulator\.$"):
        report["log_loss(average=macro)"]


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
    points = report.operating_point(maximize="f1", where="recall >= 0.3")
    assert points.select("g", "label").rows() == [(g, label) for g in (0, 1) for label in LABELS]
    for row in points.iter_rows(named=True):
        rows = frame.filter(g=row["g"])
        y, z = (rows["y"] == row["label"]).to_numpy(), (rows[SCORES[row["label"]]] >= row["threshold"]).to_numpy()
        assert row["value"] == exactly(sk.f1_score(y, z))
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
    for read in (
        lambda **keys: report.curve("roc", **keys),
        lambda **keys: report.operating_point(maximize="f1", **keys),
    ):
        with pytest.raises(sm.ReportError, match=r"Unknown key 'fpr'\. Keys: g, label\."):
            read(fpr=0.1)


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
    assert evaluated(rows, y_pred="z").violations("accuracy > 0.9") == [
        "accuracy > 0.9 does not hold: accuracy is 0.666667."
    ]


def test_metrics_of_all_labels_can_be_read_for_one():
    frame = predictions(7)
    report = evaluated(frame, y_pred="z")
    y, z = frame["y"] == "cat", frame["z"] == "cat"
    assert report["kappa"].value == exactly(sk.cohen_kappa_score(frame["y"], frame["z"]))
    assert report.get("kappa", label="cat").value == exactly(sk.cohen_kappa_score(y, z))
    assert report.get("accuracy", label="cat").value == exactly((y == z).mean())
    assert report["accuracy(average=macro)"].value == np.mean(
        [report.get("accuracy", label=label).value for label in report.rows("recall")["label"]]
    )


def test_a_thousand_columns_are_not_all_printed():
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(1000)})
    assert "y_score=['p0', 'p1', 'p2', 'p3', 'p4', '…']" in repr(acc)


def test_a_metric_asked_for_with_its_default_written_out():
    report = evaluated(predictions(0), y_score=SCORES, one_vs_one=True)
    assert report["roc_auc_ovo(average=macro)"] == report["roc_auc_ovo"]
