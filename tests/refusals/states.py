"""Tables of states that other programs have changed: what cannot be is refused when it is read."""

from functools import cache

import polars as pl
import pyarrow as pa
from states import HEADER, header, state, with_cell, with_cells, with_columns, with_header, with_options

import streammetrics as sm

NAN, INF = float("nan"), float("inf")
CELLS = {  # a task, a statistic, and values that its cells cannot have
    ("grouped", "row_counts"): [{"rows": -1}, {"rows": 2**62}, {"rows": None}],
    ("grouped", "confusion_counts"): [{"tp": None}, {"tp": 10**6}, {"tp": 2**62, "fp": 2**62}, {"threshold": 0.1}],
    ("grouped", "probability_loss"): [
        *({"actual": 2}, {"weight": 700}, {"brier_sum": None}, {"brier_sum": -1.0}, {"log_loss_sum": 1e9}),
        *({"log_loss_square_sum": 1e9}, {"brier_square_sum": 1e9}),
    ],
    ("grouped", "score_histogram"): [
        *({"shift": 200}, {"shift": None}, {"bin": None}, {"bin": -5}, {"bin": 2**63 - 1}, {"neg": 0}),
    ],
    ("grouped", "calibration_bins"): [
        *({"bin": 10}, {"bin": -1}, {"score_sum": 1e9}, {"score_sum": -1.0}, {"pos": 10**6}, {"pos": -1}),
        *({"score_square_sum": 1e9}, {"pos_score_sum": 1e9}),
    ],
    ("weighted", "probability_loss"): [{"brier_sum": NAN}, {"log_loss_sum": INF}],
    ("predictions", "predicted_counts"): [{"threshold": 0.4}, {"threshold": None}, {"predicted_positives": -1}],
    ("classes", "class_loss"): [{"actual": 3}, {"brier_sum": 1e6}, {"class_weight": -1}],
    ("classes", "rank_counts"): [{"rank": 4}, {"rank": 0}, {"count": 10**6}],
    ("classes", "pair_histograms"): [{"actual": 3}, {"scored": 2**32 - 1}, {"shift": 64}, {"count": 0}],
    ("classes", "confusion_matrix"): [{"predicted": "d"}, {"actual": None}, {"count": -1}, {"count": 10**6}],
    ("classes", "score_histogram"): [{"label": 3}],
    ("classes", "calibration_bins"): [{"label": None}],
    ("several labels", "label_sets"): [
        *({"exact_match": 10**6}, {"label_errors": 10**6}, {"label_decisions": 10**6}, {"jaccard_sum": 1e6}),
        *({"jaccard_square_sum": 1e6}, {"row_weight": 1}),
    ],
    ("models", "paired_outcomes"): [{"pair": 1}, {"tp_fn": -1}, {"tp_fn": 10**6}, {"threshold": 0.1}],
    ("models", "paired_scores"): [
        *({"pair": 1}, {"bin": -5}, {"bin": None}, {"shift": 63}, {"shift": 0, "bin": 1 << 62}, {"neg": -1}),
    ],
    ("models", "paired_losses"): [
        *({"pair": 1}, {"actual": 2}, {"weight": 10**15}, {"brier_difference_square_sum": 1e9}),
        *({"log_loss_difference_fourth_sum": -1.0}, {"log_loss_difference_square_sum": 1e9}),
    ],
    ("errors", "error_moments"): [
        *({"weight": -1.0}, {"weight": NAN}, {"weight": INF}, {"actual_mean": None}, {"actual_m2": -1.0}),
        *({"actual_min": 1e9}, {"actual_mean": 7.0}, {"over_sum": 1e9}, {"square_error_sum": 1e9}),
        *({"comoment": None}, {"predicted_mean_rest": 1.0}, {"predicted_max": -1e9}, {"over_sum": -1.0}),
        *({"under_sum": 1e9}, {"error_fourth_sum": 1e30}, {"absolute_error_max": -1.0}),
    ],
    ("errors", "error_histogram"): [
        *({"count": NAN}, {"count": -1.0}, {"count": 1.5}, {"bin": 2**63 - 1}, {"shift": 60, "bin": 2**40}),
        {"shift": 64},
    ],
    ("errors", "tdigest"): [
        *({"weight": 0.0}, {"weight": NAN}, {"weight": 1.5}, {"weight": INF}, {"mean": -1e9}, {"mean": NAN}),
        *({"max": NAN}, {"mean": NAN, "min": NAN, "max": NAN}),
    ],
}
OPTIONS = {  # a task, a statistic, and options that it cannot have
    ("grouped", "score_histogram"): [
        {"command": "rm"},
        *({"capacity": n} for n in (-1, "9", 99.5, INF, 2**70, 1 << 61)),
    ],
    ("grouped", "calibration_bins"): [{"bins": n} for n in ("9", 9.5, True, 2**40)],
    ("grouped", "confusion_counts"): [{"thresholds": ["x"]}, {"thresholds": [10**400]}],
    ("classes", "confusion_matrix"): [{"order": ["a", "b", "d"]}, {"order": ["a", 1]}],
    ("classes", "pair_histograms"): [{"capacity": 7}],
    ("several labels", "label_sets"): [{"threshold": n} for n in ("0.5", None, NAN)],
    ("errors", "error_moments"): [
        *({"families": names} for names in (["log"], ["logs"], "log")),
        *({"power": n} for n in (0.5, "2")),
    ],
    ("errors", "error_histogram"): [{"domain": "probability"}, {"atoms": [NAN]}],
    ("errors", "histogram"): [{"of": role} for role in ("y_false", "y_score", ["y_pred"])],
    ("errors", "tdigest"): [{"of": "error "}, *({"compression": n} for n in (-1, 100.5, 2**40))],
}
COLUMNS = {  # a task, and columns that its header cannot have
    "grouped": [
        *({"by": "g"}, {"expressions": {}}, {"y_true": 3}, {"y_true": []}, {"y_score": ["p"]}, {"y_score": {}}),
        *({"nulls": "eat"}, {"positive": {"a": 1}}, {"probability": False}, {"folds": 1 << 61}),
        *({"rounding": step} for step in (0.5, "0.5")),
    ],
    "classes": [
        *({"labels": labels} for labels in ([1, 2, 3], ["a", "b", "d"], ["a", "b"], ["a", 1, True], ["a", "a", "b"])),
        *({"labels": labels} for labels in (["a", None, "b"], [0.5, NAN, 1.0], [["a"], ["b"], ["c"]], "abc", [])),
        *({"kind": "multilabel"}, {"kind": "several"}, {"y_true": ["k", "l", "y"]}, {"y_pred": {"": ["k", "l"]}}),
        *({"y_score": {"": []}}, {"y_score": {"": ["p"], "m": ["q"]}}),
    ],
    "several labels": [{"labels": []}],
    "days": [{"y_pred": {}}],
    "errors": [
        *({"unit": 3}, {"unit": None}, {"kind": "binary"}, {"kind": "forecast"}),
        *({"folds": n} for n in ("7", True, 4)),
    ],
}
HEADERS = {
    "another format": {"format": 2, "version": "9.9"},
    "no format": {"format": ...},
    "a format of text": {"format": "1"},
    "no columns": {"columns": ...},
    "no list of statistics": {"statistics": {}},
    "no list of metrics": {"metrics": [1]},
    "an unknown statistic": {"statistics": [{"name": "os.system", "options": {}}]},
    "a statistic without options": {"statistics": ["rows"]},
}
FOLDS = {"text": "one", "a null": None, "half": 0.5, "a negative number": -1, "the number after the last": 20}


@cache
def table(name):
    return state(name).to_arrow()


def with_metadata(content):
    return table("grouped").replace_schema_metadata(content)


def with_column(name, value):
    of = table("grouped")
    column = pa.array([value] * len(of), of.schema.field(name).type)
    return of.set_column(of.column_names.index(name), name, column)


def with_labels(actual, predicted):
    kinds = {"actual": pl.lit(None, actual), "predicted": pl.lit(None, predicted)}
    return with_cells(table("classes"), "confusion_matrix", pl.element().struct.with_fields(**kinds))


def with_sum_type(kind):
    cell = pl.element().struct.with_fields(pl.element().struct.field("^.*_sum$").cast(kind))
    return with_cells(table("grouped"), "probability_loss", cell)


def without_row_counts():
    return with_header(table("grouped"), statistics=header(table("grouped"))["statistics"][1:]).drop_columns(
        "row_counts"
    )


def with_folds(value):
    of = table("errors")
    return of.set_column(of.column_names.index("fold"), "fold", pa.array([value] * len(of)))


def with_model(model):
    of = table("models")
    return of.set_column(1, "model", pa.array([model] * len(of), pa.string()))


def with_some(of, statistic, key, first):
    """Cells of the first label, or of the others, so that not all rows are counted."""
    field = pl.element().struct.field(key)
    cells = with_cells(of, statistic, pl.element().filter((field == field.min()) == first))
    return cells.cast(of.schema.remove_metadata()).replace_schema_metadata(of.schema.metadata)


PARTS = (("classes", "score_histogram", "label"), ("classes", "calibration_bins", "label"))
PARTS += (("classes", "pair_histograms", "scored"), ("several labels", "confusion_counts", "label"))
TABLES = {
    "another weight": (lambda: with_cell(table("errors"), "error_moments", weight=5e3), "row counts"),
    "metadata that is no JSON": (lambda: with_metadata({HEADER: b"{"}), "cannot be read"),
    "metadata that is a list": (lambda: with_metadata({HEADER: b"[]"}), "format"),
    "metadata that is deep": (lambda: with_metadata({HEADER: b"[" * 100_000}), "cannot be read"),
    "a missing column": (lambda: table("grouped").drop_columns("row_counts"), "row_counts"),
    "another column": (lambda: table("grouped").append_column("x", table("grouped")["g"]), "columns"),
    "a column of another type": (lambda: table("grouped").set_column(1, "row_counts", table("grouped")["g"]), "String"),
    "sums of floats": (lambda: with_sum_type(pl.Float64()), "probability_loss"),
    "sums of integers": (lambda: with_sum_type(pl.Int64()), "probability_loss"),
    "coarse decimals": (lambda: with_sum_type(pl.Decimal(38, 6)), "probability_loss"),
    "no row counts": (without_row_counts, "row_counts"),
    "a group without row counts": (lambda: with_column("row_counts", None), "row counts"),
    "a null cell": (lambda: with_column("row_counts", [None]), "row_counts"),
    "a null cell of a histogram": (lambda: with_column("score_histogram", [None]), "score_histogram"),
    "no cells": (lambda: with_column("score_histogram", []), "score_histogram"),
    "nested groups": (lambda: table("grouped").set_column(0, "g", pa.array([[1]] * len(table("grouped")))), "'g'"),
    "too many rows": (lambda: with_cell(table("grouped"), "row_counts", rows=2**53), "9,007,199,254,740,992"),
    "labels of two types": (lambda: with_labels(pl.String, pl.Int64), "confusion_matrix"),
    "lists of labels": (lambda: with_labels(pl.List(pl.String), pl.List(pl.String)), "confusion_matrix"),
    "no row of a state without groups": (lambda: table("plain")[:0], "neither groups nor a row"),
    "an unknown model": (lambda: with_model("c"), "model"),
    "no model": (lambda: with_model(None), "model"),
}


def _read(make, *names):
    def call():
        try:
            sm.Accumulator.from_arrow(make())
        except (
            sm.errors.StateError
        ) as error:  # without the digits of the first cell, which a machine may round otherwise
            raise type(error)(str(error).partition(" (first:")[0]) from None

    return (call, *names)


def _forged(change, task, *arguments, names=(), **options):
    return _read(lambda: change(table(task), *arguments, **options), *names)


def _refusals():
    for (task, statistic), wrong in CELLS.items():
        for values in wrong:
            yield f"{task}: {statistic} of {values}", _forged(with_cell, task, statistic, names=[statistic], **values)
    for (task, statistic), wrong in OPTIONS.items():
        for options in wrong:
            yield f"{task}: {statistic} with {str(options)[:50]}", _forged(with_options, task, statistic, **options)
    for task, wrong in COLUMNS.items():
        for columns in wrong:
            yield f"{task}: columns {columns}", _forged(with_columns, task, **columns)
    for wrong, changes in HEADERS.items():
        yield wrong, _forged(with_header, "grouped", **changes)
    for what, value in FOLDS.items():
        yield f"a fold of {what}", _read(lambda value=value: with_folds(value), "0 to 19")
    for task, statistic, key in PARTS:
        for first in (True, False):
            wrong = f"{task}: {statistic} {'of one' if first else 'without a'} {key}"
            yield wrong, _forged(with_some, task, statistic, key, first, names=[statistic])
    for wrong, (make, *names) in TABLES.items():
        yield wrong, _read(make, *names)


REFUSALS = dict(_refusals())
