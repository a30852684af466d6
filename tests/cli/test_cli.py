"""The commands, as a user types them."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from datetime import date, datetime, timedelta

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import evaluate, main
from streammetrics.cli.root import told, with_options
from streammetrics.cli.store import store_commands
from streammetrics.demo import write_predictions

COLUMNS = ["--y-true", "clicked", "--y-score", "p_click"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_predictions(folder / "days", rows=20_000)
    run("evaluate", folder / "days", *COLUMNS, "--by", "country", "--save", folder / "state")
    for name, day in (("monday", "2026-01-05"), ("tuesday", "2026-01-06")):
        by = ["--by", "day", "--by", "country", "--save", folder / f"{name}.state"]
        run("evaluate", folder / f"days/{day}.parquet", *COLUMNS, *by)
    return folder


def run(*arguments, code=0):
    if arguments[0] == "store":
        pytest.importorskip("deltalake")
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def test_evaluate_equals_the_library(folder):
    found = run("evaluate", folder / "days", *COLUMNS, "--by", "country", "--format", "csv")
    acc = sm.binary(y_true="clicked", y_score="p_click", by="country")
    expected = sm.evaluate(folder / "days", acc).frame
    assert pl.read_csv(found.encode())["value"].round(9).equals(expected["value"].round(9))


def test_every_format(folder, tmp_path):
    wanted = ["evaluate", f"{folder}/days/*.parquet", *COLUMNS, "--metric", "roc_auc", "--metric", "fbeta(beta=2)"]
    assert "fbeta(beta=2)" in run(*wanted)
    assert [row["metric"] for row in json.loads(run(*wanted, "--format", "json"))] == ["roc_auc", "fbeta(beta=2)"]
    run(*wanted, "--format", "parquet", "-o", tmp_path / "report.parquet")
    assert pl.read_parquet(tmp_path / "report.parquet").height == 2
    run(*wanted, "-o", tmp_path / "report.txt")
    assert "roc_auc" in (tmp_path / "report.txt").read_text()


def test_labels_thresholds_nulls_and_weights(tmp_path):
    data = pl.DataFrame({"bought": ["yes", "no", None, "yes"], "s": [0.9, 0.2, 0.3, 0.4], "w": [1, 1, 1, 2]})
    data.write_csv(tmp_path / "a.csv")
    options = ["--y-true", "bought", "--y-score", "s", "--positive", "yes", "--nulls", "drop", "--sample-weight", "w"]
    found = run("evaluate", tmp_path / "a.csv", *options, "--threshold", 0.5, "--threshold", 0.1, "--format", "csv")
    rows = pl.read_csv(found.encode()).filter(pl.col("metric") == "recall")
    assert rows.select("threshold", "value").rows() == [(0.1, 1.0), (0.5, pytest.approx(1 / 3))]
    assert "third" not in found


def test_advice_names_the_options(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("outcome,p\nchurned,0.9\nstayed,\nstayed,0.2\n")
    evaluate = ["evaluate", path, "--y-true", "outcome", "--y-score", "p"]
    assert "Pass --positive to set the positive label" in run(*evaluate, code=2)
    assert "Fill the values, or pass --nulls drop." in run(*evaluate, "--positive", "churned", code=2)


def test_too_many_groups_are_told_in_options(folder):
    arguments = ["evaluate", folder / "days", *COLUMNS, "--by", "country"]
    assert "more than 2 groups; 'country' has the most values" in (told := run(*arguments, "--max-groups", 2, code=2))
    assert "raise --max-groups, or pass --overflow other." in told
    assert "max_groups" not in told
    run(*arguments, "--max-groups", 100)


def test_advice_names_flags(tmp_path):
    pl.DataFrame({"y": ["a", "b"], "p": [0.2, 0.3], "q": [0.7, 0.9]}).write_csv(tmp_path / "mine.csv")
    evaluate = ["evaluate", tmp_path / "mine.csv", "--task", "multiclass", "--y-true", "y", "--y-score", "a=p"]
    assert run(*evaluate, "--y-score", "b=q", code=2).endswith("or pass --renormalize.\n")


@pytest.mark.parametrize("option", ["--save", "-o", "--html"])
def test_places_that_cannot_be_written_are_told_before_the_data_are_read(option, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "accumulate", lambda *_, **__: pytest.fail("the data were read"))
    wanted = ["evaluate", folder / "days", *COLUMNS, option]
    assert f"folder '{tmp_path / 'new'}' not found" in run(*wanted, tmp_path / "new" / "file", code=2)
    assert "is a directory" in run(*wanted, tmp_path, code=2)


@pytest.mark.parametrize("form", ["table", "json", "parquet"])
def test_a_reader_that_goes_away_is_no_error(form, folder):
    command = [sys.executable, "-c", "from streammetrics.cli import main; main()"]
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    show = [*command, "show", str(folder / "state"), "--format", form]
    found = subprocess.run(show, stdout=reader.stdin, stderr=subprocess.PIPE, text=True, check=False)
    reader.stdin.close()
    assert found.stderr == ""


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_groups_of_rare_types_have_every_form(form, tmp_path):
    values = [timedelta(hours=1), timedelta(hours=2)]
    pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "g": values}).write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--by", "g"]
    assert str(values[0]) in run(*evaluate, "--format", form)


def test_text_stored_as_bytes(tmp_path):
    labels = {"y": [b"yes", b"no", b"yes"], "p": [0.9, 0.2, 0.8], "g": ["Köln".encode(), b"DE", b"DE"]}
    pl.DataFrame(labels).write_parquet(tmp_path / "a.parquet")
    evaluate = ("evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--format", "csv")
    options = ("--positive", "yes", "--negative", "no", "--by", "g", "--where", "g <> 'DE'", "--metric", "rows")
    assert "Köln,,rows,1.0," in run(*evaluate, *options)


@pytest.mark.parametrize("form", ["table", "github"])
@pytest.mark.parametrize("grouped", [[], ["--total"]], ids=["groups", "one"])
def test_piped_tables_are_as_wide_as_asked(grouped, form, folder):
    show = ["show", folder / "state", *grouped, "--confidence", 0.95, "--format", form]
    widest = {n: max(map(len, run(*show, "--width", n).splitlines())) for n in (60, 400)}
    assert widest[60] <= 60
    default = run(*show)
    assert widest[60] < max(map(len, default.splitlines())) <= 120 < widest[400] or grouped
    assert "roc_auc" in default


def test_a_label_that_never_occurs_is_told(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("outcome,p\nchurned,0.9\nstayed,0.2\n")
    evaluate = ["evaluate", path, "--y-true", "outcome", "--y-score", "p", "--positive"]
    assert "Warning: no row has the positive label Churned." in run(*evaluate, "Churned")
    assert "Warning" not in run(*evaluate, "churned")
    assert "Warning: every row has the positive label churned." in run(*evaluate, "churned", "--where", "p > 0.5")


def test_labels_that_count_as_negative_are_named(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("y,code,p\npaid,1,0.9\nn/a,0,0.2\ndefault,1,0.7\n,0,0.1\n")
    evaluate = ["evaluate", path, "--y-score", "p", "--nulls", "drop", "--metric", "rows"]
    found = run(*evaluate, "--y-true", "y", "--positive", "default")
    assert "Note: Labels other than 'default' count as negative: 'n/a', 'paid'. To reject a third label" in found
    assert "Note" not in run(*evaluate, "--y-true", "y", "--positive", "default", "--where", "y <> 'n/a'")
    assert "Note" not in run(*evaluate, "--y-true", "code", "--positive", 1)


def test_an_evaluation_that_drops_all_rows_is_told(tmp_path):
    pl.DataFrame({"y": [1, 0], "p": [None, None], "w": [0, 0]}).write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y"]
    warning = "Warning: All 2 rows were dropped, because of nulls or weights of 0.\n"
    assert warning in run(*evaluate, "--y-score", "p", "--nulls", "drop")
    assert warning in run(*evaluate, "--y-pred", "y", "--sample-weight", "w")
    assert "Warning" not in run(*evaluate, "--y-pred", "y")


def test_predictions_without_labels(folder):
    found = run("evaluate", folder / "days", "--task", "predictions", "--y-score", "p_click", "--format", "csv")
    expected = sm.evaluate(folder / "days", sm.predictions(y_score="p_click")).frame
    assert pl.read_csv(found.encode())["value"].round(9).equals(expected["value"].round(9))
    assert "predictions does not accept --y-true" in run(
        "evaluate", folder / "days", "--task", "predictions", *COLUMNS, code=2
    )
    scores = run("evaluate", folder / "days", "--task", "regression", *COLUMNS, code=2)
    assert "regression does not accept --y-score. Pass --y-pred." in scores
    assert "regression requires --y-true" in run("evaluate", folder / "days", "--task", "regression", code=2)
    assert "binary requires --y-true" in run("evaluate", folder / "days", "--y-score", "p_click", code=2)


def test_thresholds_of_tasks(folder):
    evaluate = ["evaluate", folder / "days", "--y-score", "a=p_click", "--threshold", 0.3, "--task"]
    found = run(*evaluate, "multilabel", "--y-true", "a=clicked", "--format", "csv")
    task = sm.multilabel(y_true={"a": "clicked"}, y_score={"a": "p_click"}, threshold=0.3)
    report = sm.evaluate(folder / "days", task)
    assert pl.read_csv(found.encode())["value"].round(9).equals(report.frame["value"].round(9))
    twice = run(*evaluate, "multilabel", "--y-true", "a=clicked", "--threshold", 0.5, code=2)
    assert "--threshold accepts one number in --task multilabel, got 2." in twice
    multiclass = run(*evaluate, "multiclass", "--y-true", "clicked", code=2)
    assert "--task multiclass does not accept --threshold." in multiclass


def test_expect(folder, tmp_path):
    one, other = (sm.Accumulator.load(folder / f"{day}.state") for day in ("monday", "tuesday"))
    state = [folder / "tuesday.state", "--reference", folder / "monday.state", "--by", "country"]
    found = run("expect", *state, "--odds", 1.5, "--metric", "roc_auc", "--confidence", 0.9, "--format", "csv")
    report, reference = (acc.finalize().rollup("country") for acc in (other, one))
    expected = sm.expect(report, reference, odds=1.5, metrics="roc_auc", confidence=0.9)
    assert pl.read_csv(found.encode())["ci_lower"].round(9).equals(expected.frame["ci_lower"].round(9))
    *shown, _, said = run("expect", *state, "--odds", 1.5, "--metric", "roc_auc").splitlines()
    assert said == "In brackets: bounds if odds differ by a factor of at most 1.5."
    bounds = expected.frame.row(0, named=True)
    assert f"({bounds['lower']:.2f} to {bounds['upper']:.2f})" in shown[2]
    total = [*state[:3], "--total"]
    whole = sm.expect(other.finalize().rollup(), one.finalize().rollup(), odds=2)
    assert run("expect", *total, "--odds", 2).strip() == str(whole)
    by_day = run("expect", *state[:3], "--by", "day", "--metric", "expected_positives", "--format", "csv")
    pooled = sm.expect(other.finalize().rollup("day"), one.finalize().rollup(), metrics="expected_positives")
    assert pl.read_csv(by_day.encode())["value"].round(6).equals(pooled.frame["value"].round(6))
    needed = whole.needed_odds(other.finalize().rollup())
    told = pl.read_csv(run("expect", *total, "--needed", "--format", "csv").encode())
    assert told["needed_odds"].round(6).equals(needed["needed_odds"].round(6))
    assert "needed_odds" in run("expect", *total, "--needed", "--metric", "f1")
    assert "--odds must be a number of at least 1" in run("expect", *total, "--odds", 0.5, code=2)


def test_groups_of_weeks(folder):
    clicks = ["evaluate", folder / "days", "--y-true", "clicked", "--y-score", "p_click", "--metric", "rows"]
    for by in ("DATE(STRFTIME(day, '%G-%V-1'), '%G-%V-%u') AS week", "DATE_TRUNC('week', day) AS week"):
        weeks = pl.read_csv(run(*clicks, "--by", by, "--format", "csv").encode())
        assert {date.fromisoformat(week).weekday() for week in weeks["week"]} == {0}


@pytest.mark.parametrize(
    ("by", "name", "expected"),
    [
        ("DATE_TRUNC('month', time) AS month", "month", ["2026-01-01", "2026-05-01"]),
        ("date_trunc ( 'quarter' , time )  as \"Q of\"", "Q of", ["2026-01-01", "2026-04-01"]),
        ("DATE_TRUNC('YEAR', day)", "DATE_TRUNC('YEAR', day)", ["2026-01-01"]),
        ("DATE_TRUNC('month', DATE(LEFT(text, 10))) AS month", "month", ["2026-01-01", "2026-05-01"]),
        ("DATE_TRUNC('month', berlin) AS month", "month", ["2026-02-01", "2026-05-01"]),
        ("DATE_TRUNC('hour', time) AS hour", "hour", ["2026-01-31T23:00:00.000000", "2026-05-17T13:00:00.000000"]),
    ],
)
def test_groups_of_truncated_times(by, name, expected, tmp_path):
    times = pl.Series("time", [datetime(2026, 1, 31, 23, 30), datetime(2026, 5, 17, 13, 45)])
    frame = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "time": times, "day": times.dt.date()})
    berlin = pl.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    frame.with_columns(berlin=berlin, text=pl.col("time").cast(pl.String)).write_parquet(tmp_path / "a.parquet")
    evaluate = ("evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--metric", "rows")
    assert pl.read_csv(run(*evaluate, "--by", by, "--format", "csv").encode())[name].to_list() == expected
    for wrong, fix in (
        ("DATE_TRUNC('month', text) AS month", "'text' is text. Write DATE_TRUNC('month', DATE(text))."),
        ("DATE_TRUNC('decade', time)", "DATE_TRUNC does not support 'decade'. Supported units: day, week, month"),
        ("DATE_TRUNC('hour', day)", "DATE_TRUNC('hour', …) cannot be computed from 'day', which is Date."),
        ("DATE_TRUNC('month', time) = day", "DATE_TRUNC must be the whole column, such as"),
        ("DATE_TRUNC('month', time) = DATE(text)", "DATE_TRUNC must be the whole column, such as"),
    ):
        assert fix in run(*evaluate, "--by", wrong, code=2)


def test_metrics_are_listed_with_their_options(folder, tmp_path):
    assert len(run("metrics", "--format", "csv").splitlines()) > 100
    run("metrics", folder / "state", "--format", "parquet", "-o", tmp_path / "metrics")
    names, meanings = pl.read_parquet(tmp_path / "metrics")
    report = sm.Accumulator.load(folder / "state").finalize()
    assert all(name in report for name in names)
    assert {"roc_auc", "fbeta(beta=1)", "recall_at_fpr(fpr=0.01)"} <= set(names)
    assert names.is_unique().all()
    assert not names.str.starts_with("mae").any()
    assert meanings[names.index_of("accuracy")] == "Share of rows predicted correctly. Higher is better."


def test_drift(folder):
    state = sm.Accumulator.load(folder / "state")
    found = run("drift", folder / "state", folder / "state", "--by", "country", "--of", "y_score", "--format", "csv")
    assert pl.read_csv(found.encode())["value"].to_list() == [0.0] * 6 * 4
    assert run("drift", folder / "state", folder / "state", "--total").strip() == str(
        sm.drift(state.rollup(), state.rollup())
    )
    assert "at least 2, got 1" in run("drift", folder / "state", folder / "state", "--bins", 1, code=2)


def test_merge_and_show(folder, tmp_path):
    (tmp_path / "other").write_bytes((folder / "state").read_bytes())
    merge = ["merge", folder / "state", tmp_path / "other"]
    assert run(*merge, "-o", tmp_path / "both") == f"{tmp_path / 'both'}: binary task, 40,000 rows in 6 groups\n"
    assert "its rows would be counted 2 times" in run(*merge, tmp_path / "." / "other", "-o", tmp_path / "c", code=2)
    rows = json.loads(run("show", tmp_path / "both", "--total", "--metric", "rows", "--format", "json"))
    assert rows[0]["value"] == 40_000
    assert run("show", tmp_path / "both", "--by", "country").startswith("country")
    assert "Unknown group column" in run("show", tmp_path / "both", "--by", "day", code=2)
    assert "not both" in run("show", tmp_path / "both", "--by", "country", "--total", code=2)


def test_check_decides_in_every_group(folder):
    assert run("check", folder / "state", "--require", "roc_auc>=0.3").count("holds") == 6
    both = ["--require", "roc_auc >= 0.3", "--require", "ece <= 0.5"]
    lines = run("check", folder / "state", *both, "--total").splitlines()
    assert lines[0].split() == ["rule", "value", "bound", "interval", "verdict"]
    assert [" ".join(line.split()[-4:]) for line in lines[2:]] == ["0.806 to 0.842 holds", "holds: on these rows"]
    lines = run("check", folder / "state", *both, "--total", "--bounds-only").splitlines()
    assert lines[0].split() == ["rule", "value", "bound", "verdict"]
    assert [line.split()[-1] for line in lines[2:]] == ["holds", "holds"]
    _, _, *failing, count, advice = run("check", folder / "state", "--require", "roc_auc>=0.99", code=1).splitlines()
    assert len(failing) == 6
    assert (count, advice) == ("Failing: 6 of 6", "To check all groups together, add --total.")
    both = ["--require", "roc_auc>=0.99", "--require", "ece<=0"]
    assert run("check", folder / "state", *both, "--total", code=1).splitlines()[-1] == "Failing: 2 of 2"
    assert run("check", folder / "state", *both, "--by", "country", code=1).splitlines()[-1] == "Failing: 12 of 12"
    assert failing[0].startswith("roc_auc >= 0.99  BR        0.")
    with_threshold = run("check", folder / "state", "--require", "roc_auc>=0.3", "--require", "recall>=0").splitlines()
    assert with_threshold[0].split() == ["rule", "where", "value", "bound", "interval", "verdict"]
    assert with_threshold[2].startswith("roc_auc >= 0.3  country BR   ")
    assert failing[0].endswith("  breached")


def test_check_of_many_groups_shows_those_that_do_not_hold(tmp_path):
    rows = {"y": [0, 1] * 60, "p": [0.1, 0.9] * 60, "g": [i // 2 for i in range(120)]}
    rows["p"][-1] = 0.05
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "many.state")
    shown = run("show", tmp_path / "many.state", "--metric", "rows")
    assert shown.endswith("… and 20 more groups. Read all of them with --format csv, or the worst first with --sort.\n")
    check = ["check", tmp_path / "many.state", "--bounds-only", "--require"]
    assert run(*check, "rows >= 2") == "All 60 hold.\n"
    _, _, failing, others, count, _ = run(*check, "roc_auc >= 0.5", code=1).splitlines()
    assert failing.split() == ["roc_auc", ">=", "0.5", "59", "0", "exact", "breached"]
    assert (others, count) == ("… and 59 more that hold", "Failing: 1 of 60")


def test_check_with_a_confidence_level_is_open_where_rows_do_not_suffice(folder):
    check = ["check", folder / "state", "--total", "--require"]
    report = sm.Accumulator.load(folder / "state").finalize(["roc_auc"], confidence=0.9).rollup()
    auc = report["roc_auc"]
    near = f"roc_auc >= {(auc.ci_lower + auc.lower) / 2}"
    low, high = auc.ci_lower - (auc.value - auc.lower), auc.ci_upper + (auc.upper - auc.value)
    assert run(*check, f"roc_auc >= {low - 1e-9}").splitlines()[-1].endswith("holds")
    assert run(*check, near).splitlines()[-1].endswith("open")
    assert run(*check, near, "--open", "fail", code=1).splitlines()[-1].endswith("open")
    assert run(*check, f"roc_auc >= {high + 1e-9}", code=1).splitlines()[-1].endswith("breached")
    assert "--confidence must be between 0.5 and 1, got 2.0." in run(*check, near, "--confidence", "2", code=2)


def test_check_takes_a_confidence_level_or_bounds_only(folder):
    check = ["check", folder / "state", "--require", "roc_auc>=0.3", "--bounds-only", "--confidence", "0.9"]
    assert "Pass either --confidence or --bounds-only, not both." in run(*check, code=2)


def test_check_of_a_state_without_rows_fails(tmp_path):
    sm.binary(y_true="y", y_score="p", by="g").save(tmp_path / "empty.state")
    assert "undefined: no rows" in run("check", tmp_path / "empty.state", "--require", "roc_auc >= 0.1", code=1)


def test_check_of_small_groups(tmp_path):
    rows = {"y": [0, 1] * 60 + [1], "p": [0.1, 0.9] * 60 + [0.5], "g": ["a"] * 120 + [None]}
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "some.state")
    check = ["check", tmp_path / "some.state", "--require", "roc_auc >= 0.9"]
    assert "undefined: no negatives" in run(*check, code=1)
    small = run(*check, "--min-rows", 10, "--confidence", 0.95)
    *verdicts, count = small.splitlines()[2:]
    assert [line.split("  ")[-1].strip() for line in verdicts] == ["holds", "too few rows: no negatives"]
    assert count == "Passing without holding: 1 of 2"
    (said,) = sm.Accumulator.load(tmp_path / "some.state").finalize().violations("roc_auc >= 0.9", min_rows=2)
    assert said == "roc_auc >= 0.9 is not decided for g null: too few rows (1)."


def test_check_says_which_verdicts_have_no_interval(folder):
    check = ["check", folder / "state", "--total", "--require"]
    assert run(*check, "ece <= 0.5").splitlines()[-1].endswith("holds: on these rows")
    assert run(*check, "rows >= 1").splitlines()[-1].endswith("holds")
    assert "holds; " not in run(*check, "ece <= 0.0001", "--format", "github", code=1)
    assert "breached: on these rows; value 0." in run(*check, "ece <= 0.0001", "--format", "github", code=1)
    report = sm.Accumulator.load(folder / "state").finalize().rollup()
    assert "without an interval, so on these rows only." in report.violations("ece <= 0.0001", confidence=0.95)[0]


@pytest.mark.parametrize("group", [[], ["store"]])
def test_help_has_every_summary_whole(group):
    listed = CliRunner().invoke(main, [*group, "--help"], terminal_width=80).output.partition("Commands:")[2]
    assert "  check " in listed
    assert "..." not in listed


def test_first_errors_say_what_to_type(folder):
    evaluate = ["evaluate", folder / "days"]
    assert "requires --y-true. Columns of the files: 'day', " in run(*evaluate, code=2)
    two = run(*evaluate, "--y-true", "clicked", "--y-score", "new=p_click", "--y-score", "p_click", code=2)
    assert "name=column for each of several columns, with the name of the model or label, such as a=p_click." in two
    assert "second state or --models A B, to compare two models" in run("compare", folder / "state", code=2)
    assert "--models A B, not both" in run("compare", *[folder / "state"] * 2, "--models", "a", "b", code=2)


def test_check_of_one_model(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", tmp_path / "two.state")
    check = ["check", tmp_path / "two.state", "--require", "roc_auc>=0.6"]
    assert "  model  " in run(*check, code=1)
    assert run(*check, "--model", "good").splitlines()[-1].endswith("holds")
    for form in ("table", "github", "junit", "markdown", "json"):
        found = run(*check, "--model", "bad", "--format", form, code=1)
        assert re.search(r"roc_auc (>|&gt;|\\>)= 0\.6(,|%2C) model bad", found)
    assert "Unknown model 'best'. Models: 'good', 'bad'." in run(*check, "--model", "best", code=2)


def test_each_command_can_read_one_of_several_models(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--by", "day", "--by", "country"]
    two, history = tmp_path / "two.state", tmp_path / "history"
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", two)
    run("store", "append", history, two, "--window", "day")
    commands = (
        ["show", two, "--total", "--metric", "roc_auc"],
        ["compare", two, two, "--total", "--metric", "roc_auc", "--independent"],
        ["drift", two, two, "--total", "--of", "y_score"],
        ["slices", two, "log_loss"],
        ["store", "report", history, "--metric", "roc_auc"],
    )
    for command in commands:
        assert "bad" not in run(*command, "--model", "good")
        assert "Unknown model 'best'. Models: 'good', 'bad'." in run(*command, "--model", "best", code=2)
    assert json.loads(run(*commands[0], "--model", "good", "--format", "json"))[0]["value"] > 0.6
    both = ["compare", two, "--models", "good", "bad", "--model", "good"]
    assert "Pass either --models or --model, not both." in run(*both, code=2)


def test_metrics_are_read_at_any_threshold(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--threshold", "0.5", "--threshold", "0.3"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", tmp_path / "two.state")
    report = sm.Accumulator.load(tmp_path / "two.state").finalize()
    asked = ["--metric", "recall", "--metric", "roc_auc", "--threshold"]
    for threshold in (0.12, 0.3):
        rows = json.loads(run("show", tmp_path / "two.state", *asked, threshold, "--format", "json"))
        recalls, areas = ([row for row in rows if row["metric"] == name] for name in ("recall", "roc_auc"))
        for row in recalls:
            found = report.get("recall", model=row["model"], threshold=threshold)
            assert (row["threshold"], row["value"], row["lower"]) == (threshold, found.value, found.lower)
        assert [row["value"] for row in areas] == report.rows("roc_auc")["value"].to_list()
    shown = run("show", tmp_path / "two.state", *asked, 0.12)
    assert shown.splitlines()[-1] == "Scores of at least 0.12 count as positive."
    limit = f"{report.get('recall', model='good', threshold=0.12).value - 1e-6:.9f}"
    check = ["check", tmp_path / "two.state", "--model", "good", "--require", f"recall>={limit}", "--threshold"]
    assert "threshold 0.12" in run(*check, 0.12)
    run(*check, 0.9, code=1)
    compared = run("compare", tmp_path / "two.state", "--models", "good", "bad", *asked, 0.12, "--format", "json")
    assert [row["threshold"] for row in json.loads(compared)] == [0.12, None]


def test_a_comparison_says_which_threshold_to_evaluate_for_intervals(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--threshold", "0.5", "--threshold", "0.3"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", tmp_path / "two.state")
    compare = ["compare", tmp_path / "two.state", "--models", "good", "bad", "--metric"]
    assert "Differences at threshold 0.12 have" in run(*compare, "recall", "--threshold", 0.12)
    assert "evaluate with threshold 0.12." in " ".join(run(*compare, "recall", "--threshold", 0.12).split())
    assert "Differences" not in run(*compare, "recall", "--threshold", 0.3)
    assert "Differences" not in run(*compare, "recall")
    assert "Differences" not in run(*compare, "roc_auc")


def test_errors_about_thresholds_say_what_to_type(folder, tmp_path):
    check = ["check", folder / "state", "--require"]
    assert "of precision. Pass --threshold 0.3 separately." in run(*check, "precision(threshold=0.3)>=0.1", code=2)
    assert "of roc_auc. Write partial_auc(max_fpr=0.1)." in run(*check, "roc_auc(max_fpr=0.1)>=0.1", code=2)
    unused = "--threshold applies to metrics such as precision, but not to 'roc_auc', 'ece'. Omit it."
    assert unused in run(*check, "roc_auc>=0.1", "--require", "ece<=1", "--threshold", 0.3, code=2)
    assert "not to 'roc_auc'." in run("show", folder / "state", "--metric", "roc_auc", "--threshold", 0.3, code=2)
    assert "not to 'roc_auc'." in run("slices", folder / "state", "roc_auc", "--threshold", 0.3, code=2)
    percent = run("show", folder / "state", "--threshold", 30, code=2)
    assert percent == "Error: --threshold must be between 0 and 1 for probabilities, got 30. For 30%, pass 0.3.\n"
    limit = "Error: The limit of roc_auc >= 80 must be between 0 and 1, got 80.\n"
    assert run(*check, "roc_auc >= 80", code=2) == limit
    page = ["show", folder / "state", "--threshold", "0.3", "--html", tmp_path / "page.html"]
    either = "Pass either --html or --threshold, not both. For a page at a threshold, pass it to evaluate."
    assert either in run(*page, code=2)
    assert "--threshold accepts one number in show, got 2." in run(*page[:4], "--threshold", "0.1", code=2)
    run("evaluate", folder / "days", "--y-true", "clicked", "--y-pred", "clicked", "--save", tmp_path / "labels.state")
    missing = run("show", tmp_path / "labels.state", "--threshold", "0.3", code=2)
    assert "Threshold 0.3 requires the statistic ScoreHistogram, or one of the stored thresholds: none." in missing
    with pytest.raises(sm.MetricError, match=r"'threshold' of precision. Pass threshold=0.3 separately.$"):
        sm.Accumulator.load(folder / "state").finalize(["precision(threshold=0.3)"])
    labels = sm.multilabel(y_true={"a": "y", "b": "y"}, y_score={"a": "p", "b": "p"})
    labels.update({"y": [0, 1], "p": [0.1, 0.9]}).save(tmp_path / "labels.state")
    several = run("show", tmp_path / "labels.state", "--threshold", "0.3", code=2)
    assert "A threshold requires a binary task, got the labels 'a', 'b'." in several


def test_reports_say_which_scores_are_positive(folder):
    assert run("show", folder / "state", "--total").splitlines()[-1] == "Scores of at least 0.5 count as positive."
    assert "count as positive" in run("show", folder / "state").splitlines()[-1]
    assert "count as positive" not in run("show", folder / "state", "--metric", "roc_auc")
    assert "0.5 count as positive.\n" in run("show", folder / "state", "--metric", "recall")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere.parquet", *COLUMNS], "Error: File 'nowhere.parquet' not found."),
        (
            ["evaluate", "{days}", "--y-true", "clicked", "--y-score", "p"],
            "Error: Column 'p' not found. Did you mean 'p_click'? Available columns:",
        ),
        (["evaluate", "{days}", "--y-true", "clicked"], "Error: binary requires --y-score, --y-pred, or both."),
        (["evaluate", "{days}", *COLUMNS, "--metric", "rok_auc"], "Did you mean 'roc_auc"),
        (
            ["evaluate", "{days}", "--y-true", "country", "--y-score", "p_click"],
            "Error: Column 'country' must be Boolean or 0/1, got String",
        ),
        (["show", "nowhere"], "Error: Cannot read 'nowhere': file not found"),
        (["show", "https://host/a.state"], "it is a URL. Download the file, and pass its path."),
        (["check", "{state}", "--require", "roc_auc"], "as a requirement"),
        (["merge", "{state}", "{days}", "-o", "x"], "Error:"),
    ],
    ids=lambda a: " ".join(a[:1]) if isinstance(a, list) else "",
)
def test_errors_are_one_line(arguments, message, folder):
    places = {"days": folder / "days", "state": folder / "state"}
    output = run(*(a.format(**places) for a in arguments), code=2)
    assert message in output
    assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize("command", sorted(main.commands))
def test_help_shows_an_example(command):
    output = run(command, "--help")
    assert f"Example:\n    streammetrics {command}" in output
    assert command in run("--help")


HOLDING = """
[[rule]]
require = "rows >= 100"
over = "7d"

[[rule]]
require = "wasserstein(of='y_score') <= 0.5"
against = "28d"
"""
BREACHED = """
[[rule]]
require = "rows >= 1000000"
by = "country"
"""


@pytest.fixture
def days(folder, tmp_path, monkeypatch):
    """A folder with the states of two days, and rules."""
    monkeypatch.chdir(tmp_path)
    for name in ("monday.state", "tuesday.state"):
        shutil.copy(folder / name, name)
    (tmp_path / "rules.toml").write_text(HOLDING)
    (tmp_path / "breached.toml").write_text(BREACHED)
    return tmp_path


@pytest.fixture(scope="module")
def two_days(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("two days") / "history"
    run("store", "append", store, folder / "monday.state", folder / "tuesday.state")
    return store


@pytest.fixture
def history(days, two_days):
    shutil.copytree(two_days, days / "history")
    return sm.MetricStore(days / "history")


def test_a_known_state_is_not_appended_again(days):
    assert run("store", "append", "history", "monday.state").splitlines() == ["monday.state: added"]
    again = run("store", "append", "history", "monday.state", "tuesday.state").splitlines()
    known = "monday.state: nothing added, because this batch ID is known. For other rows, pass a new --batch-id."
    assert again == [known, "tuesday.state: added"]
    assert run("store", "append", "history", "monday.state", "--batch-id", "5 January") == "5 January: added\n"
    windows = sm.MetricStore(days / "history").windows()
    assert windows["rows"].to_list() == [2 * 667, 667]
    assert windows["parts"].to_list() == [12, 6]


def test_append_names_its_batches(days):
    (days / "other").mkdir()
    (days / "monday.state").rename(days / "other" / "tuesday.state")
    both = ["store", "append", "history", "tuesday.state", "other/tuesday.state"]
    assert "Two files have the same name. Append them one by one, with --batch-id" in run(*both, code=2)
    assert "--batch-id and --source require a single state" in run(*both, "--batch-id", "x", code=2)
    assert "--batch-id must be a nonempty string" in run(*both[:4], "--batch-id", "", code=2)
    assert not (days / "history").exists()


def test_a_source_is_appended_up_to_its_offset(days):
    append = ["store", "append", "history", "monday.state", "--source", "topic/3"]
    assert run("store", "offset", "history", "topic/3") == "0\n"
    assert run(*append, "--start", 0, "--upto", 667) == "topic/3: added\n"
    assert run(*append, "--upto", 667) == "topic/3: nothing to add\n"
    assert run("store", "offset", "history", "topic/3") == "667\n"
    assert "the history ends at offset 667" in run(*append, "--start", 600, "--upto", 700, code=2)
    assert "--upto" in run(*append, code=2)
    assert "--batch-id or --source" in run(*append, "--upto", 800, "--batch-id", "x", code=2)


def test_a_window_is_replaced(days):
    run("store", "append", "history", "monday.state", "tuesday.state", "--window", "day")
    run("store", "append", "history", "monday.state", "--batch-id", "again")
    replace = ["store", "replace", "history", "monday.state", "--window"]
    assert run(*replace, "2026-01-05", "--batch-id", "corrected") == "corrected: replaced\n"
    known = "this batch ID is known. For other rows, pass a new --batch-id."
    assert run(*replace, "2026-01-05", "--batch-id", "corrected") == f"corrected: nothing replaced, because {known}\n"
    assert sm.MetricStore(days / "history").windows()["rows"].to_list() == [667, 667]
    assert "--batch-id" in run(*replace, "2026-01-05", code=2)
    found = run(*replace, "2026-01-06", "--batch-id", "wrong", code=2)
    assert "The state contains '2026-01-05', but the window is 2026-01-06. Pass --window 2026-01-05." in found
    several = ["store", "replace", "history", "both.state", "--window", "2026-01-05", "--batch-id", "wrong"]
    sm.Accumulator.load("monday.state", "tuesday.state").save("both.state")
    told = "The state contains '2026-01-06', but the window is 2026-01-05. Filter the state, or extend the range with"
    assert f"{told} --until." in run(*several, code=2)
    assert run(*replace, "2026-01-05", "--until", "2026-01-07", "--batch-id", "both") == "both: replaced\n"
    assert sm.MetricStore(days / "history").windows()["rows"].to_list() == [667]


def test_the_window_of_a_history(days):
    append = ["store", "append", "history", "monday.state", "--window"]
    assert "'country' must be a group column of type Date" in run(*append, "country", code=2)
    assert run(*append, "day") == "monday.state: added\n"
    assert "The window of the table is 'day', not 'country'" in run(*append, "country", code=2)


def test_reports_name_windows_that_the_time_range_cuts(history):
    weeks = ["store", "report", "history", "--every", "1w", "--metric", "rows"]
    cut = run(*weeks, "--since", "2026-01-06", "--until", "2026-01-07")
    assert "Window 2026-01-05 contains only rows since 2026-01-06.\n" in cut
    assert "Window 2026-01-05 contains only rows before 2026-01-07.\n" in cut
    assert "contains only" not in run(*weeks, "--since", "2026-01-05", "--until", "2026-01-12")


def test_report_equals_the_library(history):
    found = run("store", "report", "history", "--every", "1d", "--by", "country", "--metric", "rows", "--format", "csv")
    expected = history.query(every="1d", by="country").finalize(["rows"]).frame
    assert (
        pl.read_csv(found.encode(), try_parse_dates=True)
        .select("day", "country", "value")
        .equals(expected.select("day", "country", "value"))
    )
    options = ["--metric", "log_loss", "--format", "json"]
    for ends, day in ((["--until", "2026-01-06"], "05"), (["--since", "2026-01-06"], "06")):
        state = sm.Accumulator.load("monday.state" if day == "05" else "tuesday.state").rollup()
        row = json.loads(run("store", "report", "history", *ends, *options))[0]
        assert row["value"] == pytest.approx(state.finalize()["log_loss"].value, rel=1e-12)
    assert "interval" in run("store", "report", "history", "--confidence", 0.95)
    at = ["--metric", "recall", "--threshold", 0.2, "--format", "json"]
    assert json.loads(run("store", "report", "history", *at))[0]["value"] == (
        history.query().finalize().get("recall", threshold=0.2).value
    )
    unused = run("store", "report", "history", "--metric", "roc_auc", "--threshold", 0.2, code=2)
    assert "--threshold applies to metrics such as precision, but not to 'roc_auc'. Omit it." in unused


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
def test_check_exits_with_its_verdict_in_every_format(form, history):
    findings = sm.check(history, sm.read_rules("breached.toml"))
    run("store", "check", "history", "rules.toml", "--format", form, "-o", "found")
    output = run("store", "check", "history", "breached.toml", "--format", form, "-o", "found", code=1)
    assert output == f"Failing: {(~findings.frame['passes']).sum()} of {findings.frame.height} verdicts, see found\n"
    found = history.uri.parent / "found"
    if form == "table":
        assert found.read_text() == run("store", "check", "history", "breached.toml", code=1) == f"{findings}\n"
        return
    readers = {"json": pl.read_json, "csv": pl.read_csv, "parquet": pl.read_parquet}
    frame = readers[form](found)
    assert frame.columns == findings.frame.columns
    assert frame["verdict"].to_list() == ["breached"] * 6
    assert frame["value"].to_list() == findings.frame["value"].to_list()


@pytest.mark.usefixtures("history")
def test_verdicts_are_coloured_where_colours_are_wanted(tmp_path):
    (tmp_path / "both.toml").write_text(HOLDING + BREACHED)
    arguments = ["store", "check", "history", "both.toml"]
    plain = CliRunner().invoke(main, arguments).output
    coloured = CliRunner().invoke(main, arguments, color=True).output
    assert "\x1b[31mbreached\x1b[0m" in coloured
    assert "\x1b[32mholds\x1b[0m" in coloured
    assert click.unstyle(coloured) == plain
    assert CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, color=True).output == plain
    CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "found")], color=True)
    assert (tmp_path / "found").read_text() == plain


def test_check_until(history):
    *lines, count = run("store", "check", "history", "breached.toml", "--until", "2026-01-06", code=1).splitlines()
    assert count == "Failing: 6 of 6"
    assert len(lines) == 2 + 6
    assert all("2026-01-05" in line for line in lines[2:])
    assert run("store", "check", "history", "rules.toml", "--until", "2027-01-01", code=1).count("undefined") == 1


def test_a_time_range_without_windows_is_told(history):
    told = "Error: The history at history has no windows in this time range. Newest window: 2026-01-06.\n"
    assert run("store", "report", "history", "--since", "2027-01-01", code=2) == told
    assert run("store", "report", "history", "--until", "2025-01-01", "--every", "1w", code=2) == told
    assert run("store", "page", "history", "--since", "2027-01-01", "-o", "page.html", code=2) == told


def test_states_and_rows_that_are_swapped(days, folder):
    shutil.copy("monday.state", "state.parquet")
    use = "Read saved states with Accumulator.load or streammetrics show, and histories with MetricStore."
    assert run("evaluate", "monday.state", *COLUMNS, code=2) == f"Error: Unknown file type: 'monday.state'. {use}\n"
    assert f"not found. {use} Available columns: " in run("evaluate", "state.parquet", *COLUMNS, code=2)
    pl.DataFrame({"y": [1]}).write_csv("rows.csv")
    for rows in ("rows.csv", next((folder / "days").iterdir())):
        assert run("show", rows, code=2).endswith("To evaluate rows, use evaluate.\n")


def test_names_that_are_given_several_times(folder):
    evaluate = ["evaluate", folder / "days", "--y-true", "clicked", "--y-score"]
    names = ["a=p_click", "--y-score", "b=p_click", "--y-score", "a=1 - p_click"]
    assert "The name 'a' is given 2 times. Pass each name once." in run(*evaluate, *names, code=2)
    by = ["p_click", "--by", "day", "--by", "country", "--by", "country"]
    assert "--by contains the column 'country' 2 times." in run(*evaluate, *by, code=2)
    metrics = run("show", folder / "state", "--metric", "recall,precision", code=2)
    assert metrics == "Error: Cannot read 'recall,precision' as a metric. Pass each metric separately.\n"


def test_a_file_is_no_history(days):
    told = "Error: Cannot read the table at monday.state: a history is a folder, but this is a file.\n"
    assert run("store", "report", "monday.state", code=2) == told
    assert run("store", "append", "monday.state", "tuesday.state", code=2) == told


def test_limits_of_rules_are_in_the_range_of_their_metric(history):
    store = sm.MetricStore("history")
    with pytest.raises(sm.MetricError, match=r"^The limit of roc_auc >= 80 must be between 0 and 1, got 80\.$"):
        sm.check(store, sm.Rule("roc_auc >= 80"))
    sm.check(store, [sm.Rule("roc_auc >= -0.02", against="1d"), sm.Rule("rows >= 1e9")])


def test_groups_that_differ_are_told_with_the_option(folder):
    one, other = folder / "monday.state", folder / "state"
    told = (
        "Error: The group columns differ: 'day', 'country' and 'country'. Roll both up to the same ones, such as with "
    )
    assert run("compare", one, other, code=2) == f"{told}--total.\n"
    assert run("drift", one, other, code=2).endswith("lacks. Roll both up to the same ones, such as with --total.\n")
    for command in ("compare", "drift"):
        run(command, one, other, "--total")
        run(command, one, other, "--by", "country")


@pytest.mark.parametrize("command", [["show"], ["check", "--require", "roc_auc>=0.5"], ["compare", "monday.state"]])
def test_a_history_is_no_state(command, history):
    told = run(*command, "history", code=2)
    assert told == "Error: 'history' is a history, not a saved state. Use MetricStore or streammetrics store report.\n"


def test_windows_compact_and_retain(history):
    run("store", "append", "history", "monday.state", "--batch-id", "again")
    before = run("store", "windows", "history").splitlines()
    assert [row["version"] for row in json.loads(run("store", "describe", "history", "--format", "json"))] == [1]
    assert run("store", "describe", "history").endswith("  none\n")
    assert before[0].split() == ["day", "groups", "rows", "parts", "ingested"]
    assert [line.split()[:4] for line in before[2:]] == [
        ["2026-01-05", "6", "1,334", "12"],
        ["2026-01-06", "6", "667", "6"],
    ]
    report = run("store", "report", "history", "--format", "json")
    assert run("store", "compact", "history") == "history: 18 parts, now 12; 3 files, now 1\n"
    assert run("store", "report", "history", "--format", "json") == report
    assert history.windows()["parts"].to_list() == [6, 6]
    all_of_them = run("store", "retain", "history", "--since", "2027-01-06", code=2)
    assert all_of_them == "Error: --since 2027-01-06 would drop all windows of history. Newest window: 2026-01-06.\n"
    assert run("store", "retain", "history", "--since", "2026-01-06") == "history: 2 windows, now 1\n"
    assert [row["day"] for row in json.loads(run("store", "windows", "history", "--format", "json"))] == ["2026-01-06"]
    assert "this batch ID is known" in run("store", "append", "history", "monday.state")


@pytest.mark.parametrize("command", sorted(store_commands.commands))
def test_examples_of_the_store_commands_run(command, history):
    example = re.search(r"Example:\n    (streammetrics store .*)", run("store", command, "--help")).group(1)
    assert example.split()[2] == command
    run(*shlex.split(example)[1:])
    assert command in run("store", "--help")


def test_the_rules_in_the_help_can_be_read(days):
    lines = run("store", "check", "--help").splitlines()
    first, last = (next(i for i, line in enumerate(lines) if text in line) for text in ("[[rule]]", "28d"))
    (days / "help.toml").write_text("\n".join(lines[first : last + 1]))
    assert [str(rule) for rule in sm.read_rules("help.toml")] == [
        "roc_auc >= 0.8",
        "psi(of='y_score') <= 0.2 against 28d before",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["append", "history", "nowhere.state"], "Error: Cannot read 'nowhere.state': file not found"),
        (["append", "history", "rules.toml"], "Error: Cannot read 'rules.toml'"),
        (["report", "nowhere"], "Error: No history at 'nowhere'. Check the path. The first append creates a history."),
        (
            ["report", "history", "--since", "soon"],
            "Error: Cannot read 'soon' as a time",
        ),
        (["report", "history", "--every", "x"], "Error: Cannot read 'x' as a duration"),
        (["report", "history", "--by", "region"], "Error: Unknown group column 'region'"),
        (["report", "history", "--metric", "rok_auc"], "Did you mean 'roc_auc"),
        (["check", "nowhere", "rules.toml"], "Error: No history at 'nowhere'"),
        (["check", "history", "nowhere.toml"], "Error: Cannot read 'nowhere.toml': file not found."),
        (["check", "history", "monday.state"], "Error: monday.state is not valid TOML"),
        (["check", "history", "rules.toml", "--until", "soon"], "Error: Cannot read 'soon' as a time"),
        (["windows", "nowhere"], "Error: No history at 'nowhere'"),
        (["compact", "nowhere"], "Error: No history at 'nowhere'"),
        (["retain", "nowhere", "--since", "2026-01-01"], "Error: No history at 'nowhere'"),
        (["retain", "history", "--since", "soon"], "Error: Cannot read"),
        (["windows", "rules.toml"], "Error: Cannot read the table at rules.toml"),
    ],
)
@pytest.mark.usefixtures("history")
def test_errors_of_the_store_commands_are_one_line(arguments, message):
    output = run("store", *arguments, code=2)
    assert message in output
    assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["retain", "history"], ["append", "history"], ["check", "history"], ["forget"]])
def test_missing_arguments_of_the_store_commands(arguments):
    assert "Error: " in run("store", *arguments, code=2)


def test_demo(tmp_path):
    output = run("demo", tmp_path / "clicks", "--rows", 20_000)
    assert len(list((tmp_path / "clicks").glob("*.parquet"))) == 30
    assert "Evaluated 20,000 rows" in output
    assert "\n… and 16 more metrics: brier_skill_score, ece, " in output  # as in the README
    assert max(map(len, output.splitlines())) <= 120


def test_as_a_program(folder):
    command = [
        sys.executable,
        "-c",
        "from streammetrics.cli import main; main()",
        "show",
        str(folder / "state"),
        "--total",
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert found.stdout.startswith("metric")
    assert found.stderr == ""


def test_errors_name_options():
    given = """pass nulls='drop', confidence=0.95, renormalize=True, by=, order='b"c', or null_values="a'b"."""
    shown = """pass --nulls drop, --confidence 0.95, --renormalize, --by, --order 'b"c', or --null-value "a'b"."""
    assert told(given) == shown
    same = "Unknown 'by=a'; pass pairs=True, fbeta(beta=2), roc_auc(by=5). In Python, pass it with y_score=."
    assert told(same) == same
    assert told("Drop them with a filter, or begin with rollup().") == "Drop them with --where, or begin with --total."


def test_notes_advise_options():
    notes = {
        "no interval: pass unit= for a confidence interval": "no interval: pass --unit for a confidence interval",
        "if they share one score, pass\n   atoms=(1e-05,)": "if they share one score, pass\n   --atom 1e-05",
        "days, pass independent=True.": "days, pass --independent.",
        "pass pairs=True, pass q=(0.5,), by=5": "pass pairs=True, pass q=(0.5,), by=5",
    }
    assert [with_options(note) for note in notes] == list(notes.values())


def test_notes_and_errors_of_commands_name_options(tmp_path):
    scores = np.where(np.arange(40_000) % 10 == 0, 0.05, np.random.default_rng(0).random(40_000))
    rows = pl.DataFrame({"y": np.arange(40_000) % 3 == 0, "p": scores})
    rows.write_parquet(tmp_path / "a.parquet")
    columns = ["--y-true", "y", "--y-score", "p", "--metric", "roc_auc"]
    evaluate = ["evaluate", tmp_path / "a.parquet", *columns, "--capacity", 100]
    for form in ("csv", "json", "markdown"):
        assert "if they share one score, pass --atom 0.05" in run(*evaluate, "--format", form)
    assert "--atom 0.05" not in run(*evaluate, "--atom", 0.05)
    assert "--capacity must be at least 72 (8, plus 64 per atom), got 50." in run(
        *evaluate[:-1], 50, "--atom", 0.05, code=2
    )
    assert "Error: --confidence must be between 0 and 1, got 95.0." in run(*evaluate, "--confidence", 95, code=2)
    run(*evaluate, "--save", tmp_path / "a.state")
    run("evaluate", tmp_path / "a.parquet", *columns, "--where", "p > 0.1", "--save", tmp_path / "b.state")
    assert "pass --independent." in " ".join(run("compare", tmp_path / "a.state", tmp_path / "b.state").split())
    assert f"File '{tmp_path}/by=DE/a.csv' not found" in run("evaluate", tmp_path / "by=DE/a.csv", *COLUMNS, code=2)


def test_the_package_is_a_command():
    command = [sys.executable, "-m", "streammetrics", "--version"]
    assert sm.__version__ in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_cells_that_a_spreadsheet_would_run_are_quoted_on_request(tmp_path):
    names = ["=1+1", "+1", "-1", "@a", "\tx", "DE", "a=b"]
    data = pl.DataFrame({"y": [1, 0] * 7, "p": [0.4] * 14, "=g": names * 2, "n": [-1] * 14})
    data.write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "p", "--by", "=g", "--by", "n"]
    evaluate += ["--metric", "rows", "--format"]
    found = {
        option: pl.read_csv(run(*evaluate, *option).encode()).sort(pl.nth(0))
        for option in (("csv",), ("csv", "--safe-csv"))
    }
    plain, safe = found.values()
    assert sorted(plain["=g"]) == sorted(names)
    assert sorted(safe["'=g"]) == sorted(n if n in ("DE", "a=b") else f"'{n}" for n in names)
    assert safe["n"].to_list() == plain["n"].to_list() == [-1] * 7
    assert "--safe-csv requires --format csv" in run(*evaluate, "json", "--safe-csv", code=2)
    for command in ("show", "compare", "drift"):
        assert "--safe-csv" in run(command, "--help")


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


@pytest.mark.parametrize(
    ("column", "label", "positives"),
    [("text", "High", 1), ("text", "1", 2), ("number", "2", 2), ("number", "1.0", 2), ("flag", "False", 2)],
)
def test_a_positive_label_has_the_type_of_its_column(column, label, positives, typed):
    assert values(typed, "--y-true", column, "--y-score", "q", "--positive", label) == [positives]


def test_a_positive_label_that_a_column_cannot_have_is_told(typed):
    for column in ("number", "flag"):
        run("evaluate", typed, "--y-true", column, "--y-score", "q", "--positive", "High", code=2)


def test_columns_that_are_missing_are_told_beside_a_label(typed):
    for column in ("flags", "flags = 1"):
        found = run("evaluate", typed, "--y-true", column, "--y-score", "q", "--positive", "a", code=2)
        assert "Column 'flags' not found. Did you mean 'flag'? Available columns: 'text'" in found


def test_all_missing_columns_are_told_together(typed):
    found = run("evaluate", typed, "--y-true", "flagg", "--y-score", "score", "--by", "txt", code=2)
    assert "Error: Columns 'flagg', 'score', 'txt' not found. Did you mean 'flag', 'text'? Available columns:" in found


def test_columns_are_names_or_expressions(typed):
    flag = [typed, "--y-true", "flag"]
    assert values(*flag, "--y-score", "1 - q", metric="roc_auc") == [1.0]
    for name in ("p click", '"p click"'):
        assert values(*flag, "--y-score", name, metric="roc_auc") == [1.0]
    assert values(*flag, "--y-score", "a=1 - q", "--y-score", "b=q", metric="roc_auc") == [1.0, 0.0]
    assert values(typed, "--y-true", "number = 1", "--y-score", "1 - q", metric="roc_auc") == [1.0]
    assert values(*flag, "--y-score", "q", "--sample-weight", "number * 2") == [4.0]
    by = ["--y-score", "q", "--by", "upper(g) AS land", "--by", "number > 1", "--metric", "rows", "--format", "csv"]
    found = pl.read_csv(run("evaluate", *flag, *by).encode())
    assert found.select("land", "number > 1").n_unique() == 4
    assert "Column 'q click' not found" in run("evaluate", *flag, "--y-score", "q click", code=2)
    assert "Column 'logit' not found" in run("evaluate", *flag, "--y-score", "logit / 2", code=2)
    assert "as a column or an SQL expression" in run("evaluate", *flag, "--y-score", "1 -", code=2)
    assert "double quotes around names" in run("evaluate", *flag, "--y-score", "lower(p click)", code=2)
    assert "double quotes around names" not in run("evaluate", *flag, "--y-score", '"p click" -', code=2)
    assert values(*flag, "--y-score", '1 - "p click"', "--where", '"p click" < 0.85', metric="rows") == [3.0]


def test_some_rows_are_evaluated(typed):
    flag = ["--y-true", "flag", "--y-score", "q"]
    assert values(typed, *flag, "--where", "g = 'DE' OR q > 0.5", metric="rows") == [3.0]
    assert "Column 'h' not found" in run("evaluate", typed, *flag, "--where", "h > 1", code=2)
    assert "No row meets the condition 'q > 1'." in run("evaluate", typed, *flag, "--where", "q > 1", code=2)
    assert "SQL" in run("evaluate", typed, *flag, "--where", "q >", code=2)
    bad = ["--y-true", "flag", "--y-score", "q * 1.2", "--where", "number = 2"]
    assert f"at row 3 of {typed})" in run("evaluate", typed, *bad, code=2)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("q + 1", "--where must be a condition, but 'q + 1' is Float64. Compare it with a value."),
        ("q > 'a'", "Cannot compute \"q > 'a'\": cannot compare string with numeric type"),
        ("day > '2026-01-01'", "a date or time cannot be compared with text. Write DATE('2026-01-31'), or TIMESTAMP '"),
    ],
)
def test_what_is_no_condition(condition, message, tmp_path):
    days = pl.DataFrame({"y": [1, 0], "q": [0.9, 0.2], "day": [date(2026, 1, 2)] * 2})
    days.write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y", "--y-score", "q", "--where"]
    assert message in run(*evaluate, condition, code=2)
    run(*evaluate, "day > DATE('2026-01-01') AND day < TIMESTAMP '2026-01-31 12:00:00'")


@pytest.mark.parametrize(
    "condition", ["g = DE", 'g="DE"', 'g == "DE"', "q > 0 AND g <> DE", "g in ('FR', DE)", "g IN (DE)"]
)
def test_text_without_quotes_is_told(typed, condition):
    flag = ["--y-true", "flag", "--y-score", "q"]
    found = run("evaluate", typed, *flag, "--where", condition, code=2)
    assert f"Column 'DE' not found in {condition!r}. Put single quotes around text: 'DE'." in found
    assert "Put single quotes" in run("evaluate", typed, "--y-true", condition, "--y-score", "q", code=2)
    assert "single quotes" not in run("evaluate", typed, *flag, "--where", "h > 1", code=2)


def test_the_label_is_one_column_or_condition(typed):
    for condition in ("number=1", "number = 1", "coalesce(g, 'none')='DE'"):
        assert values(typed, "--y-true", condition, "--y-score", "1 - q", metric="rows") == [4.0]
    two = ["--y-true", "flag", "--y-true", "number", "--y-score", "q"]
    assert "--y-true accepts one column in --task binary, got 2." in run("evaluate", typed, *two, code=2)


def test_texts_that_stand_for_null(typed):
    csv = [typed.with_suffix(".csv"), "--y-true", "flag", "--y-score", "q", "--by", "g"]
    found = run("evaluate", *csv, "--null-value", "none", "--null-value", "de", "--metric", "rows", "--format", "csv")
    assert sorted(map(str, pl.read_csv(found.encode())["g"])) == ["DE", "FR", "None"]
    assert "--null-value applies to CSV files" in run("evaluate", typed, *csv[1:], "--null-value", "none", code=2)


def test_one_threshold_and_positive_labels_of_models(typed):
    score = [typed, "--y-true", "flag", "--y-score", "q"]
    assert values(*score, "--threshold", 0.6, metric="recall") == [0.0]
    predicted = ["--task", "predictions", "--y-pred", "a=number", "--y-pred", "b=3 - number", "--positive", "1"]
    assert values(typed, *predicted, metric="predicted_positive_rate") == [0.5, 0.5]


def test_intervals_for_every_look_are_wider(tmp_path):
    frame = pl.DataFrame({"y": [0, 1, 1, 0] * 500, "p": [0.1, 0.8, 0.2, 0.7] * 500})
    state = tmp_path / "a.state"
    sm.binary(y_true="y", y_score="p").update(frame).save(state)
    options = ["show", str(state), "--metric", "accuracy", "--confidence", "0.95", "--format", "json"]
    (once,), (always,) = (json.loads(run(*options, *more)) for more in ((), ("--always", "1000")))
    assert always["ci_lower"] < once["ci_lower"] < once["ci_upper"] < always["ci_upper"]
    assert "--always requires --confidence" in run("show", state, "--always", "1000", code=2)
