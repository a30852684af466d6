"""Columns of groups and labels without any value, in batches, files, states, and histories."""

from datetime import date
from itertools import permutations

import polars as pl
import pytest

import streammetrics as sm

VALUES = {
    "text": pl.Series(["a", "b"]),
    "dates": pl.Series([date(2026, 1, 1)] * 2),
    "integers": pl.Series([1, 2]),
    "truths": pl.Series([True, False]),
}
NULLS = [pl.Float64(), pl.Int64(), pl.String(), pl.Boolean(), pl.Date(), pl.Categorical(), pl.Null()]


def task():
    return sm.binary(y_true="y", y_score="p", by="g", metrics=["rows"])


def batch(groups):
    return pl.DataFrame({"y": [1, 0][: len(groups)], "p": [0.9, 0.1][: len(groups)], "g": groups})


def nulls(dtype, rows=2):
    return pl.Series([None] * rows, dtype=dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", NULLS, ids=str)
def test_groups_without_values_have_the_type_of_the_others(dtype):
    for values in VALUES.values():
        parts = [batch(values), batch(nulls(dtype)), batch(nulls(dtype, 0))]
        wanted = task().update(parts[0]).update(batch(nulls(values.dtype)))
        states = [task().update(part) for part in parts]
        saved = [sm.Accumulator.from_bytes(state.to_bytes()) for state in states]
        found = [sm.merge(order) for order in [*permutations(saved), states, states[::-1]]]
        for order in (parts[turn:] + parts[:turn] for turn in range(3)):
            at_once, counted = task(), task()
            for part in order:
                at_once.update(part)
                counted.update(part).compact()
            found += [at_once, counted, sm.accumulate(order, task(), workers=2)]
        assert {acc.to_bytes() for acc in found} == {wanted.to_bytes()}


def test_groups_without_values_have_one_type_in_any_order():
    states = [task().update(batch(nulls(dtype))) for dtype in NULLS]
    pairs = [sm.merge(states[:2]), sm.merge(states[2:])]
    assert len({sm.merge(order).to_bytes() for order in (states, states[::-1], pairs)}) == 1


def test_some_groups_of_a_state_without_values_are_merged():
    one, other = task().update(batch([1.5, None])), task().update(batch(["a", "b"]))
    assert one.filter(pl.col("g").is_null()).merge(other).finalize().frame["g"].to_list() == ["a", "b", None]
    assert sm.compare(one.filter(pl.col("g").is_null()), other).frame["g"].n_unique() == 3


@pytest.mark.parametrize("dtype", NULLS, ids=str)
def test_labels_without_values_have_the_type_of_the_others(dtype):
    def acc(truth, prediction):
        batch = pl.DataFrame({"y": truth, "p": prediction})
        return sm.multiclass(y_true="y", y_pred="p", nulls="drop").update(batch)

    text, none = pl.Series(["a", "b"]), nulls(dtype)
    wanted = acc(text, text).update({"y": ["c", "d"], "p": [None, None]})
    found = [sm.merge(parts) for parts in permutations([acc(text, text), acc(nulls(pl.String), none)])]
    found.append(acc(text, text).update(pl.DataFrame({"y": none, "p": text})))
    found.append(acc(none, text).update(pl.DataFrame({"y": text, "p": text})))
    assert {each.to_bytes() for each in found} == {wanted.to_bytes()}


@pytest.mark.parametrize("dtype", NULLS, ids=str)
def test_appends_without_values_have_the_type_of_the_history(tmp_path, dtype):
    def acc(values):
        rows = batch(values).with_columns(day=date(2026, 1, 1))
        return sm.binary(y_true="y", y_score="p", by=["day", "g"]).update(rows)

    for number, values in enumerate(VALUES.values()):
        store = sm.MetricStore(tmp_path / str(number), window="day")
        store.append(acc(values), batch_id="1")
        store.append(acc(nulls(dtype)), batch_id="2")
        assert store.query().seen == 4
    with pytest.raises(sm.errors.ColumnError, match="'g' has different types"):
        store.append(acc(["2026-01-01"] * 2), batch_id="3")


EXPRESSIONS = {
    "text": pl.col("g").str.to_uppercase(),
    "sql": pl.sql_expr("lower(g)").alias("l"),
    "comparison": (pl.col("g") == "a").alias("is_a"),
    "time": pl.col("g").dt.truncate("1d"),
    "date": pl.col("g").str.to_date(),
    "number": (pl.col("g") * 2).alias("double"),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("dtype", [pl.Float64(), pl.Null(), pl.Int64()], ids=str)
def test_expressions_of_columns_without_values_are_null(expression, dtype):
    acc = sm.binary(y_true="y", y_score="p", by=EXPRESSIONS[expression], metrics=["rows"])
    found = acc.update(batch(nulls(dtype))).finalize().frame
    assert found.to_series(0).to_list() == [None]
    with pytest.raises(sm.errors.ColumnError, match=r"expression for column|unsupported type|cannot"):
        acc.copy().update(batch(pl.Series([[1], None])))


@pytest.mark.parametrize("column", ["y", "p"])
@pytest.mark.parametrize("positive", [None, 1])
def test_text_without_values_can_be_labels_or_scores(column, positive, tmp_path):
    acc = sm.binary(y_true="y", y_score="p", nulls="drop", metrics=["rows"], positive=positive)
    empty = batch(["a", "b"]).with_columns(nulls(pl.String()).alias(column))
    empty.write_csv(tmp_path / "a.csv")
    for source in (tmp_path / "a.csv", [empty]):
        found = sm.accumulate(source, acc)
        assert found.finalize()["dropped"].value == 2
        assert found.merge(acc.copy().update(batch(["a", "b"]))).finalize()["rows"].value == 2
    with pytest.raises((sm.errors.ColumnError, sm.errors.DataError), match=r"String|text"):
        acc.copy().update(empty.with_columns(pl.Series(column, ["no", None])))
