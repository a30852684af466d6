"""CSV files: no row is lost to a quote mark, a blank line, or the separator of another file."""

import csv
import gzip
import io
import random
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from files import rows
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.cli import main

pytestmark = pytest.mark.usefixtures("folder")

ROWS = 1_000


def noted(notes, separator=","):
    """Lines with a column of notes that is not used."""
    lines = [f"{i},{i % 2},0.{i % 10},{notes.get(i, 'fine')}" for i in range(ROWS)]
    return "\n".join(["id,y,p,note", *lines, ""]).replace(",", separator)


MARKS = ['5" pipe', 'say \\"hi\\"', '6"', 'a "b" c', '"say \\"hi\\""', '"a" b', 'a "b"']
QUOTED = {1: '"two\nlines, ""quoted"""', 2: '""', 3: '""""', ROWS - 1: '"\n\n"'}
FILES = {  # the rows of files of these contents
    "marks inside of values": (7 * ROWS, *(noted(dict.fromkeys((100, 110, 990), m) | {995: '"c"'}) for m in MARKS)),
    "fields quoted by RFC 4180": (ROWS, noted(QUOTED)),
    "other separators and quotes": (
        *(4 * ROWS, noted({3: '"a,b"'}), noted({3: '5"'}), noted({3: '"a"'}, ";"), noted({}, "\t")),
    ),
    "separators within quoted names": (2, '"y","p","q; as a share; of 1; or less"\n1,0.9,1\n0,0.1,0\n'),
    "blank lines": (2, "y,p\n1,0.9\n\n0,0.1\n\n\n"),
    "blank lines before the header": (100, "\n\ny;p\n" + "1;0.9\n0;0.2\n" * 50, "\n\ny;p\n"),
    "another order, and a column less that is not in use": (2, "y,p,q\n1,0.5,x\n", "p,y\n0.5,1\n"),
    "two columns of a name that is not in use": (2, "y,p,note,note\n1,0.3,,\n0,0.2,,\n"),
    "a column in Latin 1 that is not in use": (1, "y,p,city\n1,0.3,Köln\n".encode("latin-1")),
    "carriage returns": (2, b"y,p\r1,0.9\r0,0.2\r"),
    "headers alone beside numbers": (2, "y,p\n", "y,p\n1,0.9\n0,0.1\n", "y,p\n"),
}


def test_every_row_is_read():
    for what, (number, *contents) in FILES.items():
        for line in ("\n", "\r\n"):
            for file, content in enumerate(contents):
                text = content if isinstance(content, bytes) else content.replace("\n", line).encode()
                Path(f"{file}.csv").write_bytes(text)
            assert rows([f"{file}.csv" for file in range(len(contents))]) == number, (what, line)


def test_a_blank_line_of_a_single_column_is_null():
    Path("a.csv").write_text("y\n1\n\n0\n", encoding="utf-8")
    acc = sm.multiclass(y_true="y", y_pred="y", nulls="drop")
    assert sm.evaluate("a.csv", acc)["dropped"].value == 1


@pytest.mark.parametrize("block", [100, 1 << 22])
@pytest.mark.parametrize("end", [{}, {200: '"c"'}, {200: '"a, ""b"""'}])
@pytest.mark.parametrize("note", ['"open', '"open ""', '"open, '])
def test_an_open_mark_is_told_with_its_line(note, end, block, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.delimited.BLOCK", block)
    Path("a.csv").write_text(noted({50: '"a, ""b"""', 100: note} | end), encoding="utf-8")
    with pytest.raises(sm.errors.SourceError, match=r"a\.csv: line 102 "):
        rows("a.csv")


@pytest.mark.thorough
def test_rows_of_written_files_are_found_again(monkeypatch):
    """Any texts, written by RFC 4180, and cut anywhere into blocks."""
    draw = random.Random(0)
    for case in range(40):
        monkeypatch.setattr("streammetrics.data.sources.delimited.BLOCK", draw.choice([60, 70, 100]))
        texts = ["".join(draw.choices('ab", \n', k=draw.randrange(5))) for _ in range(draw.randrange(1, 30))]
        file = io.StringIO()
        line = draw.choice(["\n", "\r\n"])
        csv.writer(file, lineterminator=line).writerows([("n", "text"), *((1, text) for text in texts)])
        path = Path(f"{case}.csv")
        path.write_text(file.getvalue(), encoding="utf-8", newline="")
        counts = sm.evaluate(path, sm.binary(y_true="n", y_pred="n", by="text")).rows("rows")
        assert {text or "": n for text, n in counts.select("text", "value").rows()} == Counter(texts), file.getvalue()


CHANGED = [  # texts of different groups that would be equal numbers, or of numbers that would be written otherwise
    ["1.10", "1.1"],
    ["1.0", "1"],
    ["1e3", "1000"],
    ["1E5", "2.5"],
    ["-07", "-7"],
    ["007", "7"],
    ["+7", "7"],
    ["-0", "0"],
    ["00.5", "0.5"],
    [".5", "0.5"],
    ["5.", "5"],
    ["0.12345678901234567", "0.12345678901234568"],
    ["12345678901234567890", "1"],
    ["TRUE", "true"],
    ["9007199254740993", "0.5"],
]


@pytest.mark.parametrize("texts", CHANGED, ids=str)
@pytest.mark.parametrize(("before", "style"), [(0, "necessary"), (40, "never"), (40, "always")])
def test_groups_of_csv_files_stay_as_they_are_written(texts, before, style, monkeypatch):
    """Also if they come after the first block, whose numbers they would be equal to."""
    for name in ("BLOCK", "FIRST_BLOCK"):
        monkeypatch.setattr(f"streammetrics.data.sources.delimited.{name}", 100)
    usual = "7.5" if all(pl.Series(texts).str.contains(r"[.eE]")) else "7"
    column = [*[usual] * before, *texts]
    frame = pl.DataFrame({"y": [1] * len(column), "p": [0.5] * len(column), "shop": column, "n": [7] * len(column)})
    frame.write_csv("a.csv", quote_style=style)
    for by in ("shop", pl.col("shop").alias("store")):
        found = sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p", by=[by, "n"]), metrics=["rows"]).frame
        assert set(found.to_series(0)) == set(column)
        assert set(found["n"]) == {7}


def test_labels_and_units_of_csv_files_stay_as_they_are_written():
    Path("a.csv").write_text("y,p,u\n1.10,1.1,1\n1.1,1.1,2\n", encoding="utf-8")
    acc = sm.multiclass(y_true="y", y_pred="p", unit="u")
    assert sm.evaluate("a.csv", acc)["accuracy"].value == 0.5


@pytest.mark.parametrize(
    "values",
    [["1.5", "0", "-2.25", "NaN"], ["1.0", "2.0", "0.5"], ["1", "-20", "300"], ["0.1234567890123456", "inf", "-inf"]],
)
def test_numbers_that_come_back_as_they_are_written_are_numbers(values):
    frame = pl.DataFrame({"y": [1] * len(values), "p": [0.5] * len(values), "g": values})
    frame.write_csv("a.csv")
    assert sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p", by="g")).frame["g"].dtype.is_numeric()


def test_columns_that_are_also_read_as_numbers_are_numbers():
    Path("a.csv").write_text("y,p\n1,0.50\n0,0.5\n", encoding="utf-8")
    acc = sm.binary(y_true="y", y_score="p", by="p")
    assert sm.evaluate("a.csv", acc).frame["p"].unique().to_list() == [0.5]
    several = {"a": sm.binary(y_true="y", y_score="p"), "b": sm.binary(y_true="y", y_pred="y", by="p")}
    assert sm.evaluate("a.csv", several)["b"].frame["p"].unique().to_list() == [0.5]
    by_half = sm.binary(y_true="y", y_score="p", by=(pl.col("p") > 0.5).alias("high"))
    assert sm.evaluate("a.csv", by_half).frame["high"].unique().to_list() == [False]


def test_columns_are_read_as_text_on_the_command_line():
    Path("a.csv").write_text("y,p,shop\n1,0.5,1.5\n0,0.2,1\n", encoding="utf-8")
    command = ["evaluate", "a.csv", "--y-true", "y", "--y-score", "p", "--metric", "rows", "--format", "csv"]
    by = ["--by", "CONCAT('shop ', shop) AS shop"]
    assert "shop 1.0," in CliRunner().invoke(main, [*command, *by]).output
    assert "shop 1," in CliRunner().invoke(main, [*command, *by, "--text", "shop"]).output


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_padded_numbers_of_folders_stay_text(kind):
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    for folder in map(Path, ("in/shop=7/day=2026-01-01", "in/shop=007/day=2026-01-02")):
        folder.mkdir(parents=True)
        getattr(frame, f"write_{kind}")(folder / f"a.{kind}")
    found = sm.evaluate("in", sm.binary(y_true="y", y_score="p", by=["shop", "day"])).rows("rows")
    assert sorted(found["shop"].to_list()) == ["007", "7"]
    assert found.schema["day"] == pl.Date


RAGGED = {"3,1,0.8,x,z": 5, "0,3,1,0.8,x": 5, "3,0.8,x": 3, "3": 1, "   ": 1}


@pytest.mark.parametrize(("line", "fields"), RAGGED.items())
@pytest.mark.parametrize("note", ["fine", '"a, b"', '"two\nlines"', '5" pipe'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_with_other_numbers_of_fields_are_told(line, fields, note, end, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.delimited.BLOCK", 100)
    lines = ["id,y,p,note", *[f"{i},{i % 2},0.5,{note}" for i in range(50)], line, "", "7,1,0.5,x"]
    number = 52 + 50 * note.count("\n")
    Path("a.csv").write_text(end.join([*lines, ""]), encoding="utf-8", newline="")
    with pytest.raises(sm.errors.SourceError, match=rf"a\.csv: line {number} has {fields} field"):
        rows("a.csv")
    Path("b.csv").write_text(end.join([*lines[:51], *lines[52:]]), encoding="utf-8", newline="")
    assert rows("b.csv") == 51


@pytest.mark.parametrize("block", [100, 1 << 22])
@pytest.mark.parametrize(
    ("value", "score"), [("0.5", 0.5), (".5", 0.5), ('""', None), ("", None), ("1e-3", 0.001), ("+1", 1), ("NaN", None)]
)
def test_types_can_change_after_the_first_rows(value, score, block, monkeypatch):
    for name in ("BLOCK", "FIRST_BLOCK"):
        monkeypatch.setattr(f"streammetrics.data.sources.delimited.{name}", block)
    for first in ("1", "0.25"):
        Path("a.csv").write_text("y,p\n" + f"1,{first}\n" * ROWS + f"0,{value}\n", encoding="utf-8")
        report = sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p", nulls="drop"))
        assert report["rows"].value == ROWS + (score is not None)


def test_text_after_the_first_rows_is_told_with_its_line(monkeypatch):
    for name in ("BLOCK", "FIRST_BLOCK"):
        monkeypatch.setattr(f"streammetrics.data.sources.delimited.{name}", 100)
    for first in ("1", "0.25"):
        Path("a.csv").write_text("y,p\n" + f"1,{first}\n" * ROWS + "0,n/a\n", encoding="utf-8")
        with pytest.raises(sm.errors.DataError, match=r"first: 'n/a' at row 1000 \(line 1002\) of a.csv\)"):
            rows("a.csv")


@pytest.mark.parametrize("before", [0, ROWS])
@pytest.mark.parametrize("texts", [["9007199254740993", "0.5"], ["0.5", "-9007199254740993"], ["18446744073709551615"]])
def test_integers_that_floats_do_not_hold_are_rejected(texts, before, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.delimited.FIRST_BLOCK", 100)
    lines = ["y,p", *["0.5,0.5"] * before, *(f"{text},1" for text in texts)]
    Path("a.csv").write_text("\n".join(lines), encoding="utf-8")
    line = before + 2 + (texts[0] == "0.5")
    with pytest.raises(
        sm.StreamMetricsError, match=rf"'y' .*64-bit float cannot hold.*line {line}|line {line} .*64-bit"
    ):
        sm.evaluate("a.csv", sm.regression(y_true="y", y_pred="p"))
    Path("a.csv").write_text("y,p\n9007199254740992,0.5\n1e300,1\n", encoding="utf-8")
    assert sm.accumulate("a.csv", sm.binary(y_true=pl.col("p") > 0.5, y_score="y", domain="real")).seen == 2


def test_the_content_of_a_file_decides_over_its_suffix():
    frame = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1]})
    for name in ("a.csv", "a.ndjson", "a.csv.gz"):
        frame.write_parquet(name)
        assert rows(name) == 2
        frame.write_ipc(name)
        assert rows(name) == 2
    Path("a.csv").write_bytes(gzip.compress(frame.write_csv().encode()))
    Path("b.csv.gz").write_text(frame.write_csv(), encoding="utf-8")
    assert rows(["a.csv", "b.csv.gz"]) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("separator", [",", ";"])
def test_a_column_without_any_value_in_some_files_has_the_type_of_the_others(separator):
    texts = ["1,0.9,1\n0,0.2,2\n", "1,0.8,\n0,0.1,\n", ",0.8,1\n,0.1,2\n", "1,,1\n0,,2\n", "1,1,1.5\n", "1,0.5,x\n"]
    files = [f"{i}.csv" for i in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        separated = f"y,p,g\n{text}".replace(",", "," if file == "0.csv" else separator)
        Path(file).write_text(separated, encoding="utf-8")
    *numbers, text = files
    task = sm.binary(y_true="y", y_score="p", by="g", nulls="drop")
    for some in (files[:2], files[1::-1], numbers[::2], numbers[:2:-1], numbers, numbers[::-1]):
        whole = sm.accumulate(some, task)
        parts = sm.merge([sm.accumulate(file, task) for file in some])
        assert_frame_equal(whole.finalize().frame, parts.finalize().frame)
    assert sm.evaluate(numbers, task).frame["g"].dtype == pl.Float64
    assert set(sm.evaluate([*files[:2], text], task).frame["g"]) == {"1", "2", "x", None}
