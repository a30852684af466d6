"""CSV files: no row is lost to a quote mark, a blank line, or the separator of another file."""

import csv
import io
import random
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.sources import delimited, marks

pytestmark = pytest.mark.usefixtures("folder")

ROWS = 1_000
FIX = "Quote each field that contains quotation marks, and double these marks"


def write(notes, name="a.csv", separator=",", line="\n"):
    """A file with a column of notes that is not used, and its path."""
    lines = [f"{i},{i % 2},0.{i % 10},{notes.get(i, 'fine')}" for i in range(ROWS)]
    text = line.join(["id,y,p,note", *lines, ""]).replace(",", separator)
    Path(name).write_text(text, encoding="utf-8", newline="")
    return name


def rows(source):
    return sm.evaluate(source, sm.binary(y_true="y", y_score="p"))["rows"].value


@pytest.mark.parametrize("note", ['5" pipe', 'say \\"hi\\"', '6"', 'a "b" c'])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_marks_of_files_without_quoted_fields_are_text(note, line):
    source = write({100: note, 110: note, 990: note}, line=line)
    assert rows(source) == ROWS
    with pytest.raises(sm.SourceError, match=r"a.csv: line 102 has .*: pass quote_char=None to polars.scan_csv\."):
        rows(pl.scan_csv(source).filter(pl.col("y") >= 0))
    assert rows(pl.scan_csv(source, quote_char=None)) == ROWS


@pytest.mark.parametrize("note", ['5" pipe', '"say \\"hi\\""', '"open', '"a" b', 'a "b"'])
def test_stray_marks_beside_quoted_fields_are_told_with_their_line(note):
    source = write({50: '"a, ""b"""', 100: note, 200: '"c"'})
    for tried in (source, pl.scan_csv(source), pl.scan_csv("*.csv"), pl.scan_csv(Path.cwd())):
        with pytest.raises(sm.SourceError, match=rf"a.csv: line 102 has a quotation mark that is .*{FIX}"):
            rows(tried)


def test_fields_quoted_by_rfc_4180_are_read():
    source = write({1: '"two\nlines, ""quoted"""', 2: '""', 3: '""""', ROWS - 1: '"\n\n"'}, line="\r\n")
    assert rows(source) == rows(pl.scan_csv(source)) == ROWS


def test_a_plan_with_its_own_end_of_lines_is_read():
    Path("a.csv").write_text('y,p,n|1,0.5,"a"|0,0.2,"b|c"|', encoding="utf-8")
    assert rows(pl.scan_csv("a.csv", eol_char="|")) == 2
    Path("a.csv").write_text('y,p,n|1,0.5,5"|0,0.2,5"|', encoding="utf-8")
    with pytest.raises(sm.SourceError, match=r"a\.csv: line 2 has a quotation mark"):
        rows(pl.scan_csv("a.csv", eol_char="|"))


def test_bytes_are_searched_once_with_a_condition(monkeypatch):
    searched = []
    search = delimited.marks_of
    monkeypatch.setattr(delimited, "marks_of", lambda path, *options: searched.append(path) or search(path, *options))
    columns = ["--y-true", "y", "--y-score", "p", "--where", "y >= 0", "--metric", "rows"]
    found = CliRunner().invoke(main, ["evaluate", write({}), *columns])
    assert found.output.split() == ["rows", "1000", "exact"] or "1,000" in found.output
    assert len(searched) == 1


def test_an_open_file_cannot_be_checked():
    with Path(write({100: '5"', 110: '5"'})).open("rb") as file, pytest.raises(sm.SourceError, match="Pass its path"):
        rows(pl.scan_csv(file))


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_blank_lines_are_no_rows(line):
    Path("a.csv").write_text(line.join(["y,p", "1,0.9", "", "0,0.1", "", "", ""]), encoding="utf-8", newline="")
    assert rows("a.csv") == 2
    Path("a.csv").write_text("y\n1\n\n0\n", encoding="utf-8")  # the null of a single column
    acc = sm.multiclass(y_true="y", y_pred="y", nulls="drop")
    assert sm.evaluate("a.csv", acc)["dropped"].value == 1


def test_files_can_differ_in_separators_and_quotes():
    names = [
        write({3: '"a,b"'}, "a.csv"),
        write({3: '5"'}, "b.csv"),
        write({3: '"a"'}, "c.csv", ";"),
        write({}, "d.csv", "\t"),
    ]
    assert rows(names) == 4 * ROWS


def test_separators_within_quoted_names_are_not_counted():
    Path("a.csv").write_text('"y","p; as a share; of 1; or less"\n1,0.9\n0,0.1\n', encoding="utf-8")
    acc = sm.binary(y_true="y", y_score="p; as a share; of 1; or less")
    assert sm.evaluate("a.csv", acc)["rows"].value == 2


def test_rows_of_written_files_are_found_again(monkeypatch):
    """Any texts, written by RFC 4180, and cut anywhere into blocks."""
    draw = random.Random(0)
    for case in range(300):
        monkeypatch.setattr(marks, "BLOCK", draw.choice([3, 7, 64]))
        texts = ["".join(draw.choices('ab", \n', k=draw.randrange(5))) for _ in range(draw.randrange(1, 6))]
        file = io.StringIO()
        line = draw.choice(["\n", "\r\n"])
        csv.writer(file, lineterminator=line).writerows([("n", "text"), *((1, text) for text in texts)])
        path = Path(f"{case}.csv")
        path.write_text(file.getvalue(), encoding="utf-8", newline="")
        found = delimited.scan_csv({path: delimited.form_of(path)}).collect()["text"]
        assert found.fill_null("").to_list() == texts, file.getvalue()


def test_padded_numbers_of_csv_files_stay_text():
    shops = ["7"] * 200_000 + ["007", "-07"]
    for name, style in (("a.csv", "never"), ("b.csv", "always")):
        frame = pl.DataFrame({"y": [0, 1] * 100_001, "p": [0.1, 0.9] * 100_001, "shop": shops, "n": [7] * 200_002})
        frame.write_csv(name, quote_style=style)
        report = sm.evaluate(name, sm.binary(y_true="y", y_score="p", by=["shop", "n"]), metrics=["rows"])
        assert dict(report.frame.select("shop", "value").rows()) == {"7": 200_000.0, "007": 1.0, "-07": 1.0}
        assert report.frame["n"].to_list() == [7] * 3
    Path("c.csv").write_text("shop,y,p\n0.5,0,0.5\n0,1,0.2\n", encoding="utf-8")  # not padded
    assert sm.evaluate("c.csv", sm.binary(y_true="y", y_score="p", by="shop")).frame["shop"].dtype == pl.Float64


CHANGED = [  # texts of different groups that would be equal numbers, or of numbers that would be written otherwise
    ["1.10", "1.1"],
    ["1.0", "1"],
    ["1e3", "1000"],
    ["1E5", "2.5"],
    ["-07", "-7"],
    ["-0", "0"],
    ["00.5", "0.5"],
    [".5", "0.5"],
    ["5.", "5"],
    ["0.12345678901234567", "0.12345678901234568"],
    ["12345678901234567890", "1"],
]


@pytest.mark.parametrize("texts", CHANGED, ids=str)
@pytest.mark.parametrize("place", [0, 150_000])
def test_groups_of_csv_files_stay_as_they_are_written(texts, place):
    plain = ["7"] * place
    column = [*plain, *texts]
    frame = pl.DataFrame({"y": [1] * len(column), "p": [0.5] * len(column), "shop": column})
    if place and all(pl.Series(texts).str.contains(r"[.eE]")):
        frame = frame.with_columns(shop=pl.Series([*["7.5"] * place, *texts]))
    frame.write_csv("a.csv")
    for by in ("shop", pl.col("shop").alias("store")):
        report = sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p", by=by), metrics=["rows"])
        assert set(texts) <= set(report.frame.to_series(0))


def test_a_sign_after_plain_numbers_is_text():
    column = ["7"] * 150_000 + ["+7"]
    pl.DataFrame({"y": [1] * 150_001, "p": [0.5] * 150_001, "shop": column}).write_csv("a.csv")
    report = sm.evaluate("a.csv", sm.binary(y_true="y", y_score="p", by="shop"), metrics=["rows"])
    assert dict(report.frame.select("shop", "value").rows()) == {"7": 150_000, "+7": 1}


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
    found = CliRunner().invoke(main, [*command, "--text", "shpo"])
    assert found.output.startswith("Error: Column 'shpo' not found. Did you mean 'shop'?")
    pl.read_csv("a.csv").write_parquet("a.parquet")
    found = CliRunner().invoke(main, ["evaluate", "a.parquet", *command[2:], "--text", "shop"])
    assert found.output == "Error: --text applies to CSV files, not to 'a.parquet'.\n"


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_padded_numbers_of_folders_stay_text(kind):
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    for folder in map(Path, ("in/shop=7/day=2026-01-01", "in/shop=007/day=2026-01-02")):
        folder.mkdir(parents=True)
        getattr(frame, f"write_{kind}")(folder / f"a.{kind}")
    found = sm.evaluate("in", sm.binary(y_true="y", y_score="p", by=["shop", "day"])).rows("rows")
    assert sorted(found["shop"].to_list()) == ["007", "7"]
    assert found.schema["day"] == pl.Date


RAGGED = {
    "too many": ("3,1,0.8,x,z", "5 fields, but the header has 4. Fix the line, or quote values that contain ','"),
    "shifted": ("0,3,1,0.8,x", "5 fields, but the header has 4."),
    "too few": ("3,0.8,x", "3 fields, but the header has 4. Fix the line, or write an empty field for each missing"),
    "one": ("3", "1 field, but the header has 4."),
    "spaces": ("   ", "1 field, but the header has 4."),
}


@pytest.mark.parametrize(("line", "expected"), RAGGED.values(), ids=RAGGED)
@pytest.mark.parametrize("note", ["fine", '"a, b"', '"two\nlines"', '5" pipe'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_with_other_numbers_of_fields_are_told(line, expected, note, end, monkeypatch):
    monkeypatch.setattr(marks, "BLOCK", 100)
    lines = ["id,y,p,note", *[f"{i},{i % 2},0.5,{note}" for i in range(50)], line, "", "7,1,0.5,x"]
    number = 52 + 50 * note.count("\n")
    Path("a.csv").write_text(end.join([*lines, ""]), encoding="utf-8", newline="")
    for source in ("a.csv", pl.scan_csv("a.csv", quote_char=None if "pipe" in note else '"')):
        with pytest.raises(sm.SourceError, match=rf"a\.csv: line {number} has {expected}"):
            rows(source)
    Path("b.csv").write_text(end.join([*lines[:51], *lines[52:]]), encoding="utf-8", newline="")
    assert rows("b.csv") == 51


def test_lines_that_a_plan_skips_or_cuts_are_its_own():
    Path("a.csv").write_text("made today\ny,p,n\n1,0.5,1\n0,0.2,7,1\n", encoding="utf-8")
    for skip in ("skip_rows", "skip_lines"):
        assert rows(pl.scan_csv("a.csv", **{skip: 1}, truncate_ragged_lines=True)) == 2
        assert rows(pl.scan_csv("a.csv", **{skip: 1})) == 2
    Path("a.csv").write_text("y,p\n1,0.5\n0,0.2,7\n", encoding="utf-8")
    assert rows(pl.scan_csv("a.csv", truncate_ragged_lines=True)) == 2


def test_fields_are_counted_as_the_standard_library_does(monkeypatch):
    """Any records, with and without quoted fields, cut anywhere into blocks."""
    draw = random.Random(1)
    for case in range(400):
        monkeypatch.setattr(marks, "BLOCK", draw.choice([3, 7, 64]))
        width, quoting = draw.randrange(2, 5), draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
        letters = "ab" if quoting == csv.QUOTE_MINIMAL and case % 2 else 'ab", \n'
        sizes = [width, *draw.choices([width, width, width, width + 1, max(width - 1, 1)], k=draw.randrange(6))]
        records = [["".join(draw.choices(letters, k=draw.randrange(1, 4))) for _ in range(size)] for size in sizes]
        file = io.StringIO()
        csv.writer(file, quoting=quoting, lineterminator=draw.choice(["\n", "\r\n"])).writerows(records)
        path = Path(f"{case}.csv")
        path.write_text(file.getvalue().removesuffix("\n" * draw.randrange(2)), encoding="utf-8", newline="")
        reader, expected = csv.reader(io.StringIO(file.getvalue(), newline="")), None
        line = 1
        for record in reader:
            if len(record) != width and expected is None:
                expected = (line, len(record), width)
            line = reader.line_num + 1
        assert marks.marks_of(path, ord(",")).ragged == expected, file.getvalue()


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
