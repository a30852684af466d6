"""Files that cannot be read: which one, why, and the fix."""

import gzip
import json

import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics.sources.diagnosis import diagnosis
from streammetrics.sources.files import Files

pytestmark = pytest.mark.usefixtures("folder")

PAIR = pl.DataFrame({"y": [1, 0] * 50, "p": [0.9, 0.1] * 50})
SAME = "Write all files with the same columns and types."


def message(*paths):
    """The error of the library, which is that of the command line."""
    with pytest.raises(sm.SourceError) as caught:
        sm.evaluate(list(paths), sm.binary(y_true="y", y_score="p"))
    told = run("evaluate", *paths, "--y-true", "y", "--y-score", "p", code=2)
    assert told.strip() == f"Error: {caught.value}"
    return str(caught.value)


def put(path, frame=PAIR):
    getattr(frame, f"write_{path.partition('.')[2]}")(path)
    return path


@pytest.mark.parametrize(("suffix", "kind"), [("parquet", "Parquet"), ("ipc", "Arrow IPC")])
def test_a_truncated_file(suffix, kind, folder):
    paths = [put(f"a.{suffix}"), put(f"b.{suffix}")]
    content = (folder / paths[1]).read_bytes()
    (folder / paths[1]).write_bytes(content[: len(content) // 2])
    expected = f"Cannot read b.{suffix}: the file is truncated, or not in {kind} format. Write or copy it again."
    assert message(*paths) == message(paths[1]) == expected


@pytest.mark.parametrize("suffix", ["parquet", "ipc", "csv", "ndjson"])
def test_an_empty_file(suffix, folder):
    (folder / f"a.{suffix}").touch()
    assert message(f"a.{suffix}") == f"Cannot read a.{suffix}: the file is empty."


LINES = {
    "too many fields": (b"1,0.3\n0,0.2,7\n1\n", "line 3 has 3 fields, but the header has 2. Fix the line, or quote"),
    "open quote": (b'1,0.3\n"0,0.2\n1,0.3\n', "line 3 has a quotation mark that is neither closed"),
    "encoding": ("1,0.3\nKöln,0.2\n".encode("latin-1"), "line 3 is not UTF-8. Convert the file, such as with iconv"),
}


@pytest.mark.parametrize(("lines", "expected"), LINES.values(), ids=LINES)
def test_a_bad_line_of_a_csv_file(lines, expected, folder):
    (folder / "a.csv").write_bytes(b"y,p\n" + lines)
    (folder / "b.csv").write_bytes(b"y,p\n1,0.3\n0,0.2\n")
    assert message("a.csv").startswith(f"Cannot read a.csv: {expected}")
    assert message("b.csv", "a.csv").startswith(f"Cannot read a.csv: {expected}")


@pytest.mark.parametrize("line", [b'{"y":1,"p":x}\n', b'{"y":1,"p"', b"[1]\n", b'{"y":1 "p":2}\n'])
def test_a_bad_line_of_an_ndjson_file(line, folder):
    content = PAIR.write_ndjson().encode()
    (folder / "a.ndjson").write_bytes(content + line)
    put("b.ndjson")
    expected = "Cannot read a.ndjson: line 101 is not a JSON object. Fix or remove the line, or write the file again."
    assert message("a.ndjson") == message("b.ndjson", "a.ndjson") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"y":1,"p":0.5}\n{"y":1,"p":NaN}\n', "line 2 contains NaN, which is not valid JSON. Write null instead."),
        (b'\xef\xbb\xbf{"y":1,"p":0.5}\n', "the file begins with a byte order mark. Save it as UTF-8 without one."),
    ],
)
def test_ndjson_that_is_not_json(content, expected, folder):
    (folder / "a.ndjson").write_bytes(content)
    assert message("a.ndjson") == f"Cannot read a.ndjson: {expected}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("value", "shown", "dtype"), [('"0.3"', "'0.3'", "Float64"), ("true", "True", "Float64"), ('"no"', "'no'", "Int64")]
)
def test_ndjson_with_several_types_in_a_column(value, shown, dtype, folder):
    line = '{"k":"0.3","y":%s,"p":%s}\n' % ((value, 0.3) if dtype == "Int64" else (1, value))
    (folder / "a.ndjson").write_text('{"k":"no","y":1,"p":0.5}\n' * 100_000 + line)
    column = "column 'y'" if dtype == "Int64" else "column 'p'"
    expected = f"line 100001 has {shown} in {column}, which is {dtype} in the first rows. Write values of one type."
    assert message("a.ndjson") == f"Cannot read a.ndjson: {expected}"


@pytest.mark.parametrize(
    ("first", "late", "shown", "dtype", "fix"),
    [
        (1, 0.5, "0.5", "Int64", "Float64"),
        (None, "x", "'x'", "Null", "String"),
        (None, 0.5, "0.5", "Null", "Float64"),
        (None, True, "True", "Null", "Boolean"),
        (True, 1, "1", "Boolean", None),
        (1, [1], "[1]", "Int64", None),
    ],
)
@pytest.mark.parametrize("column", ["p", "g"])
def test_ndjson_values_of_another_type_after_the_first_rows(first, late, shown, dtype, fix, column, folder):
    lines = [{"y": 1, "p": 0.5, "g": "a", column: value} for value in (first, late)]
    (folder / "a.ndjson").write_text((json.dumps(lines[0]) + "\n") * 100_050 + json.dumps(lines[1]) + "\n")
    task = sm.binary(y_true="y", y_score="p", by="g", nulls="drop")
    with pytest.raises(sm.SourceError) as error:
        sm.evaluate("a.ndjson", task)
    place = f"Cannot read a.ndjson: line 100051 has {shown} in column {column!r}, which is {dtype} in the first rows."
    assert str(error.value).startswith(place)
    if fix and (column == "g" or fix == "Float64"):
        assert f"pass polars.scan_ndjson(path, schema_overrides={{{column!r}: polars.{fix}}})." in str(error.value)
        read = pl.scan_ndjson("a.ndjson", schema_overrides={column: getattr(pl, fix)})
        assert sm.evaluate(read, sm.binary(y_true="y", y_score="p", by=column, nulls="drop")).rows("rows").height > 1


def test_ndjson_values_of_another_type_in_a_compressed_file(folder):
    content = '{"y":1,"p":1}\n' * 100_050 + '{"y":1,"p":0.5}\n'
    (folder / "a.ndjson.gz").write_bytes(gzip.compress(content.encode()))
    assert message("a.ndjson.gz").startswith(
        "Cannot read a.ndjson.gz: line 100051 has 0.5 in column 'p', which is Int64"
    )
    (folder / "a.ndjson.gz").write_bytes(gzip.compress(content.encode())[:-20])
    assert message("a.ndjson.gz") == "Cannot read a.ndjson.gz: the file is truncated. Write or copy it again."


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
def test_ndjson_groups_of_integers_that_floats_do_not_hold(values, groups, role, folder):
    (folder / "a.ndjson").write_text("".join(json.dumps({"y": 1, "p": 0.5, "g": value}) + "\n" for value in values))
    acc = sm.accumulate("a.ndjson", sm.binary(y_true="y", y_score="p", **{role: "g"}))
    assert acc.seen == 3
    if role == "by":
        assert set(acc.finalize(["rows"]).frame["g"]) == groups


def test_ndjson_columns_after_the_first_rows(folder):
    late = '{"y":1,"p":0.5,"g":"x"}\n'
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n' * 100_050 + late)
    task = sm.binary(y_true="y", y_score="p", by="g")
    fix = "These are the columns of the first 100,000 rows. For later ones, in Python, pass polars.scan_ndjson"
    with pytest.raises(sm.ColumnError, match=f"Column 'g' not found.*'y', 'p'. {fix}"):
        sm.evaluate("a.ndjson", task)
    assert fix in run("evaluate", "a.ndjson", "--y-true", "y", "--y-score", "p", "--where", "g = 'x'", code=2)
    assert sm.evaluate(pl.scan_ndjson("a.ndjson", infer_schema_length=None), task).rows("rows").height == 2
    (folder / "b.ndjson").write_text('{"y":1,"p":0.5}\n')
    with pytest.raises(sm.ColumnError, match=r"Available columns: 'y', 'p'\.$"):
        sm.evaluate("b.ndjson", task)


def test_ndjson_with_text_among_numbers(folder):
    evaluate = ["evaluate", "a.ndjson", "--y-true", "y", "--y-score"]
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n{"y":0,"p":"0.2"}\n{"y":0,"p":"n/a"}\n')
    found = run(*evaluate, "p", code=2)
    assert "not a number in 1 of 3 rows (first: 'n/a' at row 2 (line 3) of a.ndjson)" in found
    (folder / "a.ndjson").write_text('{"y":1,"p":0.5}\n{"y":0,"p":"0.2"}\n')
    found = run(*evaluate, "p", code=2)
    fix = "Pass a numeric column, or convert the text with CAST(p AS DOUBLE)."
    assert found == f"Error: Column 'p' must be numeric, got String (first: '0.5'). {fix}\n"
    run(*evaluate, "CAST(p AS DOUBLE)")


def test_numbers_of_ndjson_can_become_floats(folder):
    (folder / "a.ndjson").write_text('{"y":1,"p":1}\n' * 1_000 + '{"y":0,"p":0.5}\n')
    assert sm.evaluate("a.ndjson", sm.binary(y_true="y", y_score="p"))["rows"].value == 1_001


def test_utf_16(folder):
    (folder / "a.csv").write_text(PAIR.write_csv(), encoding="utf-16")
    assert message("a.csv") == "'a.csv' is UTF-16. Convert it to UTF-8, such as with iconv -f utf-16 -t utf-8."


def test_lines_that_end_in_carriage_returns(folder):
    (folder / "a.csv").write_bytes(b"y,p\r1,0.9\r0,0.2\r")
    assert message("a.csv") == r"The lines of 'a.csv' end in \r. Convert the file, such as with tr '\r' '\n'."


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_before_the_header(end, folder):
    for name, rows in (("a.csv", ["1;0.9", "0;0.2"] * 50), ("b.csv", [])):
        (folder / name).write_bytes("".join(line + end for line in ["", "", "y;p", *rows]).encode())
    assert sm.evaluate(["a.csv", "b.csv"], sm.binary(y_true="y", y_score="p"))["rows"].value == 100
    (folder / "a.csv").write_bytes(b"\ny;p\n1;0.9\n1;2;3\n")
    assert "line 4 has 3 fields, but the header has 2." in message("a.csv")


def test_csv_files_of_a_header_alone_do_not_change_the_types_of_others():
    put("a.csv", PAIR.clear()), put("b.csv"), put("c.csv", PAIR.clear())
    assert sm.evaluate(["a.csv", "b.csv", "c.csv"], sm.binary(y_true="y", y_score="p"))["rows"].value == 100
    assert message("a.csv", "c.csv") == "No rows in 'a.csv', 'c.csv'."
    with pytest.raises(sm.SourceError, match=r"^No rows in the source\.$"):
        sm.evaluate(PAIR.clear(), sm.binary(y_true="y", y_score="p"))
    put("c.csv", PAIR.clear().rename({"p": "q"}))
    assert "its columns differ from b.csv ('q' instead of 'p')" in message("b.csv", "c.csv")


@pytest.mark.parametrize("suffix", ["parquet", "ipc", "ndjson"])
def test_files_with_different_types(suffix):
    put(f"a.{suffix}"), put(f"b.{suffix}")
    put(f"c.{suffix}", PAIR.with_columns(pl.col("y").cast(str)))
    how = f"its columns differ from a.{suffix} ('y' is String instead of Int64). {SAME}"
    assert message(f"a.{suffix}", f"b.{suffix}", f"c.{suffix}") == f"Cannot read c.{suffix}: {how}"


@pytest.mark.parametrize(
    ("columns", "how"),
    [
        (["y", "q"], "'q' instead of 'p'"),
        (["y"], "without 'p'"),
        (["y", "p", "q"], "also 'q'"),
        (["p", "y"], "'p', 'y' instead of 'y', 'p'"),
    ],
)
def test_csv_files_with_different_columns(columns, how):
    put("a.csv")
    put("b.csv", PAIR.with_columns(q=0.5).select(columns))
    found = message("a.csv", "b.csv")
    assert found == f"Cannot read b.csv: its columns differ from a.csv ({how}). {SAME}"


def test_files_that_are_gone_are_told_by_the_error_itself(folder):
    files = Files((folder / "a.csv", folder / "b.csv"))
    assert diagnosis(files, ["y"], "no such file") == f"Cannot read {folder / 'a.csv'}: no such file"
    assert diagnosis(Files((folder / "a.csv",)), [], "panic") == f"Cannot read {folder / 'a.csv'}: panic"
