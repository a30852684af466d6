"""Folders: their columns, links, and names with the characters of globs."""

from datetime import date, datetime

import polars as pl
import pytest
from files import PAIR, put, rows

import streammetrics as sm

pytestmark = pytest.mark.usefixtures("folder")
KINDS = ["parquet", "arrow"]


def rows_by(source, column):
    report = sm.evaluate(source, sm.binary(y_true="y", y_score="p", by=column))
    return dict(report.rows("rows").select(column, "value").iter_rows())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("names", "values"),
    [
        (["1.10", "1.1"], {"1.10", "1.1"}),
        (["1E5", "100000"], {"1E5", "100000"}),
        (["1.0", "1"], {"1.0", "1"}),
        (["1.10"], {"1.10"}),
        (["-0", "0"], {"-0", "0"}),
        (["9007199254740993", "0.5"], {"9007199254740993", "0.5"}),
        (["99999999999999999999", "5"], {"99999999999999999999", "5"}),
        (["TRUE", "true"], {"TRUE", "true"}),
        (["NaN", "1"], {"NaN", "1"}),
        (["2026-1-1", "2026-01-01"], {"2026-1-1", "2026-01-01"}),
        (["10%3A00%3A00"], {"10:00:00"}),
        (["__HIVE_DEFAULT_PARTITION__", "1"], {None, 1}),
        (["0.5", "2"], {0.5, 2.0}),
        (["-3", "2"], {-3, 2}),
        (["true", "false"], {True, False}),
        (["2026-01-01"], {date(2026, 1, 1)}),
        (["2026-01-01 10%3A00%3A00", "2026-01-02T00%3A00%3A00"], {datetime(2026, 1, 1, 10), datetime(2026, 1, 2)}),
    ],
)
def test_values_of_folders_differ_as_their_names(names, values, kind):
    for name in names:
        put(f"in/v={name}/a.{kind}")
    assert rows_by("in", "v") == dict.fromkeys(values, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_a_file_are_not_replaced_by_its_folders(kind, monkeypatch):
    weighted = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.8, 0.3], "w": [1, 3, 1, 3]})
    path = put(f"p=0.5/w=10/day=2026-01-01/a.{kind}", weighted)
    task = sm.binary(y_true="y", y_score="p", sample_weight="w", by="day")
    found = sm.evaluate(path.absolute(), task)
    assert (found["roc_auc"].value, found["prevalence"].value) == (1, 0.25)
    assert found.frame["day"].unique().to_list() == [date(2026, 1, 1)]
    assert sm.evaluate("p=0.5", task).frame.equals(found.frame)
    monkeypatch.chdir(path.parent)
    assert sm.evaluate(path.name, sm.binary(y_true="y", y_score="p"))["roc_auc"].value == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_folders_name_twice_is_read_past(kind):
    put(f"in/k=1/k=2/day=3/a.{kind}")
    assert rows("in") == 2
    assert rows_by("in", "day") == {3: 2}


@pytest.mark.parametrize("kind", KINDS)
def test_each_file_has_its_own_column_or_that_of_its_folder(kind):
    put(f"in/day=1/a.{kind}")
    put(f"in/day=2/a.{kind}", PAIR.with_columns(day=7))
    assert rows_by("in", "day") == {1: 2, 7: 2}
    put(f"in/z.{kind}")
    assert rows("in") == 6


@pytest.mark.parametrize("source", ["in", "in/**/*.parquet"])
def test_linked_folders_are_read_once(source, folder):
    put("in/day=1/a.parquet")
    put("in/day=2/a.parquet")
    put("elsewhere/b.parquet")
    put("in/.releases/c.parquet")
    for link, target in {"all": "elsewhere", "again": "elsewhere", "a_latest": "in/day=2", "around": "in"}.items():
        (folder / "in" / link).symlink_to(folder / target, target_is_directory=True)
    (folder / "elsewhere/back").symlink_to(folder / "in", target_is_directory=True)
    (folder / "in/b.parquet").symlink_to(folder / "in/day=1/a.parquet")
    assert rows(source) == 6
    (folder / "in/current").symlink_to(folder / "in/.releases", target_is_directory=True)
    assert rows(source) == 8
    (folder / "link").symlink_to(folder / "in", target_is_directory=True)
    assert rows("link") == 8


@pytest.mark.parametrize("name", ["[a].ndjson", "run*.ndjson", "a?.ndjson", "run [2026]/a.ndjson", "{a,b}.ndjson"])
def test_names_of_ndjson_files_are_no_patterns(name):
    for other in ("a.ndjson", "runX.ndjson", "ab.ndjson", "b.ndjson"):
        put(other)
    path = put(name, pl.DataFrame({"y": [1, 1, 1], "p": [0.9, 0.9, 0.9]}))
    assert rows(path) == rows([path]) == 3
    assert rows([path, "b.ndjson"]) == 5
