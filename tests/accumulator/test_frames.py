"""The door: every way in gives the same state, and bad input gets a clear error and loses nothing."""

import math
import pickle
import re
from datetime import date, datetime, timedelta

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.state import content

rng = np.random.default_rng(0)
DATA = pl.DataFrame(
    {
        "unused": [object()] * 0 or ["text"] * 50,
        "y": rng.integers(0, 2, 50),
        "p": rng.random(50).round(2),
        "g": pl.Series(["DE", "FR", None]).gather(rng.integers(0, 3, 50)),
    }
)


def task(**options):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options)


def state_of(data, **options):
    return task(**options).update(data).to_bytes()


class OnlyAnArray:
    """A struct array by the PyCapsule protocol, as other libraries export it."""

    def __init__(self, table):
        self.batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "convert",
    [
        lambda d: d,
        lambda d: d.to_arrow(),
        lambda d: d.to_arrow().combine_chunks().to_batches()[0],
        lambda d: d.to_arrow().to_reader(),
        lambda d: d.to_pandas(),
        lambda d: d.to_pandas().convert_dtypes(),
        lambda d: duckdb.from_arrow(d.to_arrow()),
        lambda d: {c: d[c].to_numpy() for c in d.columns},
        lambda d: {c: d[c].to_list() for c in d.columns},
        lambda d: OnlyAnArray(d.to_arrow()),
        lambda d: d.to_pandas().assign(unused=[object()] * d.height),
        lambda d: d.to_pandas().astype({"g": "category"}),
        lambda d: d.to_pandas().convert_dtypes(dtype_backend="pyarrow"),
        lambda d: {c: d[c].to_arrow() for c in d.columns},
        lambda d: d.with_columns(pl.col("p").cast(pl.Float64), pl.col("y").cast(pl.Boolean)),
        lambda d: d.with_columns(pl.col("y").cast(pl.UInt8)),
        lambda d: d.with_columns(pl.col("y").cast(pl.Float32)),
        lambda d: d.with_columns(pl.col("g").cast(pl.Categorical)),
        lambda d: d.with_columns(pl.col("g").cast(pl.Enum(["FR", "DE"]))),
        lambda d: d.to_arrow().set_column(3, "g", d["g"].to_arrow().dictionary_encode()),
    ],
    ids=range(20),
)
def test_every_way_in_is_the_same(convert):
    assert state_of(convert(DATA), by="g") == state_of(DATA, by="g")


def test_columns_by_expression():
    columns = {"y_true": pl.col("y") == 1, "y_score": (pl.col("p") / 2 + pl.col("p") / 2).alias("half")}
    found = sm.binary(**columns, by=pl.col("g").fill_null("?").alias("country")).update(DATA)
    assert found.roles.by == ("country",)
    plain = sm.binary(y_true="y", y_score="p", capacity=4096).update(DATA)
    assert_frame_equal(found.rollup().finalize().frame, plain.finalize().frame, rel_tol=1e-14)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None],
        [1.5, 2.5, None],
        ["a", "b", None],
        [True, False, None],
        [date(2026, 1, 1), date(2026, 1, 2), None],
        [datetime(2026, 1, 1), datetime(2026, 1, 2), None],
        [timedelta(1), timedelta(2), None],
        [None, None, None],
    ],
    ids=str,
)
def test_groups_of_any_type_keep_it(values, tmp_path):
    acc = task(by="g").update(pl.DataFrame({"y": [1, 0, 1], "p": [0.1, 0.2, 0.3], "g": values}))
    acc.save(tmp_path / "state")
    report = sm.Accumulator.load(tmp_path / "state").finalize()
    assert set(report.frame["g"]) == set(values)
    assert report.get("rows", g=values[0]).value == values.count(values[0])


def test_group_types_of_shards_are_brought_together():
    def shard(values, kind):
        return pl.DataFrame({"y": [1, 0], "p": [0.1, 0.2], "g": pl.Series(values, dtype=kind)})

    acc = (
        task(by="g")
        .update(shard([None, None], pl.Null))
        .update(shard([1, 2], pl.Int8))
        .update(shard([1, 3], pl.UInt32))
    )
    assert acc.finalize(["rows"]).frame["g"].to_list() == [1, 2, 3, None]
    before = acc.to_bytes()
    with pytest.raises(sm.ColumnError, match="'g' has different types in different batches: Int64 and String"):
        acc.update(shard(["a", "b"], pl.String))
    assert acc.to_bytes() == before


TWO, OF_COLUMN, OF_ROWS = [0.1, 0.2], sm.ColumnError, sm.DataError
A, A_OR_B, ONE = {"positive": "a"}, {"positive": "a", "negative": "b"}, {"positive": 1}
WEIGHTED, GROUPED = {"sample_weight": "w"}, {"by": "g"}
DAY = {"y": [date(2026, 1, 1)], "p": [0.1]}
FAR_TIME = pl.Series([0, 2**62]).cast(pl.Datetime("ms"))
FAR_DATE = pl.Series([2**30], dtype=pl.Int32).cast(pl.Date)
NO_TABLE = pa.Table.from_arrays([pa.array([1]), pa.array([0.1]), pa.array([0.2])], ["y", "p", "p"])
BAD = {  # a batch, its error and message, and options
    "missing column": ({"y": [1], "q": [0.5]}, OF_COLUMN, "Column 'p' not found. Available columns: 'y', 'q'"),
    "null label": ({"y": [1, None], "p": TWO}, OF_ROWS, "'y' contains null or NaN in 1 of 2 rows .*row 1"),
    "null score": ({"y": [1, 0], "p": [None, 0.2]}, OF_ROWS, "'p' contains null or NaN .* nulls='drop'"),
    "NaN score": ({"y": [1, 0], "p": [0.1, float("nan")]}, OF_ROWS, "'p' contains null or NaN in 1 of 2"),
    "score above 1": ({"y": [1, 0], "p": [0.1, 1.5]}, OF_ROWS, r"scores outside \[0, 1\] .*1.5 at row 1"),
    "score below 0": ({"y": [1, 0], "p": [-0.1, 0.5]}, OF_ROWS, "domain='real'"),
    "infinite score": ({"y": [1, 0], "p": [0.1, float("inf")]}, OF_ROWS, r"outside \[0, 1\]"),
    "a list for a score": ({"y": [1], "p": [[0.5]]}, OF_COLUMN, "'p' must be numeric, got List"),
    "three labels": ({"y": [0, 1, 2], "p": [0.1] * 3}, OF_ROWS, "other than 0 and 1 .*first: 2 .*positive="),
    "text labels": (
        {"y": ["a", "b"], "p": TWO},
        OF_COLUMN,
        r"must be Boolean or 0/1, got String \(first: 'a'\).*positive=",
    ),
    "third label": ({"y": [*"abc"], "p": [0.1] * 3}, OF_ROWS, "other than 'a' and 'b' in 1 of 3 rows .*'c'", A_OR_B),
    "wrong label": ({"y": [1, 0], "p": TWO}, OF_COLUMN, "cannot contain the label 'a'", A),
    "text score": ({"y": [1, 0], "p": ["0.1", "0.2"]}, OF_COLUMN, "'p' must be numeric, got String"),
    "negative weight": (
        {"y": [1, 0], "p": TWO, "w": [1, -1]},
        OF_ROWS,
        "negative or infinite weights in 1 of 2",
        WEIGHTED,
    ),
    "infinite weight": ({"y": [1, 0], "p": TWO, "w": [1, math.inf]}, OF_ROWS, "negative or infinite weights", WEIGHTED),
    "unknown weight": (
        {"y": [1, 0], "p": TWO, "w": [1, None]},
        OF_ROWS,
        "'w' contains null or NaN in 1 of 2",
        WEIGHTED,
    ),
    "nested group": ({"y": [1], "p": [0.1], "g": [[1]]}, OF_COLUMN, "Group by plain values", GROUPED),
    "failing expression": ({"y": [1], "p": ["x"]}, OF_COLUMN, "'p' fails", {"y_score": pl.col("p").cast(pl.Float64)}),
    "lazy frame": (pl.LazyFrame({"y": [1]}), OF_COLUMN, "Pass it to evaluate"),
    "no table": (17, OF_COLUMN, "type int"),
    "huge label": ({"y": [1, 0], "p": TWO}, OF_COLUMN, "cannot contain the label 1844", {"positive": 2**64}),
    "list labels": ({"y": [[1], [0]], "p": TWO}, OF_COLUMN, "cannot contain the label 1", ONE),
    "true and a text": ({"y": [True, False], "p": TWO}, OF_COLUMN, "because it is Boolean", A),
    "column twice": (NO_TABLE, OF_COLUMN, "Cannot read the batch as a table"),
    "intervals": (
        *(pd.DataFrame({"y": [1, 0], "p": TWO, "g": pd.cut([1, 2], 2)}), OF_COLUMN),
        *(r"Convert the intervals to text: \.astype\(str\)", GROUPED),
    ),
    "true on text": ({"y": ["True", "x"], "p": TWO}, OF_COLUMN, "contain the label True", {"positive": True}),
    "one on text": ({"y": ["1", "0"], "p": TWO}, OF_COLUMN, "contain the label 1, because it is String. Pass", ONE),
    "one on booleans": ({"y": [True, False], "p": TWO}, OF_COLUMN, "contain the label 1", ONE),
    "a half on integers": ({"y": [1, 0], "p": TWO}, OF_COLUMN, "contain the label 0.5", {"positive": 0.5}),
    "text on a date": (DAY, OF_COLUMN, "label '2026'", {"positive": "2026"}),
    "a number on a date": (DAY, OF_COLUMN, "label 1", ONE),
    "no float": ({"y": [1.0, 0.0], "p": TWO}, OF_COLUMN, "label 9007199254740993", {"positive": 2**53 + 1}),
    "negative of another type": ({"y": [*"ab"], "p": TWO}, OF_COLUMN, "contain the label 0", A | {"negative": 0}),
    "far timestamps": (
        *({"y": [1, 0], "p": TWO, "g": FAR_TIME}, OF_ROWS),
        *(
            "'g' contains values out of the range of Datetime .*4611686018427387904 at row 1 .*Years must be 1 to",
            GROUPED,
        ),
    ),
    "far dates": ({"y": [1], "p": [0.1], "g": FAR_DATE}, OF_ROWS, "out of the range of Date in 1 of 1", GROUPED),
    "far durations": (
        *({"y": [1], "p": [0.1], "g": pl.Series([-(2**62)]).cast(pl.Duration("ms"))}, OF_ROWS),
        *("out of the range of Duration", GROUPED),
    ),
    "rows without a column": ([{"y": 1}, {"y": 0}], OF_COLUMN, "Column 'p' not found"),
    "rows without a value": ([{"y": 1, "p": 0.5}, {"y": 0}], OF_ROWS, "'p' contains null or NaN in 1 of 2"),
    "rows and other things": ([{"y": 1, "p": 0.5}, 7], OF_COLUMN, "type list"),
    "text among numbers": (
        *({"y": [1, 0], "p": [0, "0.5"]}, OF_COLUMN),
        r"Cannot read column 'p': unexpected value .* type String: \"0.5\". Pass numbers, .* of one type.$",
    ),
    "text among objects": (
        *(pd.DataFrame({"y": [1, 0], "p": [0, "0.5"]}), OF_COLUMN),
        r"as a table: Could not convert '0.5' .* \(column 'p'\). Pass values of one type.$",
    ),
    "an integer among floats": (
        {"y": [1, 0], "p": [0.5, 2**53 + 1]},
        OF_COLUMN,
        r"9007199254740993, which is beyond 2\^53",
    ),
    "numbers among lists": ({"y": [1, 0], "p": [0.5, [1]]}, OF_COLUMN, "Cannot read column 'p'"),
    "an empty text": ("", OF_COLUMN, "type str"),
    "ragged": ({"y": [1, 0], "p": [0.1]}, OF_COLUMN, "Cannot read the batch as a table"),
}


@pytest.mark.parametrize("held", [10**6, 2, 0])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_loses_nothing(name, held, monkeypatch):
    monkeypatch.setattr(content, "BUFFER", held)
    data, error, message, *rest = BAD[name]
    options = dict(*rest)
    acc = task(**options)
    good = {"y": [1, 0], "p": [0.3, 0.4], "w": [1.0, 2.0], "g": [1, 2]}
    if "positive" in options:
        good["y"] = ["a", "b"]
    if not {"y_score", "negative"} & {*options} and isinstance(options.get("positive", ""), str):
        acc.update(good)
    before = acc.copy().to_bytes()
    with pytest.raises(error, match=message):
        acc.update(data)
    assert acc.to_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nulls": "ignore"}, "nulls= must be"),
        ({"negative": 0}, "positive="),
        ({"by": "threshold"}, "'threshold', which reports use"),
        ({"by": "row_counts"}, "'row_counts', which saved states use"),
        ({"by": ["g", "g"]}, "by= contains the column 'g' 2 times. Pass the name of each column once.$"),
        ({"by": pl.Series(["g"] * 50 + ["h"] * 1_000)}, "by= contains the column 'h' 1,000 times."),
        ({"by": None}, "A column must be a name or a Polars expression, got None"),
        ({"by": ""}, "A column cannot be named ''"),
        ({"by": "\0"}, "A column cannot be named '\\\\x00'"),
        ({"y_score": pl.col("p").alias("a\0b")}, "A column cannot be named"),
        ({"positive": [1, 0, 0, 0]}, "positive= must be a string, number, .* got \\[1, 0, 0, 0\\]"),
        ({"positive": pl.Series([1])}, "positive= must be a string"),
        ({"positive": pl.lit(1)}, "positive= must be a string"),
        ({"positive": float("nan")}, "positive= must be a string, .* got nan"),
        ({"positive": 1, "negative": [0, 2]}, "negative= must be a string"),
        ({"positive": 1, "negative": 1.0}, "must be different labels"),
        ({"by": "*"}, "A column cannot be named '\\*'"),
        ({"y_score": "^p.*$"}, "A column cannot be named"),
        ({"y_score": pl.col("y") * 0.5}, "Two different columns are named 'y'"),
        ({"y_score": pl.all()}, "single named column"),
        ({"y_score": {}}, "at least one model"),
        ({"y_score": 7}, "A column must be a name or a Polars expression, got 7.$"),
        ({"y_score": ["p", "z"]}, "got 'p', 'z'. For several columns, map each label or model to one.$"),
        ({"y_score": [0.1, 0.2]}, "got values of type list. Pass the name of the column, and the rows to update.$"),
        ({"y_score": np.array([0.1, 0.2])}, "got values of type ndarray. Pass the name of the column, and the rows"),
        ({"y_score": None}, "requires y_score="),
        ({"y_pred": "z", "thresholds": [0.5]}, "not both"),
        ({"y_pred": {"a": "z"}}, "same models"),
        ({"thresholds": [0.5, 0.5]}, "distinct"),
        ({"thresholds": [float("nan")]}, "distinct numbers"),
        ({"thresholds": ["half"]}, "distinct numbers, got \\('half',\\)"),
        ({"thresholds": [None]}, "distinct numbers"),
        ({"capacity": 7}, "at least 8"),
        ({"capacity": 1e4}, "capacity= must be an integer, got 10000.0"),
        ({"capacity": 0}, "capacity= must be at least 8"),
        (
            {"thresholds": [0.3, 30]},
            "thresholds= must be between 0 and 1 for probabilities, got 30. For 30%, pass 0.3. Pass domain='real'",
        ),
        ({"thresholds": -0.1}, "thresholds= must be between 0 and 1 for probabilities, got -0.1."),
        ({"atoms": [2.0]}, "outside the domain"),
        ({"domain": "margin"}, "domain= must be"),
        *(({"calibration_bins": bins}, "calibration bins must be an integer of at least 1") for bins in (0, 2.5)),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_specifications_that_cannot_work(options, message):
    with pytest.raises(sm.SpecificationError, match=message):
        task(**options)


def test_dropped_rows_are_counted_by_group_and_model():
    data = pl.DataFrame(
        {
            "y": [1, 0, None, 1, 0, 1],
            "a": [0.1, None, 0.3, 0.4, 0.5, 0.6],
            "b": [0.1, 0.2, 0.3, float("nan"), None, 0.6],
            "w": [1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
            "g": ["x", "x", "x", "y", "y", "z"],
        }
    )
    acc = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, sample_weight="w", by="g", nulls="drop").update(data)
    counts = acc.finalize(["rows", "dropped"]).frame.pivot("metric", index=["g", "model"], values="value")
    assert counts.rows() == [
        ("x", "a", 1, 2),
        ("x", "b", 2, 1),
        ("y", "a", 2, 0),
        ("y", "b", 0, 2),
        ("z", "a", 0, 1),
        ("z", "b", 0, 1),
    ]


def test_only_the_columns_in_use_are_converted():
    table = pa.table({"y": [1, 0], "p": [0.1, 0.2], "odd": pa.array([None, None], pa.month_day_nano_interval())})
    assert task().update(table).seen == 2


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, 2, None], [pl.Int64, pl.Int8, pl.UInt16, pl.UInt32, pl.Int32]),
        ([0.5, 2.0, None], [pl.Float64, pl.Float32]),
        ([datetime(2026, 1, 1), datetime(2026, 1, 2), None], [pl.Datetime(u) for u in ("us", "ms", "ns")]),
        ([timedelta(1), timedelta(2), None], [pl.Duration(u) for u in ("us", "ms", "ns")]),
        (["a", "b", None], [pl.String, pl.Categorical, pl.Enum(["b", "a"])]),
    ],
    ids=["int", "float", "datetime", "duration", "text"],
)
def test_widths_and_units_make_the_same_groups(values, types):
    frames = [pl.DataFrame({"y": [1, 0, 1], "p": [0.1, 0.2, 0.3], "g": pl.Series(values, dtype=t)}) for t in types]
    assert len({state_of(frame, by="g") for frame in frames}) == 1
    acc = task(by="g")
    for frame in frames:
        acc.update(frame)
    assert acc.finalize(["rows"]).frame["value"].to_list() == [len(types)] * 3


def test_nan_and_null_are_one_group_and_so_are_the_zeros():
    groups = pl.Series([float("nan"), None, 0.0, -0.0])
    data = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.1, 0.2, 0.3, 0.4], "g": groups})
    for batch in (data, data.to_pandas()):
        assert task(by="g").update(batch).finalize(["rows"]).frame.select("g", "value").rows() == [(0, 2), (None, 2)]


@pytest.mark.parametrize("options", [{}, {"positive": "a"}, {"positive": "a", "negative": "b"}], ids=str)
def test_a_batch_of_null_labels_is_dropped(options):
    acc = task(nulls="drop", **options).update({"y": [None, None], "p": [0.1, 0.2]})
    assert acc.finalize()["dropped"].value == 2


def test_what_arrow_has_and_polars_has_not_is_refused():
    decimals = pa.array([0, 1], pa.int64()).cast(pa.decimal256(50, 2))
    with pytest.raises(sm.ColumnError, match=r"Column .p. has the unsupported type decimal256\(50, 2\). Cast it to"):
        task().update(pa.table({"y": [1, 0], "p": decimals}))


def test_errors_of_rows_say_which_and_can_say_where():
    data = {"y": [0, 1, 1, 0], "p": [0.5, 0.5, 7.0, 8.0], "w": [1.0] * 4}
    with pytest.raises(sm.DataError, match=r"7.0 at row 2 of the batch\)") as caught:
        task().update(data)
    error = caught.value
    assert (error.column, error.fault, error.count, error.height) == ("p", "scores outside [0, 1]", 2, 4)
    assert (error.row, error.value, error.advice.split()[:2]) == (2, 7.0, ["Pass", "probabilities"])
    elsewhere = pickle.loads(pickle.dumps(error.at("row 1002 of 'a.csv'")))
    assert str(elsewhere) == str(error).replace("row 2 of the batch", "row 1002 of 'a.csv'")
    assert vars(elsewhere) == vars(error)


YES = {"y": [b"yes", b"no", None], "p": [0.9, 0.2, 0.5], "g": [b"DE", "é".encode(), b"DE"]}


@pytest.mark.parametrize("positive", ["yes", b"yes", np.bytes_(b"yes")])
@pytest.mark.parametrize("wrap", [lambda d: d, pl.DataFrame, pa.table], ids=["mapping", "polars", "arrow"])
def test_bytes_of_utf8_are_text(positive, wrap):
    report = sm.evaluate(wrap(YES), task(positive=positive, negative=b"no", nulls="drop", by="g"))
    assert report.rows("rows").select("g", "value").rows() == [("DE", 1.0), ("é", 1.0)]
    assert report.get("accuracy", g="é").value == 1


def test_class_labels_of_bytes_are_text():
    data = {"y": [b"a", b"b"], "z": ["a", "a"], "p": [[0.9, 0.1], [0.2, 0.8]]}
    assert sm.evaluate(data, sm.multiclass(y_true="y", y_pred="z"))["accuracy"].value == 0.5
    assert sm.evaluate(data, sm.multiclass(y_true="y", y_score="p", labels=[b"a", b"b"]))["accuracy"].value == 1


def test_bytes_that_are_not_utf8_are_refused():
    ids = {"y": [1, 0], "p": [0.9, 0.2], "g": [b"a", b"\xff\x00"]}
    with pytest.raises(
        sm.DataError, match=r"'g' contains bytes that are not UTF-8 text in 1 of 2 .*bin.encode\('hex'\)"
    ):
        task(by="g").update(ids)
    assert task(by=pl.col("g").bin.encode("hex")).update(ids).finalize().rows("rows")["g"].to_list() == ["61", "ff00"]
    assert task(unit="g").update(ids).finalize()["rows"].value == 2
    with pytest.raises(sm.SpecificationError, match=r"Labels must be text, got the bytes b'\\xff'"):
        task(positive=b"\xff")


def above(dtype, steps):
    """The float of this many steps above 1."""
    return dtype(1) + dtype(steps * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounding_errors_of_probabilities_are_clipped(dtype):
    given = np.array([above(dtype, 1), above(dtype, 4), -np.finfo(dtype).eps, 0.5], dtype)
    clipped = np.array([1, 1, 0, 0.5], dtype)
    made, expected = (task().update({"y": [1, 1, 0, 1], "p": p}) for p in (given, clipped))
    assert made.to_bytes() == expected.to_bytes()
    with pytest.raises(sm.DataError, match=r"outside \[0, 1\] in 1 of 2 .*rounding errors\. Clip them"):
        task().update({"y": [1, 0], "p": np.array([above(dtype, 5), above(dtype, 4)], dtype)})


def test_rounding_errors_of_class_probabilities_are_clipped():
    several = sm.multiclass(y_true="y", y_score={"a": "p", "b": "q"})
    several.update({"y": ["a", "b"], "p": [above(np.float64, 1), 0.5], "q": [-1e-16, 0.5]})
    with pytest.raises(sm.DataError, match=r"'q' contains .* rounding errors\. Clip them to \[0, 1\]\.$"):
        several.update({"y": ["a", "b"], "p": [1.0, 0.5], "q": [-1e-9, 0.5]})


def test_a_value_may_say_what_the_error_says():
    labels = ["a", "b", "row 2 of the batch"]
    with pytest.raises(sm.DataError) as caught:
        task(positive="a", negative="b").update({"y": labels, "p": [0.1] * 3})
    assert "first: 'row 2 of the batch' at row 9 of 'f'" in str(caught.value.at("row 9 of 'f'"))


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["a", "b"], np.str_("a")),
        ([1, 0], np.int64(1)),
        ([1, 0], True),
        ([1.0, 0.0], 1),
        ([1.0, 0.0], "1"),
        ([1, 0], "1"),
        (pl.Series([0.1, 0.2], dtype=pl.Float32), 0.1),
        (pl.Series(["0.1", "0.2"]).cast(pl.Decimal(3, 1)), 0.1),
        (pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64), 2**64 - 1),
        ([2**53 + 1, 2**53], 2**53 + 1),
        ([date(2026, 1, 1), date(2026, 1, 2)], date(2026, 1, 1)),
        ([True, False], True),
        ([True, False], "True"),
        ([False, True], "false"),
    ],
    ids=str,
)
def test_a_label_equals_values_of_its_kind(labels, positive):
    batch = {"y": labels, "p": [0.9, 0.1]}
    report = task(positive=positive).update(batch).finalize()
    assert (report["positives"].value, report["roc_auc"].value) == (1, 1)


def test_a_label_that_narrow_integers_cannot_hold_may_come_later():
    acc = task(positive=300).update({"y": pl.Series([1, 2], dtype=pl.Int8), "p": [0.1, 0.2]})
    assert acc.update({"y": [300, 2], "p": [0.9, 0.2]}).finalize()["positives"].value == 1


@pytest.mark.parametrize(
    ("labels", "positive", "known"),
    [
        (["yes", "no"], "Yes", "'no', 'yes'"),
        (["yes ", "no"], "yes", "'no', 'yes '"),
        (["yes", "no", "YES"], "yes", "'YES', 'no', 'yes'"),
        (["True", "False"], "true", "'False', 'True'"),
        (pl.Series(["yes", "no"], dtype=pl.Categorical), "Yes", "'no', 'yes'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["y", "z"])
def test_labels_that_resemble_the_positive_one_are_refused(column, labels, positive, known):
    good = pl.Series(["no"] * len(labels))
    batch = {"y": good, "z": good} | {column: labels}
    acc = sm.binary(y_true="y", y_pred="z", positive=positive).update({"y": good, "z": good})
    with pytest.raises(sm.DataError, match=f"Column '{column}' .* only in spaces or capital letters .*{known}"):
        acc.update(batch)
    assert acc.seen == len(labels)


def test_the_negative_label_may_resemble_the_positive_one():
    batch = {"y": ["A", "a"], "p": [0.9, 0.1]}
    assert task(positive="A", negative="a").update(batch).finalize()["roc_auc"].value == 1


NO_POSITIVE = {
    "text": (["yes", "no"], "true", "'no', 'yes'"),
    "numbers as text": (["1.0", "0.0"], "1", "'0.0', '1.0'"),
    "integers": ([0, 1], 2, "0, 1"),
    "integers and text": ([0, 1], "2", "0, 1"),
    "floats": ([0.0, 1.0], 2, "0.0, 1.0"),
    "dates": ([date(2026, 1, 1), date(2026, 1, 2)], date(2026, 1, 3), "datetime.date"),
}


@pytest.mark.parametrize(("labels", "positive", "known"), NO_POSITIVE.values(), ids=NO_POSITIVE.keys())
def test_metrics_of_several_labels_without_the_positive_one_are_refused(labels, positive, known, tmp_path):
    batch = {"y": labels, "p": [0.9, 0.1]}
    parts = [{"y": labels[i : i + 1], "p": [0.5]} for i in range(2)]
    said = f"Column 'y' never has the label positive={positive!r}. Labels: {known}"
    acc = task(positive=positive)
    whole = acc.empty().update(batch)
    shards = [acc.empty().update(part) for part in parts]
    for each in (whole, whole.copy(), sm.merge(shards), sm.accumulate(parts, acc, workers=2)):
        with pytest.raises(sm.DataError, match=re.escape(said)):
            each.finalize()
    with pytest.raises(sm.DataError, match=re.escape(said)):
        sm.evaluate(parts, acc)
    for shard in shards:
        assert shard.finalize()["prevalence"].note == "no row has the positive label"
    if not isinstance(positive, date):  # which states cannot store
        whole.save(tmp_path / "a.state")
        assert sm.Accumulator.load(tmp_path / "a.state").finalize()["positives"].value == 0
    predicted = sm.predictions(y_pred="y", positive=positive).update(batch)
    with pytest.raises(sm.DataError, match="never has the label"):
        predicted.finalize()


@pytest.mark.parametrize("order", [1, -1])
def test_shards_and_groups_without_the_positive_label_are_evaluated(order, tmp_path):
    acc = task(positive="churned", by="g")
    parts = [["stayed", "paused"], ["stayed"], ["churned", "stayed"], []]
    batches = [{"y": y, "p": [0.5] * len(y), "g": [str(i)] * len(y)} for i, y in enumerate(parts)][::order]
    shards = [acc.empty().update(pl.DataFrame(b, schema_overrides={"y": pl.String, "g": pl.String})) for b in batches]
    total = sm.merge(shards)
    assert total.finalize().rollup()["positives"].value == 1
    assert total.filter(pl.col("g") == "0").finalize()["positives"].value == 0
    total.save(tmp_path / "a.state")
    later = sm.Accumulator.load(tmp_path / "a.state").update(batches[0] if order == 1 else batches[-1])
    assert later.finalize().rollup()["positives"].value == 1


def test_missing_labels_as_text_are_no_second_label():
    batch = {"y": ["no", "", "NA", "no"], "p": [0.1] * 4}
    assert task(positive="yes").update(batch).finalize()["positives"].value == 0


def test_a_model_that_never_predicts_the_positive_label_is_evaluated():
    batch = {"y": ["yes", "no"], "z": ["no", "perhaps"]}
    report = sm.binary(y_true="y", y_pred="z", positive="yes").update(batch).finalize()
    assert report["recall"].value == 0
    predicted = sm.predictions(y_pred="z", positive="yes").update({"z": ["no", "no"]}).finalize()
    assert predicted["predicted_positive_rate"].note == "no row is predicted positive"


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_integers_of_128_bits_are_labels(dtype):
    batch = pl.DataFrame({"y": pl.Series([1, 0], dtype=dtype), "p": [0.9, 0.1]})
    assert task().update(batch).finalize()["roc_auc"].value == 1
    with pytest.raises(sm.DataError, match="other than 0 and 1"):
        task().update(batch.with_columns(y=pl.col("y") + 1))
    with pytest.raises(sm.ColumnError, match="plain values, such as Int64"):
        sm.multiclass(y_true="y", y_pred="y").update(batch)


def test_lists_may_mix_integers_and_floats():
    expected = state_of({"y": [1.0, 0.0, 1.0, 0.0], "p": [0.0, 0.5, 1.0, 0.25]})
    assert state_of({"y": [1, 0.0, True, 0], "p": [0, 0.5, 1, 0.25]}) == expected
    assert state_of({"y": (1, 0, 1, 0), "p": (0, np.float64(0.5), np.int64(1), 0.25)}) == expected
    lists = {"y": ["a", "b"], "p": [[0, 1], [0.5, 0.5]]}
    acc = sm.multilabel(y_true="y", y_score="p", labels=["a", "b"], threshold=0.3)
    acc.update({"y": [[0, 1], [1, 1]], "p": [[0, 1], [0.5, 0.5]]})
    assert acc.finalize()["subset_accuracy"].value == 1
    classes = sm.multiclass(y_true="y", y_score="p", labels=["a", "b"]).update(lists)
    assert classes.finalize()["log_loss"].value == pytest.approx(-(np.log(1e-15) + np.log(0.5)) / 2)


def test_rows_are_a_batch():
    rows = DATA.select("y", "p", "g").to_dicts()
    assert state_of(rows, by="g") == state_of(tuple(rows), by="g") == state_of(DATA, by="g")
    assert state_of([], by="g") == task(by="g").to_bytes()
    mixed = [{"y": 1, "p": 1}, {"y": 0, "p": 0.5, "more": "text"}, {"p": 0, "y": False}]
    assert state_of(mixed) == state_of({"y": [1, 0, 0], "p": [1.0, 0.5, 0.0]})


@pytest.mark.parametrize(
    "values", [[date.min, date.max], [datetime.min, datetime.max], [timedelta(days=10**8), -timedelta(days=10**8)]]
)
def test_the_ends_of_time_are_groups(values):
    for unit in ("us", "ms"):
        groups = pl.Series(values)
        if not isinstance(values[0], date) or isinstance(values[0], datetime):
            groups = groups.dt.cast_time_unit(unit)
        acc = task(by="g").update({"y": [1, 0], "p": [0.1, 0.2], "g": groups})
        assert acc.finalize(["rows"]).frame["g"].n_unique() == 2


def test_times_out_of_range_do_not_panic():
    far = pl.Series([0, 2**62]).cast(pl.Datetime("ms"))
    labels = {"positive": datetime(1970, 1, 1), "negative": datetime(1970, 1, 2)}
    with pytest.raises(sm.DataError, match="'y' contains values out of the range of Datetime"):
        task(**labels).update({"y": far, "p": [0.1] * 2})
    for options in ({}, {"labels": ["a"]}):
        with pytest.raises(sm.DataError, match="'y' contains values out of the range of Datetime"):
            sm.multiclass(y_true="y", y_pred="y", **options).update({"y": far})
    dates = pl.DataFrame({"y": [1], "p": [0.1], "g": pl.Series([2**30], dtype=pl.Int32).cast(pl.Date)})
    with pytest.raises(sm.ColumnError, match="The expression for column 'g' fails"):
        task(by=pl.col("g").dt.truncate("1mo")).update(dates)


def test_integers_that_floats_cannot_hold_are_told_beside_categories():
    batch = {"y": [1], "p": [0.5], "g": pl.Series(["a"], dtype=pl.Categorical), "n": [2**53 + 1]}
    acc = sm.binary(y_true="y", y_score="p", by=["g", "n"]).update(batch)
    with pytest.raises(sm.ColumnError, match=r"'n' has different types .*integers beyond 2\^53"):
        acc.update(batch | {"n": [0.5]})
