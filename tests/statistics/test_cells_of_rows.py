"""Which numbers a row adds to which cell of a table, computed by Polars: of what intervals and pairs need.

References of metrics hold the other tables.
"""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.statistics import (
    ErrorMoments,
    LabelSets,
    PairedClassLosses,
    PairedErrors,
    PairedLosses,
    PairedMatches,
    PairedOutcomes,
)

SCORE = st.sampled_from([0.0, 1e-16, 0.2, 0.25, 0.5, 0.6, 0.75, 1 - 2**-53, 1.0])  # edges, thresholds, and clipped
SHARES = st.sampled_from([(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.25, 0.25, 0.5), (0.2, 0.2, 0.6), (0.0, 0.5, 0.5)])
AMOUNT, LABEL = st.sampled_from([0.5, 1.0, 3.25, 100.0]), st.sampled_from("abc")
KINDS = {"y": st.booleans(), "z": st.booleans(), "v": st.booleans(), "p": SCORE, "q": SCORE, "k": LABEL, "l": LABEL}
KINDS |= {"m": LABEL, "s": SHARES, "r": SHARES, "t": AMOUNT, "e": AMOUNT, "f": AMOUNT}
KINDS |= {"w": st.sampled_from([0.0, 0.5, 1.0, 3.0]), "g": st.sampled_from([1, 2])}
FIRST = {"y": True, "z": False, "v": True, "p": 0.5, "q": 0.25, "k": "a", "l": "b", "m": "a", "s": (0.2, 0.2, 0.6)}
FIRST |= {"r": (0.5, 0.5, 0.0), "t": 1.0, "e": 3.25, "f": 0.5, "w": 0.5, "g": 1}
ROWS = st.lists(st.fixed_dictionaries(KINDS), min_size=4, max_size=16).map(lambda rows: pl.DataFrame([FIRST, *rows]))

y, z, v, k, p, q, t = (pl.col(name) for name in "yzvkpqt")
BINARY, CLASSES = {"y_true": "y", "y_score": "p"}, {"y_true": "k", "y_score": "s", "labels": [*"abc"]}
TWO, PAIR = {"y_true": "y", "y_score": {"a": "p", "b": "q"}}, [("a", "b")]
TWO_OF_CLASSES = {"y_true": "k", "y_score": {}}
for model, scores in (("a", "s"), ("b", "r")):
    columns = {label: pl.col(scores).list.get(i).alias(f"{scores}{i}") for i, label in enumerate("abc")}
    TWO_OF_CLASSES["y_score"][model] = columns
NUMBER = k.replace_strict({"a": 0, "b": 1, "c": 2}, return_dtype=pl.UInt32)


def own(scores):
    """The probability of the true class."""
    return pl.col(scores).list.get(NUMBER)


def log_loss(actual, score):
    of_class = pl.when(actual).then(score.clip(1e-15, 1 - 1e-15)).otherwise(1 - score.clip(1e-15, 1 - 1e-15))
    return -of_class.log()


def brier(actual, score):
    return (score - actual.cast(pl.Float64)) ** 2


def brier_of_classes(scores):
    return pl.sum_horizontal(brier(i == NUMBER, pl.col(scores).list.get(i)) for i in range(3))


def losses(log, square):
    return {"log_loss_sum": log, "log_loss_square_sum": log**2, "brier_sum": square, "brier_square_sum": square**2}


def powers(parts=1, **differences):
    """Powers of differences; before the higher ones some are divided into parts."""
    return {
        f"{name}_difference_{power}_sum": difference**2 if n == 2 else (difference / parts) ** n
        for name, difference in differences.items()
        for n, power in ((2, "square"), (3, "cube"), (4, "fourth"))
    }


def differences(log, square):
    return powers(16, log_loss=log[1] - log[0]) | powers(brier=square[1] - square[0])


def outcomes(one, other):
    cells = {("tn", "fn"): ~one, ("fp", "tp"): one}
    pairs = {("tn", "fn"): ~other, ("fp", "tp"): other}
    return {
        f"{a[i]}_{b[i]}": first & second & (y if i else ~y)
        for a, first in cells.items()
        for b, second in pairs.items()
        for i in (0, 1)
    }


threshold = pl.col("threshold")
EACH_THRESHOLD = {"threshold": pl.lit([0.25, 0.6])}  # a list stands for a cell of each of its items
NO_THRESHOLD = {"threshold": pl.lit(None, pl.Float64)}
ERROR, OTHER = pl.col("e") - t, pl.col("f") - t
ERRORS = {"error": OTHER - ERROR, "absolute": OTHER.abs() - ERROR.abs(), "square": OTHER**2 - ERROR**2}
ERRORS |= {"percentage": (OTHER / t).abs() - (ERROR / t).abs()}
RIGHT, OTHER_RIGHT = pl.col("l") == k, pl.col("m") == k
MATCHES = {"both_right": RIGHT & OTHER_RIGHT, "one_right": RIGHT & ~OTHER_RIGHT}
MATCHES |= {"other_right": ~RIGHT & OTHER_RIGHT, "none_right": ~RIGHT & ~OTHER_RIGHT}
SETS = [(y, p >= 0.6), (v, q >= 0.6)]
WRONG, BOTH, EITHER = (pl.sum_horizontal(of) for of in zip(*[(a != b, a & b, a | b) for a, b in SETS], strict=True))
JACCARD = pl.when(EITHER > 0).then(BOTH / EITHER).otherwise(0.0)
LABELS = {"y_true": {"one": "y", "other": "v"}}
SIZE, AHEAD, BEHIND = ERROR.abs(), ERROR.clip(0), (-ERROR).clip(0)
SHARE, SYMMETRIC = SIZE / t, 2 * SIZE / (t + pl.col("e"))
LOG_RATIO = (pl.col("e") / t).log()
LOSSES = {  # of the families of errors, by row
    "squared_log_error": (pl.col("e").log1p() - t.log1p()) ** 2,
    "log_cosh": SIZE + (-2 * SIZE).exp().log1p() - math.log(2),
    "poisson_deviance": 2 * (ERROR - t * LOG_RATIO),
    "gamma_deviance": 2 * (LOG_RATIO + t / pl.col("e") - 1),
    "tweedie_deviance": 4 * (t.sqrt() - pl.col("e").sqrt()) ** 2 / pl.col("e").sqrt(),
}
CLASS_LOG, OTHER_CLASS_LOG = (-own(scores).clip(1e-15, 1 - 1e-15).log() for scores in "sr")

TABLES = {  # a statistic, its columns, the keys of a row's cells, and what the row adds to each of them
    "losses": (
        *(sm.statistics.ProbabilityLoss(), BINARY, {"actual": y.cast(pl.Int8)}),
        {"weight": pl.lit(1)} | losses(log_loss(y, p), brier(y, p)),
    ),
    "losses of classes": (
        *(sm.statistics.ClassLoss(), CLASSES, {"actual": NUMBER}),
        {"class_weight": pl.lit(1)} | losses(CLASS_LOG, brier_of_classes("s")),
    ),
    "calibration": (
        *(sm.statistics.CalibrationBins(4), BINARY, {"bin": ((p * 4).ceil() - 1).clip(0).cast(pl.Int32)}),
        {"weight": pl.lit(1), "pos": y, "score_sum": p, "score_square_sum": p**2, "pos_score_sum": p * y},
    ),
    "sets of labels": (
        *(LabelSets(0.6), LABELS | {"y_score": {"one": "p", "other": "q"}}, {}),
        {
            "row_weight": pl.lit(1),
            "exact_match": WRONG == 0,
            "label_errors": WRONG,
            "label_decisions": pl.lit(2),
            "jaccard_sum": JACCARD,
            "label_error_square_sum": WRONG**2,
            "jaccard_square_sum": JACCARD**2,
        },
    ),
    "outcomes of two": (
        *(PairedOutcomes((0.25, 0.6), PAIR), TWO, {"pair": pl.lit(0)} | EACH_THRESHOLD),
        outcomes(p >= threshold, q >= threshold),
    ),
    "outcomes of labels of two": (
        *(
            PairedOutcomes((), PAIR),
            {"y_true": "y", "y_pred": {"a": "z", "b": "v"}},
            {"pair": pl.lit(0)} | NO_THRESHOLD,
        ),
        outcomes(z, v),
    ),
    "losses of two": (
        *(PairedLosses(PAIR), TWO, {"pair": pl.lit(0), "actual": y.cast(pl.Int8)}),
        {"weight": pl.lit(1)} | differences([log_loss(y, p), log_loss(y, q)], [brier(y, p), brier(y, q)]),
    ),
    "losses of classes of two": (
        *(PairedClassLosses(PAIR), TWO_OF_CLASSES, {"pair": pl.lit(0), "actual": NUMBER}),
        {"weight": pl.lit(1)}
        | differences([CLASS_LOG, OTHER_CLASS_LOG], [brier_of_classes("s"), brier_of_classes("r")]),
    ),
    "matches of two": (
        *(PairedMatches(PAIR), {"y_true": "k", "y_pred": {"a": "l", "b": "m"}}, {"pair": pl.lit(0)}),
        MATCHES,
    ),
    "sums of errors": (
        *(ErrorMoments(("log", "log_cosh", "poisson", "gamma", "tweedie")), {"y_true": "t", "y_pred": "e"}, {}),
        {"weight": pl.lit(1), "over_sum": AHEAD, "over_square_sum": AHEAD**2}
        | {"under_sum": BEHIND, "under_square_sum": BEHIND**2, "square_error_sum": ERROR**2}
        | {"error_fourth_sum": ERROR**4, "absolute_actual_sum": t, "actual_square_sum": t**2}
        | {"absolute_product_sum": SIZE * t, "percentage_sum": SHARE, "percentage_square_sum": SHARE**2}
        | {"percentage_fourth_sum": SHARE**4, "symmetric_percentage_sum": SYMMETRIC}
        | {"symmetric_percentage_square_sum": SYMMETRIC**2}
        | {f"{name}_sum": loss for name, loss in LOSSES.items()}
        | {f"{name}_square_sum": loss**2 for name, loss in LOSSES.items()},
    ),
    "errors of two": (
        *(PairedErrors(PAIR), {"y_true": "t", "y_pred": {"a": "e", "b": "f"}}, {"pair": pl.lit(0)}),
        {"weight": pl.lit(1)} | powers(**ERRORS),
    ),
}


def cells(rows, keys, values, squared):
    """The sum over rows, of which each adds its weight times the value of each column to its cells."""
    for name, key in keys.items():
        rows = rows.with_columns(key.alias(name))
        rows = rows.explode(name) if rows.schema[name].is_nested() else rows
    sums = {name: (pl.col("w") * value.cast(pl.Float64)).sum() for name, value in values.items()}
    squares = {f"{name}_w2": (pl.col("w") ** 2 * values[name].cast(pl.Float64)).sum() for name in squared}
    return rows.group_by("g", *keys).agg(**sums, **squares)


@pytest.mark.whole
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("statistic", "columns", "keys", "values"), TABLES.values(), ids=TABLES)
@settings(max_examples=3)
@given(rows=ROWS)
def test_a_row_adds_its_values_to_its_cells(statistic, columns, keys, values, weighted, rows):
    weight, squared = ("w", [c for c in statistic.squared if c in values]) if weighted else (None, ())
    acc = sm.Accumulator(statistic, by="g", sample_weight=weight, **columns).update(rows)
    found = statistic.with_floats(acc.state.tables[statistic.name]).join(acc.state.groups, on="group")
    found = statistic.edges(found) if "low" in keys else found
    rows = rows.filter(pl.col("w") > 0) if weighted else rows.with_columns(w=pl.lit(1.0))
    names = ["g", *keys, *values, *(f"{name}_w2" for name in squared)]
    one, other = (
        table.select(names).filter(pl.any_horizontal(pl.col(*values) != 0)).sort("g", *keys)
        for table in (found, cells(rows, keys, values, squared))
    )
    assert_frame_equal(one, other, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-14)


def test_percentage_errors_of_negative_true_values_are_positive():
    acc = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"})
    table = acc.update({"y": [-2.0, 4.0], "a": [-1.0, 4.0], "b": [-2.0, 5.0]}).state.tables["paired_errors"]
    assert table["percentage_difference_cube_sum"].item() == (0 - 0.5) ** 3 + (0.25 - 0) ** 3
