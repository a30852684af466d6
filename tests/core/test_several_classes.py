"""Agreement over all labels: exact fractions, and what is undefined."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import confusion_cells

import streammetrics as sm
from streammetrics.metrics import several_classes as m
from streammetrics.statistics.confusion import overall_view

KAPPAS = {weights: m.kappa(weights=weights) for weights in (None, "linear", "quadratic")}


def read(metrics, cells, order=None):
    """Metrics and notes of each group, as reports read them: values off floats, notes off the counts."""
    view = overall_view(cells, order)
    floats = view.with_columns(pl.exclude("group").cast(pl.Float64))
    values = floats.group_by("group", maintain_order=True).agg(x.expression().alias(x.name) for x in metrics)
    said = [x.note_expression().alias(f"note of {x}") for x in metrics if x.note_expression() is not None]
    return values.join(view.group_by("group").agg(said), on="group", maintain_order="left")


def of_matrix(matrix):
    """Cells of a square matrix of counts, a row for each actual label."""
    cells = [(0, a, p, count) for a, row in enumerate(matrix) for p, count in enumerate(row) if count]
    kinds = {"group": pl.UInt32, "actual": pl.Int64, "predicted": pl.Int64, "count": pl.Int64}
    return pl.DataFrame(cells, kinds, orient="row")


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
    for (matrix, word), times in product(BANDS, (1, 10**15 + 37)):
        cells = of_matrix(matrix).with_columns(pl.col("count") * times)
        assert read([m.kappa], cells)["note of kappa"].item() == f"{word} agreement" == band(exact_kappa(matrix, None))


@settings(max_examples=10)
@given(matrix=matrices, times=st.sampled_from([1, 10**6 + 3, 10**15 + 37]))
def test_kappas_and_their_bands_equal_exact_fractions(matrix, times):
    cells = of_matrix(matrix).with_columns(pl.col("count") * times)
    found = read(KAPPAS.values(), cells, order=range(len(matrix)))
    for weights, kappa in KAPPAS.items():
        expected = exact_kappa(matrix, weights)
        value, note = found.select(kappa.name, f"note of {kappa}").row(0) if found.height else (None, None)
        assert note == band(expected), weights
        assert value == (None if expected is None else pytest.approx(float(expected), rel=1e-12, abs=1e-14)), weights


def test_perfect_and_reversed_predictions_of_many_rows():
    metrics = [m.accuracy, m.mcc, *KAPPAS.values()]
    for rows in (1, 800_000, 3_000_000_000, 10**17):
        perfect = read(metrics, of_matrix([[rows, 0, 0], [0, rows, 0], [0, 0, rows]]))
        swapped = read(metrics, of_matrix([[0, rows], [rows, 0]]))
        assert perfect.select(x.name for x in metrics).row(0) == (1.0,) * 5
        assert swapped.select(x.name for x in metrics).row(0) == (0.0,) + (-1.0,) * 4


def test_rounded_sums_of_one_label_have_no_correlation():
    for weight in ([0.1, 0.2], [5 * (10**15 + 37), 6 * (10**15 + 37)]):
        for labels in (["b", "b"], ["a", "b"]), (["a", "b"], ["b", "b"]):
            assert read([m.mcc], confusion_cells(*labels, weight))["mcc"].item() is None


def test_thousands_of_labels_do_not_cancel():
    """All rows on three labels far up: moments of the positions would cancel out here."""
    labels, rows = 5000, np.array([[900, 1, 0], [2, 5, 1], [0, 3, 10**9]])
    actual, predicted = (i.ravel() + labels - 3 for i in np.indices((3, 3)))
    cells = pl.DataFrame({"group": 0, "actual": actual, "predicted": predicted, "count": rows.ravel()})
    found = read(KAPPAS.values(), cells, order=range(labels))
    for weights, kappa in KAPPAS.items():
        assert found[kappa.name].item() == pytest.approx(float(exact_kappa(rows.tolist(), weights)), rel=1e-12)


def test_rows_of_one_label_give_kappa_no_interval_of_rounding():
    counts = {"loss": 200, "tie": 32, "win": 8}
    rows = {"y": ["loss"] * 240, "z": [label for label, n in counts.items() for _ in range(n)]}
    report = sm.multiclass(y_true="y", y_pred="z", labels=[*counts]).update(rows).finalize(["kappa"], confidence=0.95)
    assert (report["kappa"].value, report["kappa"].ci_lower) == (0, None)
