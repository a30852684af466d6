"""Views of a confusion matrix: scikit-learn, brute force, any labels, many labels, groups, nothing."""

import collections

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from polars.testing import assert_frame_equal
from strategies import confusion_cells

import streammetrics as sm
from streammetrics.statistics.confusion import label_view, matrix_frame, most_confused, overall_view, weighted_kappa

LABELS = {
    "text": ["b", "a", "é", "B"],
    "integers": [10, -3, 2, 7],
    "booleans": [True, False],
    "floats": [0.5, -1.5, 3.0],
    "enum": pl.Series(["low", "mid", "high"], dtype=pl.Enum(["low", "mid", "high"])),
}
GROUPS = 4


def labelled(labels, seed=0, rows=300):
    """Actual and predicted labels, weights and groups; some labels occur on one side or in some groups only."""
    rng = np.random.default_rng(seed)
    series = pl.Series(labels)
    group = rng.integers(0, GROUPS, rows)
    actual, predicted = (rng.integers(0, np.minimum(len(series), group + side), rows) for side in (1, 2))
    return series[actual], series[predicted], rng.random(rows), group


def views(order, matrix):
    """Every view that is read group by group."""
    return {
        "label": lambda cells: label_view(cells, order),
        "overall": lambda cells: overall_view(cells, order),
        "natural": lambda cells: overall_view(cells),
        "recall": lambda cells: matrix_frame(cells, "actual"),
        "precision": lambda cells: matrix_frame(cells, "predicted"),
        "confused": lambda cells: most_confused(cells, 3),
        "kappa": lambda cells: weighted_kappa(cells, matrix, order),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [pytest.param(v, id=k) for k, v in LABELS.items() if k not in ("floats", "enum")])
def test_one_label_against_the_rest_equals_scikit_learn(labels, weighted):
    actual, predicted, weight, _ = labelled(labels)
    weight = weight if weighted else None
    view = label_view(confusion_cells(actual, predicted, weight))
    expected = sk.multilabel_confusion_matrix(actual.to_list(), predicted.to_list(), sample_weight=weight)
    found = np.stack([view["tn", "fp"], view["fn", "tp"]], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert view["label"].to_list() == sorted({*actual, *predicted})
    assert view["tp"].dtype == view["tn"].dtype == (pl.Float64 if weighted else pl.Int64)


@pytest.mark.parametrize("name", LABELS)
def test_labels_keep_their_type(name):
    actual, predicted, _, _ = labelled(LABELS[name])
    cells = confusion_cells(actual, predicted)
    kind = pl.Series(LABELS[name]).dtype
    assert label_view(cells).schema["label"] == label_view(cells, order=LABELS[name]).schema["label"] == kind
    for frame in (matrix_frame(cells), most_confused(cells, 3)):
        assert frame.schema["actual"] == frame.schema["predicted"] == kind


@pytest.mark.parametrize("seed", range(20))
def test_true_negatives_of_weights_are_no_dust(seed):
    """0.1 + 0.2 + 0.3 - 0.3 - 0.2 - 0.1 is no 0, and specificity would be 1 or negative."""
    weight = np.append(np.random.default_rng(seed).random(6), 1e-30)
    actual, predicted = [*"aabacac"], [*"bcaaabc"]
    apart = label_view(confusion_cells(actual, predicted, weight, group=[0, 0, 0, 0, 0, 1, 1]))
    assert apart.filter(group=0, label="a")["tn"].item() == 0
    assert label_view(confusion_cells(actual, predicted, weight)).filter(label="a")["tn"].item() >= 0


@pytest.mark.parametrize("order", [None, ["z", "é", "B", "a", "b", "y"]], ids=["natural", "given"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_labels_by_brute_force(order, weighted):
    actual, predicted, weight, _ = labelled(LABELS["text"])
    weight = weight if weighted else np.ones(len(actual))
    places = order or sorted({*actual, *predicted})
    view = overall_view(confusion_cells(actual, predicted, weight if weighted else None), order)
    rows = [(places.index(a), places.index(p), w) for a, p, w in zip(actual, predicted, weight, strict=True)]
    expected = {
        "correct": [sum(w for a, p, w in rows if a == p == i) for i in range(len(places))],
        "actual": [sum(w for a, _, w in rows if a == i) for i in range(len(places))],
        "predicted": [sum(w for _, p, w in rows if p == i) for i in range(len(places))],
        "distance": [sum(w * abs(a - p) for a, p, w in rows if a == i) for i in range(len(places))],
        "square_distance": [sum(w * (a - p) ** 2 for a, p, w in rows if a == i) for i in range(len(places))],
    }
    assert view.columns == ["group", *expected]
    for name, values in expected.items():
        assert view[name].to_list() == pytest.approx(values, rel=1e-12), name
        assert view[name].dtype.is_integer() != weighted, name


def test_distances_of_many_rows_and_labels_do_not_overflow():
    rows = 2**60
    cells = pl.DataFrame({"group": [0] * 2, "actual": [0, 999], "predicted": [999, 0], "count": [rows, 1]})
    view = overall_view(cells, order=range(1000))
    assert view["square_distance"][0] == rows * 999**2
    assert view["distance"][0] == rows * 999


@pytest.mark.parametrize("view", views(None, None))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LABELS)
def test_groups_are_read_as_if_alone(view, name, weighted):
    actual, predicted, weight, group = labelled(LABELS[name])
    order = pl.Series(LABELS[name]).reverse().to_list()
    read = views(order, np.random.default_rng(0).random((len(order), len(order))))[view]
    cells = confusion_cells(actual, predicted, weight if weighted else None, group)
    alone = pl.concat(read(cells.filter(group=g)) for g in range(GROUPS))
    assert set(alone["group"]) == set(range(GROUPS))
    assert_frame_equal(read(cells), alone, rel_tol=1e-12, abs_tol=1e-13)


@pytest.mark.parametrize("view", views(None, None))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_rows_give_no_rows(view, weighted):
    read = views(["a", "b"], np.eye(2))[view]
    cells = confusion_cells(["a"], ["b"], [1.0] if weighted else None)
    empty = read(cells.clear())
    assert empty.height == 0
    assert empty.schema == read(cells).schema


@pytest.mark.parametrize("order", [(), ("low", "high")], ids=["natural", "given"])
def test_an_empty_accumulator_is_undefined(order):
    acc = sm.Accumulator(sm.ConfusionMatrix(order), y_true="y", y_pred="z")
    assert acc.finalize(["kappa(weights=linear)"])["kappa(weights=linear)"].note == "undefined: 0/0"
    other = acc.empty().update({"y": ["low", "high"], "z": ["low", "low"]})
    assert (acc + other).finalize(["accuracy"])["accuracy"].value == 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("normalize", "sk_normalize"), [(None, None), ("actual", "true"), ("predicted", "pred"), ("all", "all")]
)
def test_cells_equal_scikit_learn(normalize, sk_normalize, weighted):
    actual, predicted, weight, _ = labelled(LABELS["text"])
    weight = weight if weighted else None
    frame = matrix_frame(confusion_cells(actual, predicted, weight), normalize)
    labels = sorted({*actual, *predicted})
    expected = sk.confusion_matrix(actual, predicted, labels=labels, sample_weight=weight, normalize=sk_normalize)
    found = np.zeros_like(expected, dtype=float)
    for a, p, value in frame.select("actual", "predicted", "share" if normalize else "count").rows():
        found[labels.index(a), labels.index(p)] = value
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert frame.height == np.count_nonzero(expected)
    assert frame.select("actual", "predicted").rows() == sorted(frame.select("actual", "predicted").rows())


@pytest.mark.parametrize("labels", [["minor", "medium", "severe"], [3, 1, 2]])
def test_cells_are_in_the_order_of_the_declared_labels(labels):
    rows = {"y": labels * 3, "z": sorted(labels) * 2 + labels, "g": [0, 1, 2] * 3}
    declared = sm.multiclass(y_true="y", y_pred="z", order=labels, by="g").update(rows).finalize()
    cells = declared.confusion_matrix().select("g", "actual", "predicted").rows()
    assert cells == sorted(cells, key=lambda cell: (cell[0], *map(labels.index, cell[1:])))
    without = sm.multiclass(y_true="y", y_pred="z").update(rows).finalize().confusion_matrix()
    assert without["actual"].to_list() == sorted(without["actual"])


@pytest.mark.parametrize("n", [1, 3, 100])
def test_most_confused_by_brute_force(n):
    actual, predicted, _, group = labelled(LABELS["integers"])
    found = most_confused(confusion_cells(actual, predicted, group=group), n)
    expected = []
    for g in range(GROUPS):
        pairs = [(a, p) for a, p, h in zip(actual, predicted, group, strict=True) if h == g]
        of_label = collections.Counter(a for a, _ in pairs)
        errors = collections.Counter(pair for pair in pairs if pair[0] != pair[1])
        ranked = sorted(errors.items(), key=lambda item: (-item[1], item[0]))[:n]
        expected += [(g, a, p, c, c / of_label[a], c / errors.total()) for (a, p), c in ranked]
    assert found.rows() == expected


def test_ties_of_confused_pairs_are_sorted_by_label():
    found = most_confused(confusion_cells(["b", "a", "b", "c"], ["a", "b", "c", "c"]), 2)
    assert found.select("actual", "predicted").rows() == [("a", "b"), ("b", "a")]
    with pytest.raises(sm.SpecificationError, match="n= must be at least 1, got 0"):
        most_confused(confusion_cells(["b"], ["a"]), 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_kappa_by_brute_force(weighted, seed):
    """Any matrix, its diagonal included: the mean weight of the rows against that of all pairs of rows."""
    actual, predicted, weight, _ = labelled([3, 1, 2, 5], seed, rows=60)
    weight = weight if weighted else np.ones(60)
    matrix = np.random.default_rng(seed).normal(size=(5, 5))
    order = [2, 5, 4, 3, 1]
    a, p = ([order.index(x) for x in side] for side in (actual, predicted))
    error = sum(w * matrix[j, i] for i, j, w in zip(a, p, weight, strict=True)) / sum(weight)
    pairs = [(matrix[j, i], v * w) for i, v in zip(a, weight, strict=True) for j, w in zip(p, weight, strict=True)]
    baseline = sum(m * w for m, w in pairs) / sum(w for _, w in pairs)
    found = weighted_kappa(confusion_cells(actual, predicted, weight if weighted else None), matrix, order)
    assert found["kappa"].item() == pytest.approx(1 - error / baseline, rel=1e-10)


@pytest.mark.parametrize("order", [None, range(4, -1, -1)], ids=["natural", "given"])
def test_rows_of_many_groups_are_in_order(order):
    rng = np.random.default_rng(0)
    actual, predicted = rng.integers(0, 5, (2, 4_000))
    cells = confusion_cells(actual, predicted, group=rng.integers(0, 1_000, 4_000))
    view = label_view(cells, order)
    direction = 1 if order is None else -1
    assert view.select("group", "label").rows() == sorted(
        view.select("group", "label").rows(), key=lambda r: (r[0], direction * r[1])
    )
    for frame in (overall_view(cells, order), weighted_kappa(cells, np.eye(5), order), most_confused(cells, 2)):
        assert frame["group"].is_sorted()


def test_thousands_of_labels_stay_sparse():
    rng = np.random.default_rng(0)
    actual, predicted = rng.integers(0, 5_000, (2, 10_000))
    cells = confusion_cells(actual, predicted)
    view, frame = label_view(cells), matrix_frame(cells, "actual")
    labels = np.union1d(actual, predicted)
    assert view["label"].to_list() == labels.tolist()
    assert view["tp"].to_list() == np.bincount(actual[actual == predicted], minlength=5_000)[labels].tolist()
    assert (view["tp"] + view["fn"]).to_list() == np.bincount(actual, minlength=5_000)[labels].tolist()
    assert (view["tp"] + view["fp"]).to_list() == np.bincount(predicted, minlength=5_000)[labels].tolist()
    assert (view["tp"] + view["fp"] + view["fn"] + view["tn"] == 10_000).all()
    place = {label: i for i, label in enumerate(labels.tolist())}
    steps = np.abs([place[a] - place[p] for a, p in zip(actual.tolist(), predicted.tolist(), strict=True)])
    overall = overall_view(cells)
    assert overall["distance"].sum() == steps.sum()
    assert overall["square_distance"].sum() == (steps**2).sum()
    assert frame.height == cells.height
    assert most_confused(cells, 5).height == 5
