"""Columns of a mapping: every array is read by one of its protocols, or the error names the column and the call."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streammetrics as sm
from streammetrics.rows.given import as_series

SCORES = [0.75, 0.25, 0.5]
TIME = datetime(2026, 4, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
HOURS = np.array(["2026-04-01T01", "2026-04-01T02", "NaT"], dtype="datetime64[h]")


def tensor(values, protocol="__array__"):
    """An array of another library that has only this protocol."""
    of_numpy = protocol in ("__array__", "__dlpack__")
    array = np.asarray(values) if of_numpy else pa.array(values)
    if protocol == "__arrow_c_stream__":
        array = pa.chunked_array([array])
    plain = protocol in ("__array__", "__arrow_array__")
    methods = {protocol: lambda _, *a, **k: array if plain else getattr(array, protocol)(*a, **k)}
    if protocol == "__dlpack__":
        methods["__dlpack_device__"] = lambda _: array.__dlpack_device__()
    return type("Tensor", (), methods)()


class OfGraph:
    """A tensor that requires its gradient, with the errors of PyTorch."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __dlpack__(self, **_):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    def detach(self):
        return self


def evaluated(column, **columns):
    task = sm.binary(y_true="y", y_score="p", metrics=["accuracy"], nulls="drop")
    return sm.evaluate({"y": [1, 0, 1], "p": column} | columns, task)["accuracy"].value


PROTOCOLS = ["__array__", "__dlpack__", "__arrow_array__", "__arrow_c_array__", "__arrow_c_stream__"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrays_are_read_by_any_of_the_protocols(protocol):
    assert as_series("p", tensor(SCORES, protocol)).to_list() == SCORES
    assert evaluated(tensor(SCORES, protocol)) == 1


def test_the_next_protocol_is_tried():
    class Both(OfGraph):
        def __dlpack__(self, **options):
            return np.array(SCORES).__dlpack__(**options)

        def __dlpack_device__(self):
            return (1, 0)

    assert as_series("p", Both()).to_list() == SCORES


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.array([1, None, 0], "Int64"), [1, None, 0]),
        (pd.array([True, None, False], "boolean"), [True, None, False]),
        (pd.array(["a", None], "string"), ["a", None]),
        (pd.Categorical(["a", None, "a"]), ["a", None, "a"]),
        (pd.Categorical([1, 0]), [1, 0]),
        (pd.Index([1, 0]), [1, 0]),
        (pd.date_range("2026-04-01", periods=1, tz="UTC").array, [pd.Timestamp("2026-04-01", tz="UTC")]),
        (np.array([True, None, np.False_], dtype=object), [True, None, False]),
        (np.array(["a", np.nan], dtype=object), ["a", None]),
        (np.array([date(2026, 4, 1)], dtype=object), [date(2026, 4, 1)]),
        (np.array(SCORES)[:, None], SCORES),
        (np.array(SCORES)[:, None, None], SCORES),
        (np.matrix(SCORES).T, SCORES),
        (np.ma.array(SCORES, mask=[0, 1, 0])[:, None], [0.75, None, 0.5]),
        (np.array([[0.5], [None]], dtype=object), [0.5, None]),
        (np.ma.array(np.array([[0.5], [1.0]], dtype=object), mask=[[0], [1]]), [0.5, None]),
        ([*np.ma.array(SCORES, mask=[0, 1, 0])], [0.75, None, 0.5]),
        ([*np.ma.array([1, 0], mask=[1, 1])], [None, None]),
        ([*np.ma.array([[1.0], [0.5]], mask=[[1], [0]])], [None, 0.5]),
        ([np.array([0.5]), None, np.array([1.0])], [0.5, None, 1.0]),
        (pd.DatetimeIndex([TIME]), [TIME]),
        (pl.DataFrame({"a": SCORES}), SCORES),
        (pd.DataFrame({"a": SCORES}), SCORES),
        ([np.array(0.5), np.array(1.0)], [0.5, 1.0]),
        ([tensor(0.5), None, tensor(1)], [0.5, None, 1]),
        ([np.array([0.5]), np.array([1.0])], [0.5, 1.0]),
        ([np.array([1, 2]), np.array([3])], [[1, 2], [3]]),
        (np.array([0.5, 1], dtype=np.longdouble), [0.5, 1]),
        (np.zeros((0, 3)), []),
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')}",
)
def test_arrays_become_columns(values, expected):
    frame = pl.DataFrame({"a": as_series("a", values)})
    assert frame["a"].to_list() == expected


def test_tensors_keep_their_width():
    assert as_series("p", [np.array(0.7, np.float32)] * 2).dtype == pl.Float32
    assert as_series("p", np.array([[0.7]], np.float32)).dtype == pl.Float32


def test_bfloat16_is_read():
    types = pytest.importorskip("ml_dtypes")
    assert as_series("p", np.array([0.5, 1], types.bfloat16)).to_list() == [0.5, 1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (HOURS, [datetime(2026, 4, 1, 1), datetime(2026, 4, 1, 2), None]),
        (HOURS.astype("M8[s]"), [datetime(2026, 4, 1, 1), datetime(2026, 4, 1, 2), None]),
        (HOURS.astype("M8[M]"), [date(2026, 4, 1), date(2026, 4, 1), None]),
        (HOURS.astype("M8[ns]"), [datetime(2026, 4, 1, 1), datetime(2026, 4, 1, 2), None]),
        (HOURS - HOURS[0], [timedelta(0), timedelta(hours=1), None]),
        (np.array([2], "m8[D]"), [timedelta(days=2)]),
    ],
)
def test_times_of_all_units(values, expected):
    assert as_series("t", values).to_list() == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (OfGraph(), r"Cannot read column 'p', a OfGraph: Can't call numpy.*Convert it with .detach\(\).cpu\(\)"),
        ([OfGraph()] * 3, r"Cannot read column 'p', a OfGraph: Can't call numpy.*Convert it with .detach\(\).cpu\(\)"),
        (np.array([1j] * 3), "Column 'p' is an array of complex128, which is not supported. Pass numbers"),
        (np.zeros(3, "V2"), r"Column 'p' is an array of \|V2, which is not supported"),
        (np.array([("a", 1)] * 3, dtype=[("a", "U1"), ("b", int)]), "Column 'p' is an array of .*, which is not"),
        (HOURS.astype("M8[ps]"), r"Column 'p' is an array of datetime64\[ps\].*astype\('datetime64\[us\]'\)\.$"),
        (np.ones(3, "m8[M]"), r"Column 'p' is an array of timedelta64\[M\].*astype\('timedelta64\[us\]'\)\.$"),
        ({0.1, 0.2, 0.3}, "Column 'p' is a set, which has no order. Pass a list."),
        (np.array(["a", 1, 2], dtype=object), "Cannot read column 'p': .* Pass numbers, .* or times of one type."),
        (["a", 1, 2], "Cannot read column 'p': .* Pass numbers, .* or times of one type."),
        (
            np.array([SCORES] * 3),
            r"'p' must be numeric, got Array\(.*\). Pass one column of the array, such as p\[:, -1\], or pl.col",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_the_fix(values, message):
    with pytest.raises(sm.ColumnError, match=message):
        evaluated(values)


def test_older_frames_are_read():
    class Frame:
        def __dataframe__(self, **options):
            return pa.table({"y": [1, 0], "p": [0.9, 0.2]}).__dataframe__(**options)

    class Column:
        def __dataframe__(self, **options):
            return pa.table({"a": SCORES}).__dataframe__(**options)

    assert sm.evaluate(Frame(), sm.binary(y_true="y", y_score="p"))["accuracy"].value == 1
    assert as_series("p", Column()).to_list() == SCORES


def test_rows_can_hold_tensors():
    rows = [{"y": y, "p": np.array(p, np.float32)} for y, p in zip([1, 0, 1], SCORES, strict=True)]
    task = sm.binary(y_true="y", y_score="p")
    assert sm.evaluate(rows, task)["accuracy"].value == 1
    assert sm.accumulate(iter([rows]), task).finalize()["accuracy"].value == 1


def test_objects_in_a_polars_frame_are_read():
    objects = {"y": np.array([True, None, False], dtype=object), "p": np.array([0.9, 0.5, 0.2], dtype=object)}
    frame = pl.DataFrame(objects)
    assert frame.dtypes == [pl.Object, pl.Object]
    assert sm.evaluate(frame, sm.binary(y_true="y", y_score="p", nulls="drop"))["accuracy"].value == 1


@pytest.mark.parametrize(
    ("column", "fix"),
    [
        (pl.Series([[0.1, 0.9]] * 2), "Pass one item of each list, such as pl.col('p').list.get(1), or in SQL p[2]."),
        (pl.Series([[0.1, 0.9]] * 2, dtype=pl.Array(pl.Float64, 2)), "or pl.col('p').arr.get(-1)."),
        (pl.Series([{"no": 0.1, "yes": 0.9}] * 2), "Pass one field, such as pl.col('p').struct.field('yes')."),
    ],
    ids=["list", "array", "struct"],
)
@pytest.mark.parametrize("role", ["y_score", "sample_weight"])
def test_the_fix_of_several_numbers_in_one_column(column, fix, role):
    batch = pl.DataFrame({"y": [1, 0], "q": [0.5, 0.5], "p": column})
    columns = {"y_true": "y", "y_score": "q"}
    with pytest.raises(sm.ColumnError, match="'p' must be numeric, got") as error:
        sm.binary(**columns | {role: "p"}).update(batch)
    assert str(error.value).endswith(fix)
