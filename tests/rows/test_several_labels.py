"""Rows with several labels: one binary task each, sets of labels, averages; against scikit-learn."""

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from polars.testing import assert_frame_equal
from strategies import use_small_chunks

import streammetrics as sm

LABELS = ["news", "sport", "art"]
TRUE, PRED, SCORE = ({label: f"{role}_{label}" for label in LABELS} for role in "yzp")
OF_A_LABEL = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "jaccard": lambda *a, **kw: sk.jaccard_score(*a, **kw | {"zero_division": 0}),
}
BINARY = ("roc_auc", "average_precision", "ks", "best_f1", "log_loss", "brier_score", "ece", "mcc", "kappa", "accuracy")


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def rows(seed=0, count=300):
    """Labels, scores, predictions, weights and groups; some rows have no label, and no row of "art" is predicted."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, (count, 3)) * [1, 1, 0.49]
    y, z = rng.random((count, 3)) < p, rng.random((count, 3)) < p * [1, 1, 0]
    kinds = zip((TRUE, PRED, SCORE), (y, z, p), strict=True)
    columns = {names[label]: of[:, i] for names, of in kinds for i, label in enumerate(LABELS)}
    return pl.DataFrame(columns | {"w": rng.random(count) + 0.1, "g": rng.integers(0, 2, count)})


def arrays(frame, *kinds):
    return [frame.select(kind.values()).to_numpy().astype(float if kind is SCORE else int) for kind in kinds]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("predicted", ["y_pred", "y_score"])
def test_equals_scikit_learn(predicted, weight):
    frame = rows()
    roles = {"y_pred": PRED} if predicted == "y_pred" else {"y_score": SCORE, "threshold": 0.4}
    report = sm.multilabel(y_true=TRUE, sample_weight=weight, by="g", **roles).update(frame).finalize()
    for (group,), part in frame.group_by("g"):
        y, z, p = arrays(part, TRUE, PRED, SCORE)
        z = z if predicted == "y_pred" else (p >= 0.4).astype(int)
        w = {"sample_weight": part["w"].to_numpy() if weight else None}
        assert report.get("subset_accuracy", g=group).value == exactly(sk.accuracy_score(y, z, **w))
        assert report.get("hamming_loss", g=group).value == exactly(sk.hamming_loss(y, z, **w))
        jaccard = sk.jaccard_score(y, z, average="samples", zero_division=0, **w)
        assert report.get("samples_jaccard", g=group).value == exactly(jaccard)
        for name, reference in OF_A_LABEL.items():
            for average in ("macro", "micro", "weighted"):
                expected = reference(y, z, average=average, zero_division=np.nan, **w)
                assert report.get(f"{name}(average={average})", g=group).value == exactly(expected), (name, average)
        if predicted == "y_score":
            for average in ("macro", "micro", "weighted"):
                for name, reference in (
                    ("roc_auc", sk.roc_auc_score),
                    ("average_precision", sk.average_precision_score),
                ):
                    found = report.get(f"{name}(average={average})", g=group)
                    assert found.value == exactly(reference(y, p, average=average, **w)), (name, average)


@pytest.mark.parametrize("capacity", [16, 4096])
def test_one_label_is_a_binary_task(capacity):
    frame = rows(1)
    report = sm.multilabel(y_true=TRUE, y_score=SCORE, by="g", capacity=capacity).update(frame).finalize()
    for label in LABELS:
        task = sm.binary(y_true=TRUE[label], y_score=SCORE[label], by="g", capacity=capacity).update(frame).finalize()
        for metric in BINARY:
            found, expected = report.rows(metric, label=label), task.rows(metric)
            assert_frame_equal(found.drop("label"), expected.select(found.drop("label").columns), rel_tol=1e-12)


@pytest.mark.parametrize("kind", [pl.List, lambda inner: pl.Array(inner, 3)], ids=["lists", "arrays"])
def test_lists_are_as_columns(kind):
    frame = rows(2)
    lists = frame.select(
        y=pl.concat_list(pl.col(TRUE.values()).cast(pl.Int8)).cast(kind(pl.Int8)),
        z=pl.concat_list(PRED.values()).cast(kind(pl.Boolean)),
        p=pl.concat_list(SCORE.values()).cast(kind(pl.Float64)),
    )
    listed = sm.multilabel(y_true="y", y_pred="z", y_score="p", labels=LABELS).update(lists)
    columns = sm.multilabel(y_true=TRUE, y_pred=PRED, y_score=SCORE).update(frame)
    mixed = sm.multilabel(y_true="y", y_pred=PRED, y_score="p").update(lists.hstack(frame))
    assert listed.finalize().frame.equals(columns.finalize().frame)
    assert mixed.finalize().frame.equals(columns.finalize().frame)


FAULTS = {
    "short": ({"y": [[1, 0], [1]]}, r"'y' contains lists whose length is not 2 in 1 of 2 rows \(first: \[1\] "),
    "null": ({"y": [[1, 0], None]}, "'y' contains null or NaN in 1 of 2 rows"),
    "null item": ({"y": [[1, None], [1, 0]]}, "'y' contains null or NaN in 1 of 2 rows"),
    "third value": ({"y": [[1, 2], [1, 0]]}, "'y' contains labels other than 0 and 1 in 1 of 2 rows"),
    "score": (
        {"p": [[0.5, 1.5], [0.1, 0.1]]},
        r"'p' contains scores outside \[0, 1\] .* Pass probabilities \(percentages divided by 100\)\.$",
    ),
}


@pytest.mark.parametrize(("columns", "message"), FAULTS.values(), ids=FAULTS)
def test_faulty_rows_are_named_and_change_nothing(columns, message):
    good = {"y": [[1, 0], [1, 1]], "p": [[0.5, 0.5], [0.9, 0.8]]}
    acc = sm.multilabel(y_true="y", y_score="p", labels=["a", "b"]).update(good)
    before = acc.to_bytes()
    with pytest.raises(sm.DataError, match=message):
        acc.update(good | columns)
    assert acc.to_bytes() == before


def test_a_column_that_holds_no_lists():
    with pytest.raises(sm.ColumnError, match="'z' must be a list of 3 values, got Boolean"):
        sm.multilabel(y_true=TRUE, y_pred={"a model": "z"}).update(rows().with_columns(z=pl.lit(True)))
    with pytest.raises(sm.ColumnError, match="'y' must be a list of 2 values, got Int64"):
        sm.multilabel(y_true="y", y_pred="z", labels=["a", "b"]).update({"y": [1], "z": [[1, 0]]})


@pytest.mark.parametrize("values", [[], [None, None]], ids=str)
def test_columns_of_lists_that_are_all_null(values):
    acc = sm.multilabel(y_true="y", y_score="p", labels=["a", "b"], nulls="drop").update({"y": values, "p": values})
    assert acc.finalize()["dropped"].value == len(values)


def test_nulls_and_weights_of_zero_drop_the_row_for_all_labels():
    acc = sm.multilabel(y_true={"a": "y", "b": "v"}, y_pred={"a": "z", "b": "u"}, nulls="drop", sample_weight="w")
    rows = {"y": [1, None, 1, 0], "v": [1, 1, 1, 0], "z": [1, 1, 1, 0], "u": [1, 1, None, 1], "w": [2.0, 1.0, 1.0, 0.0]}
    report = acc.update(rows).finalize()
    assert (report["rows"].value, report["dropped"].value) == (1, 3)
    assert report.get("true_positives", label="b").value == 2


def test_batches_in_which_no_row_is_left_keep_the_fractions_of_others(monkeypatch):
    """Of no rows numpy makes sums of floats integers."""
    use_small_chunks(monkeypatch, rows=4)
    acc = sm.multilabel(y_true={"a": "y", "b": "v"}, y_pred={"a": "z", "b": "u"}, nulls="drop")
    for y in (1, None, 1, None):
        acc.update({"y": [y] * 3, "v": [1] * 3, "z": [1] * 3, "u": [0] * 3})
    assert acc.finalize()["samples_jaccard"].value == 0.5


def test_a_single_label():
    acc = sm.multilabel(y_true={"a": "y"}, y_score={"a": "p"}).update({"y": [1, 0, 1], "p": [0.9, 0.6, 0.4]})
    report, task = acc.finalize(), sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.6, 0.4]})
    assert report.get("roc_auc", label="a") == report["roc_auc(average=micro)"] == task.finalize()["roc_auc"]
    assert report["subset_accuracy"] == task.finalize()["accuracy"]
    listed = sm.multilabel(y_true="y", y_score="p", labels=["a"]).update({"y": [[1], [0]], "p": [[0.9], [0.6]]})
    assert listed.finalize()["subset_accuracy"].value == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_true": TRUE}, "y_score=, y_pred=, or both"),
        ({"y_true": "y", "y_pred": "z"}, "Map each label to a column"),
        (
            {"y_true": TRUE, "y_pred": {"art": "z"}},
            "Columns are mapped for the labels 'art', but the labels are 'news', 'sport', 'art'",
        ),
        ({"y_true": TRUE, "y_score": SCORE, "threshold": float("nan")}, "threshold= must be a number, got nan"),
        ({"y_true": TRUE, "y_score": SCORE, "threshold": 1.5}, "threshold= must be between 0 and 1 for probabilities"),
        ({"y_true": TRUE, "y_score": SCORE, "threshold": "0.5"}, "threshold= must be a number, got '0.5'"),
    ],
)
def test_specifications_that_do_not_fit(options, message):
    with pytest.raises(sm.SpecificationError, match=message):
        sm.multilabel(**options)


def test_curves_and_operating_points_keep_labels_apart():
    frame = rows(4)
    report = sm.multilabel(y_true=TRUE, y_score=SCORE).update(frame).finalize()
    for label in LABELS:
        task = sm.binary(y_true=TRUE[label], y_score=SCORE[label], capacity=4096).update(frame).finalize()
        for kind in ("roc", "pr", "calibration"):
            assert report.curve(kind).filter(label=label).drop("label").equals(task.curve(kind))
        point = report.operating_point(maximize="youden_j").filter(label=label).drop("label")
        assert point.equals(task.operating_point(maximize="youden_j"))
