"""NDJSON files: types and columns that appear later, and integers that floats do not hold."""

import json
from pathlib import Path

import polars as pl
import pytest
from commands import run

import streammetrics as sm

pytestmark = pytest.mark.usefixtures("folder")


def write(rows, name="a.ndjson"):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


@pytest.mark.parametrize("block", [200, 1 << 24])
@pytest.mark.parametrize("column", ["p", "g"])
@pytest.mark.parametrize(("first", "later"), [(1, 0.5), (None, 0.5), (0.5, 1), (None, 1), (0.25, None)])
def test_numbers_of_another_type_after_the_first_rows(first, later, column, block, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.ndjson.BLOCK", block)
    rows = [{"y": 1, "p": 0.5, "g": 0.5, column: value} for value in [first] * 2_000 + [later]]
    task = sm.binary(y_true="y", y_score="p", by="g", nulls="drop")
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    assert sm.evaluate(write(rows), task).frame.equals(sm.evaluate(frame, task).frame)


@pytest.mark.thorough
@pytest.mark.parametrize("block", [200, 1 << 24])
def test_a_column_after_the_first_rows(block, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.ndjson.BLOCK", block)
    write([{"y": 1, "p": 0.5}] * 2_000 + [{"y": 1, "p": 0.5, "g": "x"}])
    task = sm.binary(y_true="y", y_score="p", by="g")
    assert dict(sm.evaluate("a.ndjson", task).rows("rows").select("g", "value").iter_rows()) == {None: 2_000, "x": 1}
    run("evaluate", "a.ndjson", "--y-true", "y", "--y-score", "p", "--by", "g")
    with pytest.raises(sm.errors.ColumnError, match=r"Column 'h' not found. Available columns: 'y', 'p', 'g'\.$"):
        sm.evaluate("a.ndjson", sm.binary(y_true="y", y_score="p", by="h"))


@pytest.mark.parametrize(("later", "block"), [('"n/a"', 1 << 24), ('"n/a"', 200), ("true", 1 << 24)])
def test_values_that_are_not_numbers_after_the_first_rows(later, block, folder, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.ndjson.BLOCK", block)
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n' * 2_000 + f'{{"y":1,"p":{later}}}\n')
    with pytest.raises(sm.StreamMetricsError, match="line 2001"):
        sm.evaluate("a.ndjson", sm.binary(y_true="y", y_score="p"))


@pytest.mark.parametrize(
    ("column", "value", "other"), [("p", 0.5, True), ("w", 2, True), ("y", 1, True), ("g", 1, True), ("p", 1, {"a": 1})]
)
def test_booleans_and_objects_are_no_numbers_wherever_they_stand(column, value, other, folder, monkeypatch):
    """Among numbers, or in a block of their own."""
    task = sm.binary(y_true="y", y_score="p", by="g", sample_weight="w")
    for first, second in ((value, other), (other, value)):
        lines = [json.dumps({"y": 1, "p": 0.5, "g": 1, "w": 2, column: given}) + "\n" for given in (first, second)]
        for between in ("", "\n" * 400):
            (folder / "a.ndjson").write_text(between.join(line * 20 for line in lines))
            for block in (1 << 24, 200):
                monkeypatch.setattr("streammetrics.data.sources.ndjson.BLOCK", block)
                with pytest.raises(sm.StreamMetricsError, match=r"line \d+|numeric, got Struct"):
                    sm.evaluate("a.ndjson", task)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([2**53, 2**53 + 1, 0.5], {str(2**53), str(2**53 + 1), "0.5"}),
        ([-(2**60), -(2**60) - 1, 0.25], {str(-(2**60)), str(-(2**60) - 1), "0.25"}),
        ([1, 2, 0.5], {1.0, 2.0, 0.5}),
        ([1e300, 2, 0.5], {1e300, 2.0, 0.5}),
    ],
)
@pytest.mark.parametrize("role", ["by", "unit"])
def test_groups_of_integers_that_floats_do_not_hold(values, groups, role):
    write({"y": 1, "p": 0.5, "g": value} for value in values)
    acc = sm.accumulate("a.ndjson", sm.binary(y_true="y", y_score="p", **{role: "g"}))
    assert acc.seen == 3
    if role == "by":
        assert set(acc.finalize(["rows"]).frame["g"]) == groups


def test_true_values_of_integers_that_floats_do_not_hold():
    write([{"y": 0.5, "p": 0.5}, {"y": 2**53 + 1, "p": 2**53}])
    with pytest.raises(sm.errors.SourceError, match=r"'y' contains the integer 9007199254740993 at line 2 of a.ndjson"):
        sm.evaluate("a.ndjson", sm.regression(y_true="y", y_pred="p"))


def test_text_among_numbers(folder):
    evaluate = ["evaluate", "a.ndjson", "--y-true", "y", "--y-score"]
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n\n{"y":0,"p":"0.2"}\n{"y":0,"p":"n/a"}\n')
    found = run(*evaluate, "p", code=2)
    assert "not a number in 1 of 3 rows (first: 'n/a' at row 2 (line 4) of a.ndjson)" in found
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n{"y":0,"p":"0.2"}\n')
    found = run(*evaluate, "p", code=2)
    assert found == "Error: Column 'p' must be numeric, got String (first: '0.5'). Pass a numeric column.\n"
    run(*evaluate, "CAST(p AS DOUBLE)")


def test_a_byte_order_mark(folder):
    (folder / "a.ndjson").write_bytes(b'\xef\xbb\xbf{"y":1,"p":0.5}\n{"y":0,"p":0.2}')
    assert sm.evaluate("a.ndjson", sm.binary(y_true="y", y_score="p"))["rows"].value == 2
