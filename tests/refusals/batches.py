"""Batches that a task cannot read, or whose rows it must not count."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import streammetrics as sm

NAN, INF = float("nan"), float("inf")
BINARY = {"y_true": "y", "y_score": "p"}
TWO = {"y": [1, 0], "p": [0.1, 0.2]}
DAY, FAR_TIME = [date(2026, 1, 1)] * 2, pl.Series([0, 2**62]).cast(pl.Datetime("ms"))
MONTHS = pd.Series(pd.date_range("2026-04-01", periods=2, freq="31D")).dt.to_period("M")
ODD = 2**53 + 1  # the first integer that no 64-bit float equals


class OfGraph:
    """A tensor that requires its gradient, with the errors of PyTorch."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __dlpack__(self, **_):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    def detach(self):
        return self


def _binary(batch, *names, **options):
    """A batch for a binary task, with the columns that differ from a good one."""
    whole = TWO | batch if isinstance(batch, dict) else batch
    return (lambda: sm.binary(**BINARY | options).update(whole), *names)


def without_cause(call, *names):
    """A refusal without the words of another library, which follow the first colon and depend on its version."""

    def shortened():
        try:
            call()
        except sm.StreamMetricsError as refused:
            raise type(refused)(str(refused).partition(": ")[0]) from refused

    return (shortened, *names)


def _grouped(groups, *names):
    return _binary({"g": groups}, "'g'", *names, by="g")


def _weighted(weights, *names):
    return _binary({"w": weights}, "'w'", *names, sample_weight="w")


def _counted(counts, *names):
    return _binary({"n": counts}, "'n'", *names, count="n")


def _classes(batch, *names, **options):
    good = {"y": ["a", "b"], "z": ["a", "b"], "a": [0.5, 0.7], "b": [0.5, 0.3]}
    columns = {"y_true": "y", "y_pred": "z", "y_score": {"a": "a", "b": "b"}}
    return (lambda: sm.multiclass(**columns | options).update(good | batch), *names)


def _labels(batch, *names):
    good = {"y": [[1, 0], [1, 1]], "p": [[0.5, 0.5], [0.9, 0.8]]}
    return (lambda: sm.multilabel(y_true="y", y_score="p", labels=["a", "b"]).update(good | batch), *names)


def _second(make, first, second, *names):
    """Batches that do not go together."""
    return (lambda: make().update(first).update(second), *names)


def _by_group():
    return sm.binary(by="g", **BINARY)


def _of_classes(**options):
    return lambda: sm.multiclass(y_true="k", y_pred="l", **options)


def _same(column, of=None):
    return {"k": column, "l": column if of is None else of}


def _of_kind(column):
    return (lambda: _of_classes()().update(_same(column)), "plain values")


def _converted(convert):
    """Months that other libraries hand on as integers."""
    months = pd.DataFrame(TWO | {"g": MONTHS})
    return (lambda: sm.evaluate(convert(months), _by_group()), "'g'", ".dt.start_time")


FRAMES = {
    "a missing column": _binary(pl.DataFrame({"y": [1], "q": [0.5]}), "'p'", "'y', 'q'"),
    "a lazy frame": _binary(pl.LazyFrame({"y": [1]}), "evaluate"),
    "a number": _binary(17, "int"),
    "an empty text": _binary("", "str"),
    "a column twice": without_cause(
        *_binary(pa.Table.from_arrays([pa.array([0.1])] * 3, ["y", "p", "p"]), "as a table")
    ),
    "rows without a column": _binary([{"y": 1}, {"y": 0}], "'p'"),
    "rows without a value": _binary([{"y": 1, "p": 0.5}, {"y": 0}], "'p'", "null", "1 of 2"),
    "rows and other things": _binary([{"y": 1, "p": 0.5}, 7], "list"),
    "columns of two lengths": without_cause(*_binary({"p": [0.1]}, "as a table")),
    "text among numbers": without_cause(*_binary({"p": [0, "0.5"]}, "'p'")),
    "text among numbers of an array": without_cause(*_binary({"p": np.array([1, "a"], dtype=object)}, "'p'")),
    "text among numbers of pandas": without_cause(*_binary(pd.DataFrame({"y": [1, 0], "p": [0, "0.5"]}), "as a table")),
    "numbers among lists": without_cause(*_binary({"p": [0.5, [1]]}, "'p'")),
    "an integer among floats": _binary({"p": [0.5, ODD]}, f"{ODD}", "2^53"),
    "a set": _binary({"p": {0.1, 0.2}}, "'p'", "set"),
    "a tensor of a graph": _binary({"p": OfGraph()}, "'p'", "OfGraph", ".detach().cpu()"),
    "tensors of a graph": _binary({"p": [OfGraph()] * 2}, "'p'", "OfGraph", ".detach().cpu()"),
    "complex numbers": _binary({"p": np.array([1j] * 2)}, "'p'", "complex128"),
    "bytes without a type": _binary({"p": np.zeros(2, "V2")}, "'p'", "V2"),
    "an array of records": _binary({"p": np.array([("a", 1)] * 2, dtype=[("a", "U1"), ("b", int)])}, "'p'"),
    "times in picoseconds": _grouped(np.zeros(2, "M8[ps]"), "datetime64[ps]", "datetime64[us]"),
    "durations of months": _grouped(np.ones(2, "m8[M]"), "timedelta64[M]", "timedelta64[us]"),
    "a matrix of scores": _binary({"p": np.array([[0.1, 0.9]] * 2)}, "'p'", "p[:, -1]"),
    "decimals of 256 bits": _binary(
        pa.table({"y": [1, 0], "p": pa.array([0, 1]).cast(pa.decimal256(50, 2))}), "'p'", "decimal256(50, 2)"
    ),
}
SCORES = {
    "a null score": _binary({"p": [None, 0.2]}, "'p'", "null", "1 of 2", "row 0", "nulls='drop'"),
    "a score of NaN": _binary({"p": [0.1, NAN]}, "'p'", "NaN", "1 of 2", "row 1"),
    "a score above 1": _binary({"p": [0.1, 1.5]}, "'p'", "[0, 1]", "1.5", "row 1"),
    "a score below 0": _binary({"p": [-0.1, 0.5]}, "'p'", "-0.1", "domain='real'"),
    "an infinite score": _binary({"p": [0.1, INF]}, "'p'", "[0, 1]", "inf"),
    "a score of predictions above 1": (lambda: sm.predictions(y_score="p").update({"p": [1.5]}), "'p'", "1.5"),
    "scores between steps": _binary({"p": [0.57, 0.575]}, "'p'", "0.01", "1 of 2", "0.575", rounding=0.01),
    "more than a rounding error": _binary({"p": [1 + 5e-15, 0.5]}, "'p'", "1 of 2", "Clip"),
    "scores of text": _binary({"p": ["0.1", "0.2"]}, "'p'", "String"),
    "lists of scores": _binary({"p": pl.Series([[0.1, 0.9]] * 2)}, "'p'", "pl.col('p').list.get(1)", "p[2]"),
    "arrays of weights": _weighted(pl.Series([[0.1, 0.9]] * 2, dtype=pl.Array(pl.Float64, 2)), ".arr.get(-1)"),
    "structs of scores": _binary({"p": pl.Series([{"no": 0.1, "yes": 0.9}] * 2)}, "'p'", "field('yes')"),
    "a failing expression": without_cause(*_binary({"p": ["x", "y"]}, "'p'", y_score=pl.col("p").cast(pl.Float64))),
    "a negative weight": _weighted([1, -1], "negative", "1 of 2"),
    "an infinite weight": _weighted([1, INF], "infinite", "1 of 2"),
    "a null weight": _weighted([1, None], "null", "1 of 2"),
    "a weight whose sums overflow": _weighted([1.0, 6e307], "1e+280", "1 of 2", "6e+307", "row 1"),
    "a negative count": _counted([1, -1], "negative", "1 of 2"),
    "half a row": _counted([1, 0.5], "whole", "1 of 2", "0.5"),
    "a null count": _counted([1, None], "null", "1 of 2"),
    "a count beyond any number of rows": _counted([1, 2 * 10**12], "1e+12", "1 of 2", "row 1"),
    "more rows than floats count": (
        lambda: sm.binary(y_true="y", y_pred="y", count="n").update({"y": [1] * 9100, "n": [10**12] * 9100}),
        f"{2**53:,}",
    ),
    "sums of more rows than are exact": (
        lambda: sm.binary(**BINARY, count="n").update({"y": [1] * 9, "p": [0.0] * 9, "n": [10**12] * 9}).finalize(),
        "4e12",
    ),
    "a weight that no float holds": _weighted(pl.Series([1, ODD]), f"{ODD}", "row 1"),
    "a margin that no float holds": _binary({"p": [0, ODD]}, "'p'", f"{ODD}", "row 1", domain="real"),
    "a truth that no float holds": (
        lambda: sm.regression(y_true="y", y_pred="p").update({"y": [0, ODD], "p": [0, 1]}),
        *("'y'", f"{ODD}", "1 of 2", "row 1"),
    ),
    "a prediction that no float holds": (
        lambda: sm.regression(y_true="y", y_pred={"a": "y", "b": "p"}).update(
            {"y": [0, 1], "p": pl.Series([2, ODD], dtype=pl.Int128)}
        ),
        *("'p'", f"{ODD}", "row 1"),
    ),
    "an infinite truth": (lambda: sm.regression(y_true="y", y_pred="p").update({"y": [0, INF], "p": [0, 1]}), "'y'"),
}
TRUTHS = {
    "a null label": _binary({"y": [1, None]}, "'y'", "null", "1 of 2", "row 1"),
    "three labels": _binary({"y": [0, 2]}, "'y'", "0 and 1", "2 at row 1", "positive="),
    "labels of text": _binary({"y": ["a", "b"]}, "'y'", "String", "'a'", "positive="),
    "labels of 128 bits": _binary({"y": pl.Series([1, 2], dtype=pl.UInt128)}, "'y'", "0 and 1"),
    "a third label": _binary({"y": ["a", "c"]}, "'y'", "'a' and 'b'", "'c'", positive="a", negative="b"),
    "text for integers": _binary({}, "'y'", "'a'", positive="a"),
    "a huge label": _binary({}, "'y'", f"{2**64}", positive=2**64),
    "lists of labels": _binary({"y": [[1], [0]]}, "'y'", "label 1", positive=1),
    "text for Booleans": _binary({"y": [True, False]}, "'y'", "'a'", "Boolean", positive="a"),
    "a Boolean for text": _binary({"y": ["True", "x"]}, "'y'", "True", positive=True),
    "an integer for text": _binary({"y": ["1", "0"]}, "'y'", "1", "String", positive=1),
    "an integer for Booleans": _binary({"y": [True, False]}, "'y'", "1", positive=1),
    "a half for integers": _binary({}, "'y'", "0.5", positive=0.5),
    "text for a date": _binary({"y": DAY}, "'y'", "'2026'", positive="2026"),
    "an integer for a date": _binary({"y": DAY}, "'y'", "1", positive=1),
    "an integer that is no float": _binary({"y": [1.0, 0.0]}, "'y'", f"{ODD}", positive=ODD),
    "a negative label of another type": _binary({"y": [*"ab"]}, "'y'", "0", positive="a", negative=0),
    "far times as labels": _binary(
        *({"y": FAR_TIME}, "'y'", "Datetime"), positive=datetime(1970, 1, 1), negative=datetime(1970, 1, 2)
    ),
    **{
        f"{what} that resemble the positive one": _binary({"y": labels}, "'y'", known, positive=positive)
        for what, labels, positive, known in (
            ("capital letters", ["yes", "no"], "Yes", "'no', 'yes'"),
            ("spaces", ["yes ", "no"], "yes", "'no', 'yes '"),
            ("third labels", pl.Series(["yes", "YES"], dtype=pl.Categorical), "yes", "'YES', 'yes'"),
            ("names of truths", ["True", "False"], "true", "'False', 'True'"),
        )
    },
    "predictions that resemble the positive one": (
        lambda: sm.binary(y_true="y", y_pred="z", positive="yes").update({"y": ["yes", "no"], "z": ["Yes", "no"]}),
        *("'z'", "'Yes'"),
    ),
    "bytes that are no text": (lambda: sm.binary(positive=b"\xff", **BINARY), "xff"),
}
GROUPS = {
    "nested groups": _grouped([[1], [2]], "plain values"),
    "intervals": _grouped(pd.cut(pd.Series([1, 2]), 2), ".astype(str)"),
    "months": _grouped(MONTHS, ".dt.start_time"),
    "categories of months": _grouped(MONTHS.astype("category"), ".dt.start_time"),
    **{
        f"periods of {name}": _converted(convert)
        for name, convert in {
            "pandas": lambda d: d,
            "Arrow": pa.Table.from_pandas,
            "Polars": pl.from_pandas,
            "columns": lambda d: dict(d.items()),
            "chunks": lambda d: iter([d, d]),
        }.items()
    },
    "periods as labels": (
        lambda: sm.multiclass(y_true="a", y_pred="b").update(pd.DataFrame({"a": MONTHS, "b": MONTHS})),
        ".dt.start_time",
    ),
    "far times": _grouped(FAR_TIME, "Datetime", "4611686018427387904", "row 1"),
    "far dates": _grouped(pl.Series([0, 2**30], dtype=pl.Int32).cast(pl.Date), "Date", "1 of 2"),
    "far durations": _grouped(pl.Series([0, -(2**62)]).cast(pl.Duration("ms")), "Duration", "1 of 2"),
    "bytes that are not UTF-8": _grouped([b"a", b"\xff\x00"], "1 of 2", "bin.encode('hex')"),
    "groups of two types": _second(_by_group, TWO | {"g": [1, 2]}, TWO | {"g": ["a", "b"]}, "'g'", "Int64 and String"),
    "groups of nulls and two types": _second(
        _by_group, TWO | {"g": ["a", None]}, TWO | {"g": [1, None]}, "'g'", "Int64 and String"
    ),
    "decimals that do not fit together": _second(
        _by_group,
        *(TWO | {"g": pl.Series([Decimal(n)] * 2, dtype=pl.Decimal(38, s))} for n, s in ((10**30, 0), ("1e-10", 10))),
        *("'g'", "Decimal"),
    ),
    "large integers and floats": _second(
        _by_group, TWO | {"g": [ODD, ODD - 1]}, TWO | {"g": [1.0, 2.5]}, "'g'", "Float64", "2^53"
    ),
    "large integers beside categories": _second(
        lambda: sm.binary(by=["g", "n"], **BINARY),
        TWO | {"g": pl.Series(["a", "b"], dtype=pl.Categorical), "n": [ODD, 1]},
        TWO | {"g": pl.Series(["a", "b"], dtype=pl.Categorical), "n": [0.5, 1]},
        *("'n'", "2^53"),
    ),
}
CLASSES = {
    "probabilities that do not sum to 1": _classes({"b": [0.5, 0.2]}, "'a + b'", "1 of 2", "0.8999", "row 1"),
    "probabilities that nearly sum to 1": _classes({"b": [0.5, 0.3002]}, "'a + b'", "renormalize=True"),
    "probabilities below 0": _classes({"a": [1.2, 0.7], "b": [-0.2, 0.3]}, "'a'", "1.2 at row 0", "1 of 2"),
    "rounded probabilities that do not sum to 1": _classes({"b": [0.5, 0.2]}, "'a + b'", "1 of 2", rounding=0.01),
    "less than a rounding error below 0": _classes({"a": [1.0, 0.5], "b": [-1e-9, 0.5]}, "'b'", "Clip"),
    "a null probability": _classes({"a": [None, 0.7]}, "'a'", "null", "1 of 2"),
    "a probability of NaN": _classes({"b": [0.5, NAN]}, "'b'", "NaN", "1 of 2"),
    "an unknown class": _classes({"y": ["a", "c"]}, "'y'", "'a', 'b'", "'c' at row 1", "y_score="),
    "an unknown predicted class": _classes({"z": ["c", "a"]}, "'z'", "'a', 'b'"),
    "an unknown class beside sums": _classes({"y": ["a", "c"], "b": [0.5, 0.2]}, "'y'", "1 of 2"),
    "a class out of order": (
        lambda: _of_classes(order=["low", "high"])().update(_same(["low", "none"])),
        *("'k'", "labels=", "order="),
    ),
    "a null class": (lambda: _of_classes()().update(_same(["a", None])), "'k'", "1 of 2"),
    "negative votes": _classes({"a": [-1, 0], "b": [1, 7]}, "negative", "1 of 2", renormalize=True),
    "infinite votes": _classes({"a": [INF, 0], "b": [1, 7]}, "infinite", "1 of 2", renormalize=True),
    "no votes": _classes({"a": [0, 0], "b": [0, 7]}, "all 0", "1 of 2", renormalize=True),
    "votes whose sum overflows": _classes({"a": [1e308, 1], "b": [1e308, 1]}, "1 of 2", renormalize=True),
    **{
        f"classes of {kind}": _of_kind(column)
        for kind, column in {
            "lists": pl.Series([[1]]),
            "structs": pl.Series([{"a": 1}]),
            "128 bits": pl.Series([1], dtype=pl.Int128),
        }.items()
    },
    "far times as classes": (lambda: _of_classes()().update(_same(FAR_TIME)), "'k'", "Datetime"),
    "far times as declared classes": (lambda: _of_classes(labels=["a"])().update(_same(FAR_TIME)), "'k'", "Datetime"),
    "classes of two types": _second(_of_classes(), _same(["a"]), _same([1]), "Int64 and String"),
    "predictions of another type": (lambda: _of_classes()().update(_same(["a"], [1])), "Int64 and String"),
    "predictions of large integers": (lambda: _of_classes()().update(_same([ODD], [1.0])), "Float64", "2^53"),
    "classes of large integers and floats": _second(_of_classes(), _same([ODD]), _same([1.5]), "Float64", "2^53"),
    "fractions for integers": (
        lambda: _of_classes()().update(_same([0, 1, 2, 1], [0.1, 1.2, 2.0, 0.8])),
        *("'l'", "fractions", "3 of 4", "0.1 at row 0"),
    ),
    "a merge of two types": (
        lambda: _of_classes()().update(_same(["a"])).absorb(_of_classes()().update(_same([1]))),
        "Int64 and String",
    ),
}
LABELS = {
    "a short list": _labels({"y": [[1, 0], [1]]}, "'y'", "2", "1 of 2", "[1]"),
    "a null list": _labels({"y": [[1, 0], None]}, "'y'", "null", "1 of 2"),
    "a null in a list": _labels({"y": [[1, None], [1, 0]]}, "'y'", "null", "1 of 2"),
    "a third value in a list": _labels({"y": [[1, 2], [1, 0]]}, "'y'", "0 and 1", "1 of 2"),
    "a score above 1 in a list": _labels({"p": [[0.5, 1.5], [0.1, 0.1]]}, "'p'", "[0, 1]"),
    "no lists": _labels({"y": [1, 0]}, "'y'", "2", "Int64"),
    "no lists of a model": (
        lambda: sm.multilabel(y_true={"a": "y", "b": "y"}, y_pred={"a model": "z"}).update({"y": [1], "z": [True]}),
        *("'z'", "2", "Boolean"),
    ),
}
REFUSALS = {**FRAMES, **SCORES, **TRUTHS, **GROUPS, **CLASSES, **LABELS}
