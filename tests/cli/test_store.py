"""The commands for histories, as a user types them."""

import json
import re
import shlex

import click
import polars as pl
import pytest
from click.testing import CliRunner
from commands import BREACHED, HOLDING, run

import streammetrics as sm
from streammetrics.cli import main


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
    for command in (both, [*both, "--batch-id", "x"], [*both[:4], "--batch-id", ""]):
        assert "--batch-id" in run(*command, code=2)
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
    assert run(*replace, "2026-01-05", "--batch-id", "corrected").startswith("corrected: nothing replaced")
    assert sm.MetricStore(days / "history").windows()["rows"].to_list() == [667, 667]
    assert "--batch-id" in run(*replace, "2026-01-05", code=2)
    assert "Pass --window 2026-01-05." in run(*replace, "2026-01-06", "--batch-id", "wrong", code=2)
    assert run(*replace, "2026-01-05", "--until", "2026-01-07", "--batch-id", "both") == "both: replaced\n"
    assert sm.MetricStore(days / "history").windows()["rows"].to_list() == [667]


def test_reports_name_windows_that_the_time_range_cuts(history):
    weeks = ["store", "report", "history", "--every", "1w", "--metric", "rows"]
    cut = run(*weeks, "--since", "2026-01-06", "--until", "2026-01-07")
    assert "Window 2026-01-05 contains only rows since 2026-01-06.\n" in cut
    assert "Window 2026-01-05 contains only rows before 2026-01-07.\n" in cut
    assert "contains only" not in run(*weeks, "--since", "2026-01-05", "--until", "2026-01-12")


def test_report_equals_the_library(history):
    found = run("store", "report", "history", "--every", "1d", "--by", "country", "--metric", "rows", "--format", "csv")
    expected = history.query(every="1d", by="country").finalize(["rows"]).frame
    columns = ["day", "country", "value"]
    assert pl.read_csv(found.encode(), try_parse_dates=True).select(columns).equals(expected.select(columns))
    for ends, name in ((["--until", "2026-01-06"], "monday"), (["--since", "2026-01-06"], "tuesday")):
        report = sm.Accumulator.load(f"{name}.state").rollup().finalize()
        row = json.loads(run("store", "report", "history", *ends, "--metric", "log_loss", "--format", "json"))[0]
        assert row["value"] == pytest.approx(report["log_loss"].value, rel=1e-12)
    at = ["--metric", "recall", "--threshold", 0.2, "--confidence", 0.95, "--format", "json"]
    [row] = json.loads(run("store", "report", "history", *at))
    assert row["value"] == history.query().finalize().get("recall", threshold=0.2).value
    assert "ci_lower" in row


def test_check_exits_with_its_verdict_in_every_format(history):
    verdicts = sm.check(history, sm.read_rules("breached.toml"))
    assert run("store", "check", "history", "breached.toml", code=1).endswith(f"\n{verdicts}\n")
    for form, read in (("json", pl.read_json), ("csv", pl.read_csv), ("parquet", pl.read_parquet)):
        run("store", "check", "history", "rules.toml", "--format", form, "-o", "found")
        output = run("store", "check", "history", "breached.toml", "--format", form, "-o", "found", code=1)
        assert output == "Failing: 6 of 6 verdicts, see found\n"
        frame = read("found")
        assert frame.columns == verdicts.frame.columns
        assert frame.select("verdict", "value").equals(verdicts.frame.select("verdict", "value"))
    until = run("store", "check", "history", "breached.toml", "--until", "2026-01-06", code=1)
    assert "\nWindows 2026-01-05.\n" in until


@pytest.mark.thorough
@pytest.mark.usefixtures("history")
def test_verdicts_are_coloured_where_colours_are_wanted(tmp_path):
    (tmp_path / "both.toml").write_text(HOLDING + BREACHED)
    arguments = ["store", "check", "history", "both.toml"]
    plain = CliRunner().invoke(main, arguments).output
    coloured = CliRunner().invoke(main, arguments, color=True).output
    assert "\x1b[31m✗ breached\x1b[0m" in coloured
    assert "\x1b[32m✓ holds\x1b[0m" in coloured
    assert click.unstyle(coloured) == plain
    assert CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, color=True).output == plain
    CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "found")], color=True)
    assert (tmp_path / "found").read_text() == plain


def test_windows_compact_and_retain(history):
    run("store", "append", "history", "monday.state", "--batch-id", "again")
    before = run("store", "windows", "history").splitlines()
    assert before[0].split() == ["day", "groups", "rows", "parts", "ingested"]
    assert [line.split()[:4] for line in before[2:]] == [
        ["2026-01-05", "6", "1,334", "12"],
        ["2026-01-06", "6", "667", "6"],
    ]
    report = run("store", "report", "history", "--format", "json")
    assert run("store", "compact", "history") == "history: parts: 18, now 12; files: 3, now 1\n"
    assert run("store", "report", "history", "--format", "json") == report
    assert history.windows()["parts"].to_list() == [6, 6]
    all_of_them = run("store", "retain", "history", "--since", "2027-01-06", code=2)
    assert all_of_them == "Error: --since 2027-01-06 would drop all windows of history. Newest window: 2026-01-06.\n"
    assert run("store", "retain", "history", "--since", "2026-01-06") == "history: 2 windows, now 1\n"
    assert [row["day"] for row in json.loads(run("store", "windows", "history", "--format", "json"))] == ["2026-01-06"]
    assert "this batch ID is known" in run("store", "append", "history", "monday.state")


@pytest.mark.thorough
@pytest.mark.usefixtures("history")
def test_examples_of_the_store_commands_run():
    for command in sorted(main.commands["store"].commands):
        example = re.search(r"Example:\n    (streammetrics store .*)", run("store", command, "--help")).group(1)
        assert example.split()[2] == command
        run(*shlex.split(example)[1:])


def test_the_rules_in_the_help_can_be_read(days):
    lines = run("store", "check", "--help").splitlines()
    first, last = (next(i for i, line in enumerate(lines) if text in line) for text in ("[[rule]]", "28d"))
    (days / "help.toml").write_text("\n".join(lines[first : last + 1]))
    assert [str(rule) for rule in sm.read_rules("help.toml")] == [
        "roc_auc >= 0.8",
        "psi(of='y_score') <= 0.2 against 28d before",
    ]
