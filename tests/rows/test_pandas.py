"""Columns of pandas: every type gives groups of its values, or an error that names the fix."""

import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streammetrics as sm

ROWS = {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.8, 0.3]}
DAYS = pd.Series(pd.date_range("2026-04-01", periods=4, freq="31D"))
BERLIN = DAYS.dt.tz_localize("Europe/Berlin")
TEXT = ["a", None, "b", "b"]


def frame_of(**columns):
    return pd.DataFrame(ROWS | columns)


def groups(data, by="g"):
    return sm.evaluate(data, sm.binary(y_true="y", y_score="p", by=by)).rows("rows")["g"].to_list()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(TEXT, dtype="category"), ["a", "b", None]),
        (pd.Series([10, 10, 20, 20], dtype="category"), [10, 20]),
        (pd.Series([1, None, 2, 2], dtype="Int64"), [1, 2, None]),
        (pd.Series([1.5, None, 2, 2], dtype="Float64"), [1.5, 2.0, None]),
        (pd.Series([True, None, False, True], dtype="boolean"), [False, True, None]),
        (pd.Series([True, None, False, True], dtype=object), [False, True, None]),
        (pd.Series(TEXT, dtype="string[pyarrow]"), ["a", "b", None]),
        (pd.Series(TEXT, dtype="string[python]"), ["a", "b", None]),
        (pd.Series(TEXT, dtype=object), ["a", "b", None]),
        (DAYS, DAYS.dt.to_pydatetime().tolist()),
        (DAYS.astype("datetime64[s]"), DAYS.dt.to_pydatetime().tolist()),
        (BERLIN, BERLIN.dt.to_pydatetime().tolist()),
        (DAYS.dt.date, DAYS.dt.date.tolist()),
        (DAYS.dt.to_period("M").dt.start_time, pd.date_range("2026-04-01", periods=4, freq="MS").to_pydatetime()),
        (pd.cut(pd.Series([1, 2, 3, 4]), [0, 2, 4]).astype(str), ["(0, 2]", "(2, 4]"]),
    ],
    ids=lambda given: str(getattr(given, "dtype", "")),
)
def test_groups_have_the_values_of_the_column(column, expected):
    assert groups(frame_of(g=column)) == list(expected)


@pytest.mark.parametrize(
    "convert",
    [lambda d: d, lambda d: dict(d.items()), pa.Table.from_pandas, pl.from_pandas, lambda d: iter([d, d])],
    ids=["pandas", "columns", "pyarrow", "polars", "chunks"],
)
@pytest.mark.parametrize(
    ("column", "fix"),
    [
        (DAYS.dt.to_period("W"), ".dt.start_time"),
        (DAYS.dt.to_period("M"), ".dt.start_time"),
        (DAYS.dt.to_period("M").astype("category"), ".dt.start_time"),
        (pd.Series(pd.interval_range(0, 4)), ".astype(str)"),
        (pd.cut(pd.Series([1, 2, 3, 4]), 2), ".astype(str)"),
    ],
    ids=["weeks", "months", "categories of months", "intervals", "bins"],
)
def test_periods_and_intervals_are_not_groups_of_numbers(convert, column, fix):
    kind = "period" if "start" in fix else "interval"
    with pytest.raises(sm.ColumnError, match=rf"'g' has the unsupported type pandas\.{kind}\. .*{re.escape(fix)} in"):
        groups(convert(frame_of(g=column)))


def test_periods_in_files_and_as_labels(tmp_path):
    months = DAYS.dt.to_period("M")
    frame_of(g=months).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(sm.ColumnError, match=r"\.dt\.start_time"):
        groups(tmp_path / "rows.parquet")
    with pytest.raises(sm.ColumnError, match=r"\.dt\.start_time"):
        sm.multiclass(y_true="a", y_pred="b").update(pd.DataFrame({"a": months, "b": months}))


@pytest.mark.parametrize("dtype", [object, "boolean", "Int64"])
def test_labels_and_scores_of_nullable_types(dtype):
    data = frame_of(y=pd.Series([True, False, True, False], dtype=dtype), p=pd.array(ROWS["p"], "Float64"))
    assert sm.binary(y_true="y", y_score="p").update(data).finalize()["roc_auc"].value == 1
