"""Agreement over all labels: scikit-learn, published values, exact fractions, and what is undefined."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import confusion_cells

import streammetrics as sm
from streammetrics.metrics import several_classes as m
from streammetrics.metrics.metric import find_metric
from streammetrics.statistics.confusion import overall_view

COLUMNS = ("correct", "actual", "predicted", "distance", "square_distance")
KAPPAS = {weights: m.kappa(weights=weights) for weights in (None, "linear", "quadratic")}
METRICS = [
    *(m.accuracy, m.error_rate, m.balanced_accuracy, m.majority_accuracy, m.chance_agreement, m.mcc),
    *KAPPAS.values(),
]
LABELS = {
    "text": ["b", "a", "é", "B", "c"],
    "integers": [10, -3, 2, 7, 100],
    "booleans": [True, False],
    "one step": [1, 2],
}
REFERENCES = [
    (m.accuracy, sk.accuracy_score),
    (m.error_rate, sk.zero_one_loss),
    (m.balanced_accuracy, sk.balanced_accuracy_score),
    (m.mcc, sk.matthews_corrcoef),
    *((metric, lambda *a, w=w, **kw: sk.cohen_kappa_score(*a, weights=w, **kw)) for w, metric in KAPPAS.items()),
]


def read(metrics, cells, order=None):
    """Metrics and notes of each group, as reports read them: values off floats, notes off the counts."""
    view = overall_view(cells, order)
    floats = view.with_columns(pl.exclude("group").cast(pl.Float64))
    values = floats.group_by("group", maintain_order=True).agg(x.expression().alias(x.name) for x in metrics)
    said = [x.note_expression().alias(f"note of {x}") for x in metrics if x.note_expression() is not None]
    return values.join(view.group_by("group").agg(said), on="group", maintain_order="left")


def one(metric, cells, order=None):
    return read([metric], cells, order)[metric.name].item()


def sample(labels, seed, rows=200):
    """Actual and predicted labels that mostly agree; some occur on one side only."""
    rng = np.random.default_rng(seed)
    series = pl.Series(labels)
    actual = rng.integers(0, len(series) - (seed % 2) * (len(series) > 2), rows)
    predicted = np.where(rng.random(rows) < rng.random(), actual, rng.integers(0, len(series), rows))
    return series[actual], series[predicted], rng.random(rows)


def of_matrix(matrix):
    """Cells of a square matrix of counts, a row for each actual label."""
    cells = [(0, a, p, count) for a, row in enumerate(matrix) for p, count in enumerate(row) if count]
    kinds = {"group": pl.UInt32, "actual": pl.Int64, "predicted": pl.Int64, "count": pl.Int64}
    return pl.DataFrame(cells, kinds, orient="row")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LABELS)
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
def test_equals_scikit_learn(name, weighted, seed):
    actual, predicted, weight = sample(LABELS[name], seed)
    weight = weight if weighted else None
    found = read([metric for metric, _ in REFERENCES], confusion_cells(actual, predicted, weight))
    for metric, reference in REFERENCES:
        expected = reference(actual.to_list(), predicted.to_list(), sample_weight=weight)
        assert found[metric.name].item() == pytest.approx(expected, rel=1e-11, abs=1e-14), metric


@pytest.mark.parametrize("weighted", [False, True])
def test_best_constant_and_independent_predictions_by_brute_force(weighted):
    actual, predicted, weight = sample(LABELS["text"], 1)
    weight = weight if weighted else np.ones(len(actual))
    cells = confusion_cells(actual, predicted, weight if weighted else None)
    constant = max(np.average(actual == label, weights=weight) for label in LABELS["text"])
    chance = np.average(np.equal.outer(actual.to_numpy(), predicted.to_numpy()), weights=np.outer(weight, weight))
    assert one(m.majority_accuracy, cells) == pytest.approx(constant, rel=1e-12)
    assert one(m.chance_agreement, cells) == pytest.approx(chance, rel=1e-12)


@pytest.mark.parametrize("order", [["c", "z", "a", "B", "y", "x", "b", "é"], ["é", "a", "b", "c", "B"]], ids=len)
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_in_a_given_order_counts_steps_over_labels_without_rows(order, weights):
    actual, predicted, weight = sample(LABELS["text"], 2)
    cells = confusion_cells(actual, predicted, weight)
    expected = sk.cohen_kappa_score(actual, predicted, labels=order, weights=weights, sample_weight=weight)
    assert one(KAPPAS[weights], cells, order) == pytest.approx(expected, rel=1e-12)
    assert one(KAPPAS[weights], cells) != pytest.approx(expected, rel=1e-3)


# Artstein and Poesio (2008), tables 1 and 4; then the weighting example of scikit-learn's tests.
ARTSTEIN_1 = of_matrix([[20, 20], [10, 50]])
ARTSTEIN_4 = of_matrix([[46, 0, 0], [6, 32, 6], [0, 0, 10]])
WEIGHTING = of_matrix([[46, 0, 0], [4, 40, 0], [0, 0, 10]])
ANIMALS = of_matrix([[5, 3, 0], [2, 3, 1], [0, 2, 11]])


@pytest.mark.parametrize(
    ("cells", "weights", "value", "digits"),
    [
        (ARTSTEIN_1, None, 0.348, 3),
        (ARTSTEIN_4, None, 0.8013, 4),
        (WEIGHTING, None, 0.9315, 4),
        (WEIGHTING, "linear", 0.9412, 4),
        (WEIGHTING, "quadratic", 0.9541, 4),
    ],
)
def test_published_kappas(cells, weights, value, digits):
    assert round(one(KAPPAS[weights], cells), digits) == value


def test_three_classes_by_hand():
    """8, 6, 13 rows are actual, 7, 8, 12 predicted: 19 of 27 right, 56 + 48 + 156 = 260 of 729 by chance."""
    expected = {
        m.accuracy: 19 / 27,
        m.error_rate: 8 / 27,
        m.balanced_accuracy: (5 / 8 + 3 / 6 + 11 / 13) / 3,
        m.majority_accuracy: 13 / 27,
        m.chance_agreement: 260 / 729,
        m.kappa: (19 * 27 - 260) / (729 - 260),
        m.mcc: (19 * 27 - 260) / np.sqrt((729 - 49 - 64 - 144) * (729 - 64 - 36 - 169)),
    }
    assert read(expected, ANIMALS).drop("group", "note of kappa").row(0) == pytest.approx(tuple(expected.values()))


matrices = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=k, max_size=k)
)


def exact_kappa(matrix, weights):
    """As a fraction; None where it is 0/0."""
    power = {None: 0, "linear": 1, "quadratic": 2}[weights]
    k = range(len(matrix))
    rows, columns = [sum(row) for row in matrix], [sum(column) for column in zip(*matrix, strict=True)]
    weight = {(i, j): abs(i - j) ** power if i != j else 0 for i in k for j in k}
    error = sum(w * matrix[i][j] for (i, j), w in weight.items())
    expected = sum(w * rows[i] * columns[j] for (i, j), w in weight.items())
    return 1 - Fraction(sum(rows) * error, expected) if expected else None


def band(kappa):
    """As the docstring of the binary metric words it."""
    if kappa is None:
        return None
    edges = {"none to slight": 1, "fair": 2, "moderate": 3, "substantial": 4, "almost perfect": 5}
    inner = next((word for word, fifths in edges.items() if kappa <= Fraction(fifths, 5)), None)
    return f"{'poor' if kappa < 0 else 'perfect' if kappa == 1 else inner} agreement"


def uniform(size, agreed, confused):
    """Kappa is (agreed - confused) / (agreed + (size - 1) * confused)."""
    return [[agreed if i == j else confused for j in range(size)] for i in range(size)]


BANDS = [
    *((uniform(3, *cells), "none to slight") for cells in ((1, 1), (7, 4))),
    *((uniform(3, 3, 1), "fair"), (uniform(3, 11, 2), "moderate"), (uniform(3, 13, 1), "substantial")),
    *((uniform(4, 17, 1), "substantial"), (uniform(3, 1, 0), "perfect"), (uniform(3, 0, 1), "poor")),
]


def test_bands_of_kappa_are_exact_at_the_edges():
    for (matrix, word), times in product(BANDS, (1, 10**8, 10**15 + 37)):
        cells = of_matrix(matrix).with_columns(pl.col("count") * times)
        note = f"{word} agreement"
        assert read([m.kappa], cells)["note of kappa"].item() == note == band(exact_kappa(matrix, None))


@pytest.mark.thorough
@settings(max_examples=60)
@given(matrix=matrices, times=st.sampled_from([1, 10**6 + 3, 10**15 + 37]))
def test_kappas_and_their_bands_equal_exact_fractions(matrix, times):
    cells = of_matrix(matrix).with_columns(pl.col("count") * times)
    found = read(KAPPAS.values(), cells, order=range(len(matrix)))
    for weights, kappa in KAPPAS.items():
        expected = exact_kappa(matrix, weights)
        value, note = found.select(kappa.name, f"note of {kappa}").row(0) if found.height else (None, None)
        assert note == band(expected), weights
        assert value == (None if expected is None else pytest.approx(float(expected), rel=1e-12, abs=1e-14)), weights


@pytest.mark.parametrize("rows", [1, 800_000, 3_000_000_000, 10**17])
def test_perfect_and_reversed_predictions_of_many_rows(rows):
    perfect = read(METRICS, of_matrix([[rows, 0, 0], [0, rows, 0], [0, 0, rows]]))
    assert [perfect[x.name].item() for x in (m.accuracy, m.mcc, *KAPPAS.values())] == [1.0] * 5
    swapped = read(METRICS, of_matrix([[0, rows], [rows, 0]]))
    assert [swapped[x.name].item() for x in (m.accuracy, m.mcc, *KAPPAS.values())] == [0.0] + [-1.0] * 4


@pytest.mark.parametrize("weighted", [False, True])
def test_one_label_only(weighted):
    found = read(METRICS, confusion_cells(["a"] * 3, ["a"] * 3, [0.1, 0.2, 0.3] if weighted else None)).row(
        0, named=True
    )
    assert [found[x.name] for x in (m.accuracy, m.error_rate, m.majority_accuracy, m.chance_agreement)] == [1, 0, 1, 1]
    for metric in KAPPAS.values():
        assert found[metric.name] is found[f"note of {metric}"] is None
    assert found["mcc"] is None


def test_constant_predictions_are_no_agreement_beyond_chance():
    found = read(METRICS, confusion_cells(["a", "b", "c", "a"], ["a"] * 4)).row(0, named=True)
    assert [found[x.name] for x in KAPPAS.values()] == [0, 0, 0]
    assert found["mcc"] is None
    assert found["balanced_accuracy"] == 1 / 3


@pytest.mark.parametrize("weight", [[0.1, 0.2], [5 * (10**15 + 37), 6 * (10**15 + 37)]])
def test_rounded_sums_of_one_label_have_no_correlation(weight):
    for labels in (["b", "b"], ["a", "b"]), (["a", "b"], ["b", "b"]):
        assert read([m.mcc], confusion_cells(*labels, weight))["mcc"].item() is None


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_thousands_of_labels(weights):
    """All rows on three labels far up: moments of the positions would cancel out here."""
    labels, rows = 5000, np.array([[900, 1, 0], [2, 5, 1], [0, 3, 10**9]])
    actual, predicted = (i.ravel() + labels - 3 for i in np.indices((3, 3)))
    cells = pl.DataFrame({"group": 0, "actual": actual, "predicted": predicted, "count": rows.ravel()})
    expected = float(exact_kappa(rows.tolist(), weights))
    assert one(KAPPAS[weights], cells, order=range(labels)) == pytest.approx(expected, rel=1e-12)


def test_found_by_name_beside_metrics_of_two_classes():
    two, several = ("tp", "fp", "fn", "tn"), COLUMNS
    assert find_metric("kappa", several) == m.kappa
    assert find_metric("kappa(weights=linear)", [*two, *several]) == m.kappa(weights="linear")
    assert find_metric("kappa", two).columns == two
    with pytest.raises(sm.MetricError, match=r"cannot be computed from \(tp, fp, fn, tn\)"):
        find_metric("kappa(weights=linear)", two)
    with pytest.raises(sm.MetricError, match="Unknown option 'power' of kappa"):
        find_metric("kappa(power=2)", [*two, *several])


def test_other_weights_are_refused():
    with pytest.raises(sm.MetricError, match="weights= must be linear, quadratic, or None, got 'cubic'"):
        m.kappa(weights="cubic").expression()


def test_rows_of_one_label_give_kappa_no_interval_of_rounding():
    counts = {"loss": 200, "tie": 32, "win": 8}
    rows = {"y": ["loss"] * 240, "z": [label for label, n in counts.items() for _ in range(n)]}
    report = sm.multiclass(y_true="y", y_pred="z", labels=[*counts]).update(rows).finalize(["kappa"], confidence=0.95)
    assert (report["kappa"].value, report["kappa"].ci_lower) == (0, None)
