"""The commands, as a user types them."""

import json
import subprocess
import sys

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.demo import write_predictions

COLUMNS = ["--y-true", "clicked", "--y-score", "p_click"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_predictions(folder / "days", rows=20_000)
    run("evaluate", folder / "days", *COLUMNS, "--by", "country", "--save", folder / "state")
    return folder


def run(*arguments, code=0):
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


def test_merge_and_show(folder, tmp_path):
    assert "40,000 rows in 6 groups" in run("merge", folder / "state", folder / "state", "-o", tmp_path / "both")
    rows = json.loads(run("show", tmp_path / "both", "--total", "--metric", "rows", "--format", "json"))
    assert rows[0]["value"] == 40_000
    assert run("show", tmp_path / "both", "--by", "country").startswith("country")
    assert "no group column" in run("show", tmp_path / "both", "--by", "day", code=2)
    assert "not both" in run("show", tmp_path / "both", "--by", "country", "--total", code=2)


def test_check_decides_in_every_group(folder):
    assert run("check", folder / "state", "--require", "roc_auc>=0.3") == "roc_auc>=0.3 holds.\n"
    both = ["--require", "roc_auc >= 0.3", "--require", "ece <= 0.5"]
    assert run("check", folder / "state", *both, "--total") == "All 2 requirements hold.\n"
    failing = run("check", folder / "state", "--require", "roc_auc>=0.99", code=1).splitlines()
    assert len(failing) == 6
    assert failing[0].startswith("roc_auc >= 0.99 does not hold for country BR: roc_auc is 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere.parquet", *COLUMNS], "Error: there is no file 'nowhere.parquet'."),
        (
            ["evaluate", "{days}", "--y-true", "clicked", "--y-score", "p"],
            "Error: there is no column 'p'; the source has:",
        ),
        (["evaluate", "{days}", "--y-true", "clicked"], "Error: binary needs y_score=, y_pred=, or both."),
        (["evaluate", "{days}", *COLUMNS, "--metric", "rok_auc"], "did you mean roc_auc"),
        (
            ["evaluate", "{days}", "--y-true", "country", "--y-score", "p_click"],
            "Error: column 'country' is of type String",
        ),
        (["evaluate", "{days}", *COLUMNS, "--save", "{days}"], "Error:"),
        (["show", "nowhere"], "Error: nowhere cannot be read"),
        (["check", "{state}", "--require", "roc_auc"], "is not a requirement"),
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


def test_demo(tmp_path):
    output = run("demo", tmp_path / "clicks", "--rows", 20_000)
    assert len(list((tmp_path / "clicks").glob("*.parquet"))) == 30
    assert "Evaluated 20,000 rows" in output
    assert "roc_auc" in output


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
