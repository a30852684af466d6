"""Files that cannot be read: which one, and the line of a text file."""

import gzip

import polars as pl
import pytest
from commands import run

import streammetrics as sm

pytestmark = pytest.mark.usefixtures("folder")

PAIR = pl.DataFrame({"y": [1, 0] * 50, "p": [0.9, 0.1] * 50})


def message(*paths):
    """The error of the library, which is that of the command line."""
    with pytest.raises(sm.SourceError) as caught:
        sm.evaluate(list(paths), sm.binary(y_true="y", y_score="p"))
    printed = run("evaluate", *paths, "--y-true", "y", "--y-score", "p", code=2)
    assert printed.strip() == f"Error: {caught.value}"
    return str(caught.value)


def put(path, frame=PAIR):
    getattr(frame, f"write_{path.partition('.')[2]}")(path)
    return path


@pytest.mark.parametrize("suffix", ["parquet", "ipc"])
def test_a_truncated_file(suffix, folder):
    paths = [put(f"a.{suffix}"), put(f"b.{suffix}")]
    content = (folder / paths[1]).read_bytes()
    (folder / paths[1]).write_bytes(content[: len(content) // 2])
    assert message(*paths) == message(paths[1])
    assert message(paths[1]).startswith(f"Cannot read b.{suffix}: ")


@pytest.mark.parametrize("suffix", ["parquet", "ipc", "csv", "ndjson"])
def test_an_empty_file(suffix, folder):
    (folder / f"a.{suffix}").touch()
    assert message(f"a.{suffix}").startswith(f"Cannot read a.{suffix}: ")


LINES = {
    "too many fields": (b"1,0.3\n0,0.2,7\n1\n", "line 3 has 3 fields, but the header has 2. Fix the line, or quote"),
    "open quote": (b'1,0.3\n"0,0.2\n1,0.3\n', "line 3 has a quotation mark that is neither closed"),
    "encoding": ("1,0.3\n1,Köln\n".encode("latin-1"), "line 3 is not UTF-8. Convert the file, such as with iconv"),
}


@pytest.mark.parametrize(("lines", "expected"), LINES.values(), ids=LINES)
def test_a_bad_line_of_a_csv_file(lines, expected, folder):
    (folder / "a.csv").write_bytes(b"y,p\n" + lines)
    (folder / "b.csv").write_bytes(b"y,p\n1,0.3\n0,0.2\n")
    assert message("a.csv").startswith(f"Cannot read a.csv: {expected}")
    assert message("b.csv", "a.csv").startswith(f"Cannot read a.csv: {expected}")


def test_columns_that_are_not_in_use_can_have_any_encoding(folder):
    (folder / "a.csv").write_bytes("y,p,city\n1,0.3,Köln\n".encode("latin-1"))
    assert sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p"))["rows"].value == 1


LATER_LINES = [
    b'{"y":1,"p":x}\n',
    b'{"y":1,"p"',
    b"[1]\n",
    b'{"y":1 "p":2}\n',
    b'{"y":1,"p":NaN}\n',
]


@pytest.mark.parametrize("line", LATER_LINES)
def test_a_bad_line_of_an_ndjson_file(line, folder):
    content = b"\n" + PAIR.write_ndjson().encode()
    (folder / "a.ndjson").write_bytes(content + line)
    put("b.ndjson")
    for path, compressed in (("a.ndjson", content + line), ("a.ndjson.gz", gzip.compress(content + line))):
        (folder / path).write_bytes(compressed)
        place = f"Cannot read {path}: line 102 is not a JSON object, or has a value of another type than the lines"
        assert message(path).startswith(place)
        assert message("b.ndjson", path).startswith(place)


def test_text_that_is_not_in_utf_8(folder):
    (folder / "a.csv").write_text(PAIR.write_csv(), encoding="utf-16")
    assert message("a.csv") == "Cannot read a.csv: it is not text in UTF-8. Convert it, or fix its suffix."


def test_lines_that_end_in_carriage_returns(folder):
    (folder / "a.csv").write_bytes(b"y,p\r1,0.9\r0,0.2\r")
    assert sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p"))["rows"].value == 2


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


@pytest.mark.parametrize("suffix", ["parquet", "ipc", "ndjson", "csv"])
def test_files_without_a_column(suffix):
    put(f"a.{suffix}"), put(f"b.{suffix}", PAIR.with_columns(q=0.5))
    put(f"c.{suffix}", PAIR.rename({"p": "q"}))
    expected = f"Cannot read c.{suffix}: column 'p' not found, unlike in a.{suffix}."
    assert message(f"a.{suffix}", f"b.{suffix}", f"c.{suffix}") == expected


@pytest.mark.parametrize("suffix", ["parquet", "ipc", "ndjson", "csv"])
def test_files_with_different_types(suffix):
    put(f"a.{suffix}"), put(f"b.{suffix}", PAIR.with_columns(y=pl.lit("no")))
    with pytest.raises(sm.StreamMetricsError, match=r"Column 'y' .* String|Column 'y' contains text"):
        sm.evaluate([f"a.{suffix}", f"b.{suffix}"], sm.binary(y_true="y", y_score="p"))
