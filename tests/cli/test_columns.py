"""Labels, columns, and conditions on the command line: names, SQL, and errors that say what to type."""

import json
from datetime import date, datetime, timedelta

import polars as pl
import pytest
from click.testing import CliRunner
from commands import run

from streammetrics.cli import main


def test_groups_of_rare_types_have_every_form(tmp_path):
    values = [timedelta(hours=1), timedelta(hours=2)]
    pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "g": values}).write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--by", "g"]
    for form in ("table", "json", "csv"):
        assert str(values[0]) in run(*evaluate, "--format", form)


def test_text_stored_as_bytes(tmp_path):
    labels = {"y": [b"yes", b"no", b"yes"], "p": [0.9, 0.2, 0.8], "g": ["Köln".encode(), b"DE", b"DE"]}
    pl.DataFrame(labels).write_parquet(tmp_path / "a.parquet")
    evaluate = ("evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--format", "csv")
    options = ("--positive", "yes", "--negative", "no", "--by", "g", "--where", "g <> 'DE'", "--metric", "rows")
    assert "Köln,,rows,1.0," in run(*evaluate, *options)


def test_a_label_that_never_occurs_is_told(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("outcome,p\nchurned,0.9\nstayed,0.2\n")
    evaluate = ["evaluate", path, "--y-true", "outcome", "--y-score", "p", "--positive"]
    only, of_one = ["--metric", "rows"], ["churned", "--where", "p > 0.5"]
    assert "only in spaces or capital letters" in run(*evaluate, "Churned", *only, code=2)
    assert "Warning: no row has the positive label churned." in run(*evaluate, "churned", "--where", "p < 0.5", *only)
    assert "Warning" not in run(*evaluate, "churned", *only)
    assert "Warning: every row has the positive label churned." in run(*evaluate, *of_one, *only)
    assert "Warning: every row has the positive label churned." in run(*evaluate, *of_one, "--format", "csv")
    assert run(*evaluate, *of_one).lower().count("row has the positive label") == 1  # a finding


def test_labels_that_count_as_negative_are_named(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("y,code,p\npaid,1,0.9\nn/a,0,0.2\ndefault,1,0.7\n,0,0.1\n")
    evaluate = ["evaluate", path, "--y-score", "p", "--nulls", "drop", "--metric", "rows"]
    found = run(*evaluate, "--y-true", "y", "--positive", "default")
    assert "Note: Labels other than 'default' count as negative: 'n/a', 'paid'. To reject a third label" in found
    assert "Note" not in run(*evaluate, "--y-true", "y", "--positive", "default", "--where", "y <> 'n/a'")
    assert "Note" not in run(*evaluate, "--y-true", "code", "--positive", 1)


def test_groups_of_weeks(folder):
    clicks = ["evaluate", folder / "days", "--y-true", "clicked", "--y-score", "p_click", "--metric", "rows"]
    for by in ("DATE(STRFTIME(day, '%G-%V-1'), '%G-%V-%u') AS week", "DATE_TRUNC('week', day) AS week"):
        weeks = pl.read_csv(run(*clicks, "--by", by, "--format", "csv").encode())
        assert {date.fromisoformat(week).weekday() for week in weeks["week"]} == {0}


TRUNCATED = {
    "DATE_TRUNC('month', time) AS month": ["2026-01-01", "2026-05-01"],
    "date_trunc ( 'quarter' , time )  as \"Q of\"": ["2026-01-01", "2026-04-01"],
    "DATE_TRUNC('YEAR', day)": ["2026-01-01"],
    "DATE_TRUNC('month', DATE(LEFT(text, 10))) AS month": ["2026-01-01", "2026-05-01"],
    "DATE_TRUNC('month', berlin) AS month": ["2026-02-01", "2026-05-01"],
    "DATE_TRUNC('hour', time) AS hour": ["2026-01-31T23:00:00.000000", "2026-05-17T13:00:00.000000"],
}


def test_groups_of_truncated_times(tmp_path):
    times = pl.Series("time", [datetime(2026, 1, 31, 23, 30), datetime(2026, 5, 17, 13, 45)])
    frame = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "time": times, "day": times.dt.date()})
    berlin = pl.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    frame.with_columns(berlin=berlin, text=pl.col("time").cast(pl.String)).write_parquet(tmp_path / "a.parquet")
    evaluate = ("evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--metric", "rows")
    for by, expected in TRUNCATED.items():
        found = pl.read_csv(run(*evaluate, "--by", by, "--format", "csv").encode())
        assert found.to_series().to_list() == expected, by
        assert found.columns[0] in (by, by.split("as ")[-1].strip('"'), by.split(" AS ")[-1])


CONDITIONS = {
    "DATE(berlin) = DATE('2026-01-02')": 12,
    "date( \"naive\" ) >= DATE '2026-01-02'": 12,
    "DATE(day) = DATE('2026-01-02')": 12,
    "TIMESTAMP(naive) >= TIMESTAMP '2026-01-02 00:00:00'": 12,
    "naive >= TIMESTAMP '2026-01-02 00:00:00' AND text <> 'DATE(naive)'": 12,
    "STRFTIME(berlin, '%Y-%m-%d %H:%M') >= '2026-01-02 00:00'": 12,
    "EXTRACT(HOUR FROM berlin) = 0": 1,
    "berlin IS NOT NULL AND later > berlin": 24,
    "DATE(text) = DATE('2026-01-02')": 12,
}


def test_conditions_on_times_and_dates_are_of_their_own_zone(times):
    evaluate = ["--y-true", "y", "--y-score", "p"]
    for condition, rows in CONDITIONS.items():
        assert values(times, *evaluate, "--where", condition, metric="rows") == [rows], condition
    for column in ("berlin", "naive", "day", "text"):
        by = ["--by", f"DATE({column}) AS date", "--metric", "rows", "--format", "csv"]
        found = pl.read_csv(run("evaluate", times, *evaluate, *by).encode())
        assert found.select("date", "value").rows() == [("2026-01-01", 12), ("2026-01-02", 12)]


@pytest.fixture
def times(tmp_path):
    hours = [datetime(2026, 1, 1, 12) + timedelta(hours=hour) for hour in range(24)]
    naive = pl.Series("naive", hours, pl.Datetime("ms"))
    berlin = naive.dt.replace_time_zone("Europe/Berlin")
    frame = pl.DataFrame({"y": [0, 1] * 12, "p": [0.1, 0.9] * 12, "naive": naive, "berlin": berlin})
    day = naive.dt.date()
    frame = frame.with_columns(day=day, text=day.cast(pl.String), later=berlin + timedelta(hours=1))
    frame.write_parquet(tmp_path / "times.parquet")
    return tmp_path / "times.parquet"


@pytest.fixture
def typed(tmp_path):
    """A file of labels of several types."""
    data = pl.DataFrame(
        {
            "text": ["High", "1", "1", "Low"],
            "number": [1, 2, 1, 2],
            "flag": [True, False, True, False],
            "q": [0.1, 0.6, 0.2, 0.9],
            "g": ["DE", "de", "FR", None],
            "p click": [0.9, 0.4, 0.8, 0.1],
        }
    )
    data.write_parquet(tmp_path / "a.parquet")
    data.write_csv(tmp_path / "a.csv", null_value="none")
    return tmp_path / "a.parquet"


def values(*arguments, metric="positives"):
    given = ["evaluate", *arguments, "--metric", metric, "--format", "json"]
    return [row["value"] for row in json.loads(CliRunner().invoke(main, [str(a) for a in given]).stdout)]


def test_a_positive_label_has_the_type_of_its_column(typed):
    for label, positives in (("text High", 1), ("text 1", 2), ("number 2", 2), ("number 1.0", 2), ("flag False", 2)):
        column, value = label.split()
        assert values(typed, "--y-true", column, "--y-score", "q", "--positive", value) == [positives], label


@pytest.mark.thorough
def test_columns_are_names_or_expressions(typed):
    flag = [typed, "--y-true", "flag"]
    assert values(*flag, "--y-score", "1 - q", metric="roc_auc") == [1.0]
    for name in ("p click", '"p click"'):
        assert values(*flag, "--y-score", name, metric="roc_auc") == [1.0]
    assert values(*flag, "--y-score", "a=1 - q", "--y-score", "b=q", metric="roc_auc") == [1.0, 0.0]
    assert values(typed, "--y-true", "number = 1", "--y-score", "1 - q", metric="roc_auc") == [1.0]
    assert values(*flag, "--y-score", "q", "--sample-weight", "number * 2") == [4.0]
    assert values(*flag, "--y-score", "q", "--count", "number * 2", metric="rows") == [12.0]
    by = ["--y-score", "q", "--by", "upper(g) AS land", "--by", "number > 1", "--metric", "rows", "--format", "csv"]
    found = pl.read_csv(run("evaluate", *flag, *by).encode())
    assert found.select("land", "number > 1").n_unique() == 4
    assert "double quotes around names" in run("evaluate", *flag, "--y-score", "lower(p click)", code=2)
    assert "double quotes around names" not in run("evaluate", *flag, "--y-score", '"p click" -', code=2)
    assert values(*flag, "--y-score", '1 - "p click"', "--where", '"p click" < 0.85', metric="rows") == [3.0]


@pytest.mark.parametrize(
    "expression",
    [
        "q IN (SELECT q FROM read_csv('{}'))",
        "q > (select max(q) from read_csv('{}'))",
        "q IN (FROM read_csv('{}'))",
        "EXISTS (SELECT q FROM read_csv('{}'))",
        "q = ANY(SELECT(q)FROM read_csv('{}'))",
        "q IN (WITH a AS (SELECT q FROM read_csv('{}')) SELECT q FROM a)",
        "q IN (VALUES (0.5) UNION SELECT q FROM read_csv('{}'))",
        "g = ''' ' OR q IN (SELECT q FROM read_csv('{}'))",
        "\"q\" = `q` AND q IN ((\n\tSELECT q FROM read_csv('{}')))",
        "DATE_TRUNC('day', (SELECT q FROM read_csv('{}')))",
    ],
)
def test_subqueries_are_rejected_before_they_are_read(typed, tmp_path, expression):
    (tmp_path / "other.csv").write_text("secret\n0.9\n")
    for option in ("--where", "--by", "--y-true", "--y-score", "--sample-weight", "--unit"):
        columns = [text for name in ("--y-true", "--y-score") if name != option for text in (name, "q")]
        found = run("evaluate", typed, *columns, option, expression.format(tmp_path / "other.csv"), code=2)
        assert "Subqueries are not supported in" in found
        assert "secret" not in found


TEXTS = ", ".join(f"'{number}'" for number in range(1_000))
ALL_ROWS = (
    "g = '(select' OR q < 2",  # words of SQL in text are only text
    "g <> 'it''s (SELECT 1) -- $$' OR g IS NULL",
    "EXTRACT(YEAR FROM DATE('2026-01-31')) = 2026",
    f"number IN ({', '.join(map(str, range(20_000)))}) OR g IN ({TEXTS})",  # lists may be long
    "q" + "+q" * 248 + " > 0",  # and others have a greatest length
)


def test_conditions_that_all_rows_meet(typed):
    flag = [typed, "--y-true", "flag", "--y-score", "q", "--where"]
    for condition in ALL_ROWS:
        assert values(*flag, condition, metric="rows") == [4.0]
    assert values(*flag, "g = 'DE' OR q > 0.5", metric="rows") == [3.0]


@pytest.mark.parametrize(
    "expression", [" OR ".join(["q < 2"] * 20_000), "q" + "+q" * 20_000 + " > 1", "(" * 20_000, "q" + " % 1" * 501]
)
@pytest.mark.parametrize("option", ["--where", "--by"])
def test_long_expressions_are_rejected_before_they_are_parsed(typed, option, expression):
    flag = ["evaluate", typed, "--y-true", "flag", "--y-score", "q", option]
    found = run(*flag, expression, code=2)
    assert "An SQL expression can have up to 500 names, values, and operators besides lists, got " in found
    assert len(found) < 500


def test_the_label_is_one_column_or_condition(typed):
    for condition in ("number=1", "number = 1", "coalesce(g, 'none')='DE'"):
        assert values(typed, "--y-true", condition, "--y-score", "1 - q", metric="rows") == [4.0]


def test_texts_that_stand_for_null(typed):
    csv = [typed.with_suffix(".csv"), "--y-true", "flag", "--y-score", "q", "--by", "g"]
    found = run("evaluate", *csv, "--null-value", "none", "--null-value", "de", "--metric", "rows", "--format", "csv")
    assert sorted(map(str, pl.read_csv(found.encode())["g"])) == ["DE", "FR", "None"]


def test_one_threshold_and_positive_labels_of_models(typed):
    score = [typed, "--y-true", "flag", "--y-score", "q"]
    assert values(*score, "--threshold", 0.6, metric="recall") == [0.0]
    predicted = ["--task", "predictions", "--y-pred", "a=number", "--y-pred", "b=3 - number", "--positive", "1"]
    assert values(typed, *predicted, metric="predicted_positive_rate") == [0.5, 0.5]
