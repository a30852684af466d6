"""Evaluations and reports on the command line."""

import json
import re
import subprocess
import sys

import polars as pl
import pytest
from click.testing import CliRunner
from commands import COLUMNS, run

import streammetrics as sm
from streammetrics.cli import main


def test_evaluate_equals_the_library(folder):
    found = run("evaluate", folder / "days", *COLUMNS, "--by", "country", "--format", "csv")
    acc = sm.binary(y_true="clicked", y_score="p_click", by="country")
    expected = sm.evaluate(folder / "days", acc).frame
    assert pl.read_csv(found.encode())["value"].round(9).equals(expected["value"].round(9))


def test_outputs_of_an_evaluation_are_files(folder, tmp_path):
    wanted = ["evaluate", f"{folder}/days/*.parquet", *COLUMNS, "--metric", "roc_auc", "--metric", "fbeta(beta=2)"]
    run(*wanted, "--format", "parquet", "-o", tmp_path / "report.parquet")
    assert pl.read_parquet(tmp_path / "report.parquet")["metric"].to_list() == ["roc_auc", "fbeta(beta=2)"]
    run(*wanted, "-o", tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == run(*wanted)


def test_labels_thresholds_nulls_and_weights(tmp_path):
    data = pl.DataFrame({"bought": ["yes", "no", None, "yes"], "s": [0.9, 0.2, 0.3, 0.4], "w": [1, 1, 1, 2]})
    data.write_csv(tmp_path / "a.csv")
    options = ["--y-true", "bought", "--y-score", "s", "--positive", "yes", "--nulls", "drop", "--sample-weight", "w"]
    found = run("evaluate", tmp_path / "a.csv", *options, "--threshold", 0.5, "--threshold", 0.1, "--format", "csv")
    rows = pl.read_csv(found.encode()).filter(pl.col("metric") == "recall")
    assert rows.select("threshold", "value").rows() == [(0.1, 1.0), (0.5, pytest.approx(1 / 3))]
    assert "third" not in found


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["table", "parquet"])
def test_a_reader_that_goes_away_is_no_error(form, folder):
    command = [sys.executable, "-c", "from streammetrics.cli import main; main()"]
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    show = [*command, "show", str(folder / "state"), "--format", form]
    found = subprocess.run(show, stdout=reader.stdin, stderr=subprocess.PIPE, text=True, check=False)
    reader.stdin.close()
    assert found.stderr == ""


def test_an_evaluation_that_drops_all_rows_is_told(tmp_path):
    pl.DataFrame({"y": [1, 0], "p": [None, None], "w": [0, 0]}).write_parquet(tmp_path / "a.parquet")
    evaluate = ["evaluate", tmp_path / "a.parquet", "--y-true", "y"]
    warning = "Warning: All 2 rows were dropped, because of nulls or weights of 0.\n"
    assert warning in run(*evaluate, "--y-score", "p", "--nulls", "drop")
    assert warning in run(*evaluate, "--y-pred", "y", "--sample-weight", "w")
    assert "Warning" not in run(*evaluate, "--y-pred", "y")


@pytest.mark.thorough
def test_expect(folder, tmp_path):
    reference, scores = (sm.Accumulator.load(folder / f"{day}.state").finalize() for day in ("monday", "tuesday"))
    state = ["expect", folder / "tuesday.state", "--reference", folder / "monday.state"]
    total, csv = [*state, "--total"], ["--format", "csv"]
    found = run(*state, "--by", "country", *"--odds 1.5 --metric roc_auc --confidence 0.9".split(), *csv)
    by_country = {"odds": 1.5, "metrics": "roc_auc", "confidence": 0.9}
    expected = sm.expect(scores.rollup("country"), reference.rollup("country"), **by_country)
    assert pl.read_csv(found.encode())["ci_lower"].round(9).equals(expected.frame["ci_lower"].round(9))
    by_day = run(*state, "--by", "day", "--metric", "expected_positives", *csv)
    pooled = sm.expect(scores.rollup("day"), reference.rollup(), metrics="expected_positives")
    assert pl.read_csv(by_day.encode())["value"].round(6).equals(pooled.frame["value"].round(6))
    whole = sm.expect(scores.rollup(), reference.rollup(), odds=2)
    assert run(*total, "--odds", 2).strip() == str(whole)
    needed = pl.read_csv(run(*total, "--needed", *csv).encode())["needed_odds"]
    assert needed.round(6).equals(whole.needed_odds(scores.rollup())["needed_odds"].round(6))
    powered = sm.expect(scores.rollup(), reference.rollup(), method="prediction_powered")
    assert run(*total, "--method", "prediction-powered").strip() == str(powered)


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


@pytest.mark.thorough
def test_drift(folder):
    state = sm.Accumulator.load(folder / "state")
    found = run("drift", folder / "state", folder / "state", "--by", "country", "--of", "y_score", "--format", "csv")
    assert pl.read_csv(found.encode())["value"].to_list() == [0.0] * 6 * 4
    printed = run("drift", folder / "state", folder / "state", "--total")
    assert printed.endswith(f"\n\n{sm.drift(state.rollup(), state.rollup())}\n")  # below what stands out


def test_merge_and_show(folder, tmp_path):
    (tmp_path / "other").write_bytes((folder / "state").read_bytes())
    merge = ["merge", folder / "state", tmp_path / "other"]
    assert run(*merge, "-o", tmp_path / "both") == f"{tmp_path / 'both'}: binary task, 40,000 rows in 6 groups\n"
    rows = json.loads(run("show", tmp_path / "both", "--total", "--metric", "rows", "--format", "json"))
    assert rows[0]["value"] == 40_000
    assert "\n\ncountry  " in run("show", tmp_path / "both", "--by", "country")


def test_help_has_every_summary_whole_and_an_example_of_each_command():
    for group in ([], ["store"]):
        listed = CliRunner().invoke(main, [*group, "--help"], terminal_width=80).output.partition("Commands:")[2]
        assert "  check " in listed
        assert [line for line in listed.splitlines() if line.endswith("...")] == []  # too long for 80 columns
    for command in main.commands:
        assert f"Example:\n    streammetrics {command}" in run(command, "--help")
        assert command in run("--help")


def test_demo(tmp_path):
    output = run("demo", tmp_path / "clicks", "--rows", 20_000)
    assert len(list((tmp_path / "clicks").glob("*.parquet"))) == 30
    assert "Evaluated 20,000 rows" in output
    assert "\nThe same in all groups: dropped 0, " in output
    assert max(map(len, output.splitlines())) <= 120
    pytest.importorskip("altair")
    assert f"The same as a page, with charts: {tmp_path / 'report.html'}" in output
    assert "<h1>Click predictions</h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["report.html", "clicks/2026-01-01.parquet"])
def test_demo_replaces_no_file(tmp_path, name):
    existing = tmp_path / name
    existing.parent.mkdir(exist_ok=True)
    existing.write_text("mine")
    output = run("demo", tmp_path / "clicks", "--rows", 1_000, code=2)
    assert output == f"Error: The demo replaces no files, but '{existing}' exists. Run it in an empty directory.\n"
    assert existing.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [existing]


@pytest.mark.thorough
def test_the_package_is_a_program(folder):
    command = [sys.executable, "-m", "streammetrics", "show", folder / "state", "--total"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert found.stdout.startswith("severity  code   finding\n")
    assert "\n\nmetric  " in found.stdout
    assert found.stderr == ""
    assert sm.__version__ in run("--version")


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
    for command in ("show", "compare", "drift"):
        assert "--safe-csv" in run(command, "--help")


def test_intervals_for_every_look_are_wider(tmp_path):
    frame = pl.DataFrame({"y": [0, 1, 1, 0] * 500, "p": [0.1, 0.8, 0.2, 0.7] * 500})
    state = tmp_path / "a.state"
    sm.binary(y_true="y", y_score="p").update(frame).save(state)
    options = ["show", str(state), "--metric", "accuracy", "--confidence", "0.95", "--format", "json"]
    (once,), (always,) = (json.loads(run(*options, *more)) for more in ((), ("--always", "1000")))
    assert always["ci_lower"] < once["ci_lower"] < once["ci_upper"] < always["ci_upper"]


def test_help_has_every_option_in_one_section_and_commands_in_the_order_of_work():
    for command in ("evaluate", "compare"):
        _, _, sections = run(command, "--help").partition("Example:")
        headings = re.findall(r"^(\w[\w ]*):$", sections, re.MULTILINE)
        assert headings[-1] == "Output"
        assert len(headings) == len(set(headings)) >= 4
        options = [parameter.opts[-1] for parameter in main.commands[command].params if parameter.opts[0][0] == "-"]
        shown = re.findall(r"^  (?:-\w, )?(--[\w-]+)", sections, re.MULTILINE)
        assert sorted(shown) == sorted([*options, "--help"])
    helped = run("evaluate", "--help")
    assert "--y-true COLUMN" in helped
    assert "--metric METRIC" in helped
    assert "--window TIME" in run("store", "replace", "--help")
    assert re.findall(r"^  (\w+)  +[A-Z]", run("--help"), re.MULTILINE)[:4] == ["demo", "evaluate", "show", "findings"]
