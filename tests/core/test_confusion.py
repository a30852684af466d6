"""Views of a confusion matrix: brute force over labels of any type, in any order, many labels, nothing."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from strategies import confusion_cells

import streammetrics as sm
from streammetrics.statistics.confusion import label_view, matrix_frame, most_confused, overall_view, weighted_kappa

LABELS = {  # in ascending order
    "text": ["B", "a", "b", "é"],
    "integers": [-3, 2, 7, 10],
    "booleans": [False, True],
    "floats": [-1.5, 0.5, 3.0],
    "enum": pl.Series(["low", "mid", "high"], dtype=pl.Enum(["low", "mid", "high"])),
}
WEIGHTS = np.random.default_rng(0).normal(size=(4, 4))  # the diagonal included
ROW = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(1, 9))


def by_hand(rows, order, ascending):
    """What the views have of the rows of a group, which are a true label, a predicted one, and a weight."""
    cells, total, place = Counter(), sum(w for *_, w in rows), order.index
    for a, p, w in rows:
        cells[a, p] += w
    actual, predicted = ({x: sum(row[2] for row in rows if row[side] == x) for x in order} for side in (0, 1))
    steps = {x: [sum(w * abs(place(a) - place(p)) ** n for a, p, w in rows if a == x) for n in (1, 2)] for x in order}
    in_order = sorted(cells, key=lambda cell: (place(cell[0]), place(cell[1])))
    wrong = [cell for cell in cells if cell[0] != cell[1]]
    ranked = sorted(wrong, key=lambda cell: (-cells[cell], ascending.index(cell[0]), ascending.index(cell[1])))
    error = sum(w * WEIGHTS[place(p), place(a)] for a, p, w in rows)
    baseline = sum(actual[a] * predicted[p] * WEIGHTS[place(p), place(a)] for a in order for p in order) / total
    return {
        "overall": [(cells[x, x], actual[x], predicted[x], *steps[x]) for x in order],
        "labels": [
            (x, cells[x, x], p - cells[x, x], a - cells[x, x], total - a - p + cells[x, x])
            for x, a, p in zip(order, actual.values(), predicted.values(), strict=True)
            if a or p
        ],
        "cells": [(a, p, cells[a, p]) for a, p in in_order],
        "of actual": [(a, p, cells[a, p], cells[a, p] / actual[a]) for a, p in in_order],
        "of predicted": [(a, p, cells[a, p], cells[a, p] / predicted[p]) for a, p in in_order],
        "of all": [(a, p, cells[a, p], cells[a, p] / total) for a, p in in_order],
        "confused": [
            (a, p, cells[a, p], cells[a, p] / actual[a], cells[a, p] / sum(map(cells.get, wrong)))
            for a, p in ranked[:3]
        ],
        "kappa": [(pytest.approx(1 - error / baseline, rel=1e-10),)],
    }


def views(table, order):
    """Every view, which is read group by group."""
    matrix = WEIGHTS[: len(order), : len(order)]
    return {
        "overall": overall_view(table, order),
        "labels": label_view(table, order),
        "cells": matrix_frame(table, None, order),
        **{f"of {side}": matrix_frame(table, side, order) for side in ("actual", "predicted", "all")},
        "confused": most_confused(table, 3),
        "kappa": weighted_kappa(table, matrix, order),
    }


@settings(max_examples=25)
@given(
    name=st.sampled_from([*LABELS]),
    rows=st.lists(ROW, min_size=1, max_size=30),
    reverse=st.booleans(),
    unit=st.sampled_from([1, 0.25]),
)
def test_views_are_those_by_hand(name, rows, reverse, unit):
    labels, ascending = pl.Series(LABELS[name]), list(LABELS[name])
    order = ascending[::-1] if reverse else ascending
    rows = [(g, order[a % len(order)], order[p % len(order)], w * unit) for g, a, p, w in rows]
    group, actual, predicted, weight = map(list, zip(*rows, strict=True))
    table = confusion_cells(
        pl.Series(actual, dtype=labels.dtype), pl.Series(predicted, dtype=labels.dtype), weight, group
    )
    table = table.with_columns(pl.col("count").cast(pl.Int64 if unit == 1 else pl.Float64))
    of_groups = {g: [row[1:] for row in rows if row[0] == g] for g in range(3)}
    expected = {g: by_hand(own, order, ascending) for g, own in of_groups.items() if own}
    for view, found in views(table, order).items():
        assert found["group"].is_sorted()
        labelled = set() if view == "overall" else {"label", "actual", "predicted"} & set(found.columns)
        assert all(found.schema[column] == labels.dtype for column in labelled)
        counted = set(found.columns) & {"tp", "fp", "fn", "tn", "count", "correct", "actual", "distance"} - labelled
        assert all(found.schema[column].is_integer() == (unit == 1) for column in counted)
        assert {*found["group"]} <= {*expected}
        for g, of_view in expected.items():
            assert found.filter(group=g).drop("group").rows() == of_view[view], view


def test_without_an_order_labels_are_those_that_occur_in_ascending_order():
    cells = confusion_cells([7, 2, 9, 7], [2, 2, 7, 7], group=[0, 0, 1, 1])
    for g, order in ((0, [2, 7]), (1, [7, 9])):
        own = cells.filter(group=g)
        assert_frame_equal(label_view(cells).filter(group=g), label_view(own, order))
        assert_frame_equal(overall_view(cells).filter(group=g), overall_view(own, order))
    assert_frame_equal(weighted_kappa(cells, WEIGHTS[:3, :3]), weighted_kappa(cells, WEIGHTS[:3, :3], [2, 7, 9]))


def test_cells_of_reports_are_in_the_order_of_the_declared_labels():
    labels = ["minor", "medium", "severe"]
    rows = {"y": labels * 3, "z": sorted(labels) * 2 + labels, "g": [0, 1, 2] * 3}
    declared = sm.multiclass(y_true="y", y_pred="z", order=labels, by="g").update(rows).finalize()
    cells = declared.confusion_matrix().select("g", "actual", "predicted").rows()
    assert cells == sorted(cells, key=lambda cell: (cell[0], *map(labels.index, cell[1:])))
    without = sm.multiclass(y_true="y", y_pred="z").update(rows).finalize().confusion_matrix()
    assert without["actual"].to_list() == sorted(without["actual"])


def test_no_rows_give_no_rows():
    for weight in (None, [1.0]):
        cells = confusion_cells(["a"], ["b"], weight)
        for view, found in views(cells.clear(), ["a", "b"]).items():
            assert found.height == 0
            assert found.schema == views(cells, ["a", "b"])[view].schema


def test_true_negatives_of_weights_are_no_dust():
    """0.1 + 0.2 + 0.3 - 0.3 - 0.2 - 0.1 is no 0, and specificity would be 1 or negative."""
    actual, predicted = [*"aabacac"], [*"bcaaabc"]
    for seed in range(20):
        weight = np.append(np.random.default_rng(seed).random(6), 1e-30)
        apart = label_view(confusion_cells(actual, predicted, weight, group=[0, 0, 0, 0, 0, 1, 1]))
        assert apart.filter(group=0, label="a")["tn"].item() == 0
        assert label_view(confusion_cells(actual, predicted, weight)).filter(label="a")["tn"].item() >= 0


def test_distances_of_many_rows_and_labels_do_not_overflow():
    rows = 2**60
    cells = pl.DataFrame({"group": [0] * 2, "actual": [0, 999], "predicted": [999, 0], "count": [rows, 1]})
    view = overall_view(cells, order=range(1000))
    assert view["square_distance"][0] == rows * 999**2
    assert view["distance"][0] == rows * 999


def test_thousands_of_labels_stay_sparse():
    actual, predicted = np.random.default_rng(0).integers(0, 5_000, (2, 10_000))
    cells = confusion_cells(actual, predicted)
    view, labels = label_view(cells), np.union1d(actual, predicted)
    assert view["label"].to_list() == labels.tolist()
    assert view["tp"].to_list() == np.bincount(actual[actual == predicted], minlength=5_000)[labels].tolist()
    assert (view["tp"] + view["fn"]).to_list() == np.bincount(actual, minlength=5_000)[labels].tolist()
    steps = np.abs(np.subtract(*(np.searchsorted(labels, side) for side in (actual, predicted))))
    assert overall_view(cells).select(pl.sum("distance", "square_distance")).row(0) == (steps.sum(), (steps**2).sum())
    assert matrix_frame(cells, "actual").height == cells.height
