"""Labels and nulls: which values are positive, which rows are dropped, and what a refused batch leaves behind."""

import pickle
from datetime import date

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks

import streammetrics as sm

DAYS = [date(2026, 1, 1), date(2026, 1, 2)]


def task(**options):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options)


FAULTS = {"clicked": [1] * 49 + [7], "score": [0.5] * 49 + [7.0], "day": [[1]] * 50, "weight": [1.0] * 49 + [-1.0]}


@pytest.mark.parametrize("held", [2, 10**6, 0])
def test_a_refused_batch_changes_nothing_whether_rows_are_held_or_counted(held, monkeypatch):
    monkeypatch.setattr("streammetrics.statistics.state.content.BUFFER", held)
    rows = clicks()[:50].with_columns(weight=1.0)
    acc = sm.binary(by="day", sample_weight="weight", **CLICKS).update(rows[:3]).update(rows[3:])
    for column, values in FAULTS.items():
        before = acc.copy().to_bytes()
        with pytest.raises(sm.StreamMetricsError, match=column):
            acc.update(rows.with_columns(pl.Series(column, values)))
        assert acc.to_bytes() == before


def test_errors_of_rows_say_which_and_can_say_where():
    with pytest.raises(sm.errors.DataError) as caught:
        task().update({"y": [0, 1, 1, 0], "p": [0.5, 0.5, 7.0, 8.0]})
    error = caught.value
    assert (error.column, error.count, error.height, error.row, error.value) == ("p", 2, 4, 2, 7.0)
    elsewhere = pickle.loads(pickle.dumps(error.at("row 1002 of 'a.csv'")))
    assert str(elsewhere) == str(error).replace("row 2 of the batch", "row 1002 of 'a.csv'")
    assert vars(elsewhere) == vars(error)
    with pytest.raises(sm.errors.DataError) as caught:  # of which a value says what the error says
        task(positive="a", negative="b").update({"y": ["a", "b", "row 2 of the batch"], "p": [0.1] * 3})
    assert "'row 2 of the batch' at row 9 of 'f'" in str(caught.value.at("row 9 of 'f'"))


def test_dropped_rows_are_counted_by_group_and_model():
    rows = {
        "y": [1, 0, None, 1, 0, 1],
        "a": [0.1, None, 0.3, 0.4, 0.5, 0.6],
        "b": [0.1, 0.2, 0.3, float("nan"), None, 0.6],
        "w": [1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        "g": ["x", "x", "x", "y", "y", "z"],
    }
    acc = task(y_score={"a": "a", "b": "b"}, sample_weight="w", by="g", nulls="drop").update(rows)
    counts = acc.finalize(["rows", "dropped"]).frame.pivot("metric", index=["g", "model"], values="value")
    expected = {"x": [(1, 2), (2, 1)], "y": [(2, 0), (0, 2)], "z": [(0, 1), (0, 1)]}
    assert counts.rows() == [
        (g, m, *count) for g, both in expected.items() for m, count in zip("ab", both, strict=True)
    ]
    for options in ({}, {"positive": "a"}, {"positive": "a", "negative": "b"}):
        acc = task(nulls="drop", **options).update({"y": [None, None], "p": [0.1, 0.2]})
        assert acc.finalize()["dropped"].value == 2


def above(dtype, steps):
    """The float of this many steps above 1."""
    return dtype(1) + dtype(steps * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_rounding_errors_of_probabilities_are_clipped(dtype):
    given = np.array([above(dtype, 1), above(dtype, 4), -np.finfo(dtype).eps, 0.5], dtype)
    clipped = np.array([1, 1, 0, 0.5], dtype)
    made, expected = (task().update({"y": [1, 1, 0, 1], "p": p}) for p in (given, clipped))
    assert made.to_bytes() == expected.to_bytes()
    with pytest.raises(sm.errors.DataError, match="1 of 2"):
        task().update({"y": [1, 0], "p": np.array([above(dtype, 5), above(dtype, 4)], dtype)})
    several = sm.multiclass(y_true="y", y_score={"a": "p", "b": "q"})
    assert several.update({"y": ["a", "b"], "p": [above(np.float64, 1), 0.5], "q": [-1e-16, 0.5]}).seen == 2


KINDS = [  # two labels, and how the first one can be called
    (["a", "b"], np.str_("a")),
    (["é", "b"], "é".encode()),
    ([b"yes", b"no"], "yes"),
    ([b"yes", b"no"], np.bytes_(b"yes")),
    ([1, 0], np.int64(1)),
    ([1, 0], True),
    ([1, 0], "1"),
    ([1.0, 0.0], 1),
    ([1.0, 0.0], "1"),
    (pl.Series([0.1, 0.2], dtype=pl.Float32), 0.1),
    (pl.Series(["0.1", "0.2"]).cast(pl.Decimal(3, 1)), 0.1),
    (pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64), 2**64 - 1),
    ([2**53 + 1, 2**53], 2**53 + 1),
    (DAYS, DAYS[0]),
    ([True, False], True),
    ([True, False], "True"),
    ([False, True], "false"),
    (pl.Series([True, None, False], dtype=pl.Object), True),
]


def test_a_label_equals_values_of_its_kind():
    for labels, positive in KINDS:
        batch = {"y": labels, "p": [0.9, 0.1] if len(labels) == 2 else [0.9, 0.5, 0.1]}
        report = task(positive=positive, nulls="drop").update(batch).finalize()
        assert (report["positives"].value, report["roc_auc"].value) == (1, 1), (labels, positive)
    assert task(positive="A", negative="a").update({"y": ["A", "a"], "p": [0.9, 0.1]}).finalize()["roc_auc"].value == 1
    assert task(positive="yes").update({"y": ["no", "", "NA"], "p": [0.1] * 3}).finalize()["positives"].value == 0


def test_a_label_that_narrow_integers_cannot_hold_may_come_later():
    acc = task(positive=300).update({"y": pl.Series([1, 2], dtype=pl.Int8), "p": [0.1, 0.2]})
    assert acc.update({"y": [300, 2], "p": [0.9, 0.2]}).finalize()["positives"].value == 1


def test_metrics_of_several_labels_without_the_positive_one_are_refused():
    """Of the rows of all parts together; a part of one label may lack it."""
    for labels, positive in (
        (["yes", "no"], "true"),
        (["1.0", "0.0"], "1"),
        ([0, 1], 2),
        ([0, 1], "2"),
        ([0.0, 1.0], 2),
        (DAYS, date(2026, 1, 3)),
    ):
        parts = [{"y": labels[i : i + 1], "p": [0.5]} for i in range(2)]
        acc = task(positive=positive)
        whole, shards = acc.empty().update({"y": labels, "p": [0.9, 0.1]}), [acc.empty().update(part) for part in parts]
        predicted = sm.predictions(y_pred="y", positive=positive).update({"y": labels})
        for each in (whole, whole.copy(), sm.merge(shards), sm.accumulate(parts, acc, workers=2), predicted):
            with pytest.raises(sm.errors.DataError) as error:
                each.finalize()
            assert [text for text in ("'y'", *map(repr, [positive, *labels])) if text not in str(error.value)] == []
        assert [shard.finalize()["prevalence"].value for shard in shards] == [0, 0]
    acc = task(positive="true").update({"y": ["yes", "no"], "p": [0.9, 0.1]})
    assert sm.Accumulator.from_bytes(acc.to_bytes()).finalize()["positives"].value == 0


@pytest.mark.parametrize("order", [1, -1])
def test_shards_and_groups_without_the_positive_label_are_evaluated(order):
    acc = task(positive="churned", by="g")
    parts = [["stayed", "paused"], ["stayed"], ["churned", "stayed"], []][::order]
    types = {"y": pl.String, "p": pl.Float64, "g": pl.Int64}
    shards = [pl.DataFrame({"y": y, "p": [0.5] * len(y), "g": [i] * len(y)}, types) for i, y in enumerate(parts)]
    total = sm.merge([acc.empty().update(shard) for shard in shards])
    assert total.finalize().rollup()["positives"].value == 1
    assert total.filter(pl.col("g") == (0 if order == 1 else 3)).finalize()["positives"].value == 0
    later = sm.Accumulator.from_bytes(total.to_bytes()).update(shards[0 if order == 1 else 3])
    assert later.finalize().rollup()["positives"].value == 1


def test_a_model_that_never_predicts_the_positive_label_is_evaluated():
    batch = {"y": ["yes", "no"], "z": ["no", "perhaps"]}
    assert sm.binary(y_true="y", y_pred="z", positive="yes").update(batch).finalize()["recall"].value == 0
    predicted = sm.predictions(y_pred="z", positive="yes").update({"z": ["no", "no"]}).finalize()
    assert predicted["predicted_positive_rate"].value == 0


def test_lists_of_labels_and_scores_may_mix_integers_and_floats():
    acc = sm.multilabel(y_true="y", y_score="p", labels=["a", "b"], threshold=0.3)
    acc.update({"y": [[0, 1], [1, 1]], "p": [[0, 1], [0.5, 0.5]]})
    assert acc.finalize()["subset_accuracy"].value == 1
    classes = sm.multiclass(y_true="y", y_score="p", labels=[b"a", "b"])
    classes.update({"y": [b"a", b"b"], "p": [[0, 1], [0.5, 0.5]]})
    assert classes.finalize()["log_loss"].value == pytest.approx(-(np.log(1e-15) + np.log(0.5)) / 2)
