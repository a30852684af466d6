"""Errors of the command line about columns and rows of a file, each with a fix that works."""

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

ROWS = 5_000
EVALUATE = ("--y-true", "churned", "--y-score", "model_score")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(scores=None, name="churn.csv", rows=ROWS):
    """Write a file with some values in the column of the scores, by row."""
    random = np.random.default_rng(0)
    score = random.random(rows).round(6)
    cells = pl.Series("model_score", score.astype(str).tolist())
    for row, value in (scores or {}).items():
        cells[row] = value
    columns = {
        "month": [f"2025-{month:02}" for month in random.integers(1, 13, rows)],
        "customer_region": random.choice(["north", "south"], rows),
        "signup_channel": random.choice(["shop", "web"], rows),
        "churned": (random.random(rows) < score).astype(int),
    }
    pl.DataFrame(columns).with_columns(cells).write_csv(name)


def evaluate(*arguments, file="churn.csv", code=0):
    """The last line that the command prints."""
    return run("evaluate", file, *arguments, code=code).strip().splitlines()[-1]


def test_dates_of_unknown_format():
    write()
    by_month = (*EVALUATE, "--metric", "rows", "--by")
    reason = "please define a format. Column 'month' is text (first: '2025-"
    assert reason in evaluate(*by_month, "DATE(month)", code=2)
    assert evaluate(*by_month, "DATE(month, '%Y-%m')").startswith("2025-12-01")


def test_conditions_on_dates():
    where = ("--y-true", "y", "--y-score", "p", "--metric", "rows", "--where", "DATE(day) >= DATE('2026-04-01')")
    for days in (("31/03/2026", "01/04/2026", "02/04/2026"), ("2026-03-31", "2026-04-01", "2026-04-02")):
        pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.8, 0.9], "day": days}).write_csv("days.csv")
        assert evaluate(*where, file="days.csv").split() == ["rows", "2", "exact"]


NORTH = "customer_region = 'north' OR model_score > 1"
BAD_ROWS = [  # other scores, options, and which rows are bad
    ({}, (), "in 1 of 5,000 rows"),
    ({4_738: "-inf"}, ("--by", "customer_region"), "in 2 of 5,000 rows"),
    ({4_738: None, 12: None}, ("--nulls", "drop"), "in 1 of 5,000 rows"),
    ({4_738: None}, ("--workers", "1"), "in 1 of 5,000 rows"),
    ({}, ("--by", "DATE(month, '%Y-%m')"), "in 1 of 5,000 rows"),
    ({}, ("--where", NORTH), "in 1 of {:,} filtered rows"),
]


def test_a_bad_row_has_one_place_whatever_the_others_are(monkeypatch):
    place = "(first: 1.2 at row 500 (line 502) of churn.csv)"
    for others, options, count in BAD_ROWS:
        write({500: "1.2"} | others)
        rows = pl.read_csv("churn.csv", infer_schema_length=None).with_columns(pl.col("model_score").cast(float))
        found = evaluate(*EVALUATE, *options, code=2)
        assert f"{count.format(rows.sql(f'SELECT * FROM self WHERE {NORTH}').height)} {place}" in found, options
    write({500: "1.2"})
    month = pl.when(pl.int_range(ROWS) == 7).then(pl.lit("two\nlines")).otherwise("month").alias("month")
    pl.read_csv("churn.csv").with_columns(month).write_csv("churn.csv")
    assert place.replace("502", "503") in evaluate(*EVALUATE, code=2)
    monkeypatch.setattr("streammetrics.pipeline.BATCH", 1_000)
    write({500: "1.2", 3_000: "1.3"})
    assert f"in 1 of the first 1,000 rows {place}" in evaluate(*EVALUATE, code=2)


def test_few_scores_outside_of_0_and_1_are_faulty_rows():
    for name in ("model_score", "model score"):
        write({500: "1.2"})
        pl.read_csv("churn.csv").rename({"model_score": name}).write_csv("churn.csv")
        columns = ("--y-true", "churned", "--y-score", name)
        assert "Fix these rows, or drop them with a filter. Pass --domain real only" in evaluate(*columns, code=2)
        evaluate(*columns, "--where", f'"{name}" <= 1')
    write(dict.fromkeys(range(50), "1.2"))
    assert "(percentages divided by 100), or --domain real for margins" in evaluate(*EVALUATE, code=2)


def test_few_other_labels_are_faulty_rows():
    rows = pl.DataFrame({"y": [0, 1] * 500, "p": [0.2, 0.7] * 500})
    rows.with_columns(y=pl.when(pl.int_range(1_000) == 500).then(2).otherwise("y")).write_csv("two.csv")
    columns = ("--y-true", "y", "--y-score", "p")
    message = evaluate(*columns, file="two.csv", code=2)
    assert "labels other than 0 and 1 in 1 of 1,000 rows (first: 2 at row 500 (line 502) of two.csv). Fix" in message
    assert message.endswith("or drop them with a filter.")
    where = ("--where", "y IN (0, 1)")
    assert evaluate(*columns, "--metric", "rows", *where, file="two.csv").split() == ["rows", "999", "exact"]


NULLS = "read the CSV files with --null-value {} if it stands for null, and pass --nulls drop."
NORMALIZED = "Write the labels with the same spaces and capital letters."
THIRD = {  # a third label beside yes and no: its fix, the options that apply it, and the number of rows then
    "maybe": (
        "Drop these rows with a filter, or pass only --positive to count them as negative.",
        ("--y-true", "y", "--where", "y IN ('yes', 'no') OR y IS NULL"),
        "2",
    ),
    "Yes": (NORMALIZED, ("--y-true", "LOWER(TRIM(y))"), "3"),
    " yes": (NORMALIZED, ("--y-true", "LOWER(TRIM(y))"), "3"),
    "n/a": (NULLS.format("n/a"), ("--y-true", "y", "--null-value", "n/a", "--nulls", "drop"), "2"),
    "-": (NULLS.format("-"), ("--y-true", "y", "--null-value", "-", "--nulls", "drop"), "2"),
    "": (NULLS.format("''"), ("--y-true", "y", "--null-value", "", "--nulls", "drop"), "2"),
}


def test_a_third_label():
    columns = ("--y-score", "p", "--positive", "yes", "--negative", "no", "--metric", "rows")
    for label, (fix, options, rows) in THIRD.items():
        Path("three.csv").write_text(f'y,p\nyes,0.9\nno,0.1\n"{label}",0.5\n', encoding="utf-8")
        assert fix in evaluate("--y-true", "y", *columns, file="three.csv", code=2), label
        assert evaluate(*options, *columns, file="three.csv").split() == ["rows", rows, "exact"], label
    labels = pl.Series("y", ["yes", "no", "Yes"], pl.Categorical)
    pl.DataFrame({"y": labels, "p": 0.5}).write_parquet("three.parquet")
    assert evaluate("--y-true", "y", *columns, file="three.parquet", code=2).endswith(NORMALIZED)
    task = sm.binary(y_true="y", y_score="p", positive="a", negative="b", nulls="drop")
    with pytest.raises(sm.errors.DataError, match=r"null_values='NA'"):
        task.update({"y": ["a", "NA"], "p": [0.1, 0.2]})


@pytest.mark.thorough
def test_scores_that_only_one_model_has():
    scores = {"score_a": [0.9, 0.3, 0.6, 0.7] * 20, "score_b": [None] + [0.2, 0.8, 0.4] * 26 + [0.5]}
    pl.DataFrame({"y": [1, 0] * 40} | scores).write_csv("rows.csv")
    columns = ("--y-true", "y", "--y-score", "a=score_a", "--y-score", "b=score_b", "--nulls", "drop")
    compare = shlex.split("compare a.state --models a b --metric accuracy --confidence 0.95")

    def compared(*condition):
        evaluate(*columns, *condition, "--save", "a.state", file="rows.csv")
        return " ".join(run(*compare).split())

    _, fix = compared().split(" with a condition such as ")
    assert " interval " in compared(*shlex.split(fix.partition(".")[0]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("row", "task"), [(120_000, EVALUATE), (4_000, ("--y-true", "model_score", "--y-score", "churned"))]
)
def test_text_among_numbers_can_stand_for_null(row, task):
    write({row: "n/a"}, rows=130_000)
    message = evaluate(*task, code=2)
    assert "'model_score' contains text that is not a number" in message
    assert f"(first: 'n/a' at row {row} (line {row + 2}) of churn.csv). Fix the values" in message
    assert message.endswith("or read the CSV files with --null-value n/a if it stands for null.")
    if task == EVALUATE:
        assert message != evaluate(*task, "--null-value", "n/a", code=2)  # a null
        evaluate(*task, "--null-value", "n/a", "--nulls", "drop")


def test_infinite_margins():
    Path("text.csv").write_text("y,p\n1,0.5\n1,Inf\n0,-1.5\n")
    found = evaluate("--y-true", "y", "--y-score", "p", "--domain", "real", "--metric", "roc_auc", file="text.csv")
    assert found.split() == ["roc_auc", "1", "exact"]


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64])
def test_digits_as_labels_have_the_type_of_their_column(dtype):
    frame = pl.DataFrame({"digit": [0, 1, 1], "a": [0.9, 0.2, 0.3], "b": [0.1, 0.8, 0.7]})
    frame.with_columns(pl.col("digit").cast(dtype)).write_parquet("digits.parquet")
    options = ["--task", "multiclass", "--y-true", "digit", "--y-score", "0=a", "--y-score", "1=b"]
    evaluate(*options, "--metric", "accuracy", file="digits.parquet")
    other = {0: "a", 1: "b"} if dtype == pl.String else {"0": "a", "1": "b"}
    with pytest.raises(sm.errors.DataError, match=r"Declare labels in the type of the column: '?0'?, not '?0'?\."):
        sm.evaluate("digits.parquet", sm.multiclass(y_true="digit", y_score=other))
