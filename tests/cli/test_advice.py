"""Errors and notes of commands name options, and say what to type."""

import shutil

import numpy as np
import polars as pl
import pytest
from commands import COLUMNS, run

import streammetrics as sm
from streammetrics.cli import evaluate
from streammetrics.cli.root import as_option, main
from streammetrics.errors import Argument, SpecificationError


def test_advice_names_the_options(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("outcome,p\nchurned,0.9\nstayed,\nstayed,0.2\n")
    evaluate = ["evaluate", path, "--y-true", "outcome", "--y-score", "p"]
    assert "Pass --positive to set the positive label" in run(*evaluate, code=2)
    assert "Fill the values, or pass --nulls drop." in run(*evaluate, "--positive", "churned", code=2)


def test_the_task_of_more_labels_and_of_numbers_is_named(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("color,p\nred,0.9\ngreen,0.1\nblue,0.2\n")
    more = "For more than two labels, use the multiclass task, and for numbers, the regression task. Pass --positive "
    assert more in run("evaluate", path, "--y-true", "color", "--y-score", "p", code=2)


def test_too_many_groups_are_told_in_options(folder):
    arguments = ["evaluate", folder / "days", *COLUMNS, "--by", "country"]
    assert "more than 2 groups; 'country' has the most values" in (told := run(*arguments, "--max-groups", 2, code=2))
    assert "or raise --max-groups." in told
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


def test_first_errors_say_what_to_type(folder):
    evaluate = ["evaluate", folder / "days"]
    assert "requires --y-true. Columns of the files: 'day', " in run(*evaluate, code=2)
    two = run(*evaluate, "--y-true", "clicked", "--y-score", "new=p_click", "--y-score", "p_click", code=2)
    assert "name=column for each of several columns, with the name of the model or label, such as a=p_click." in two
    assert "second state or --models A B, to compare two models" in run("compare", folder / "state", code=2)
    assert "--models A B, not both" in run("compare", *[folder / "state"] * 2, "--models", "a", "b", code=2)


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


@pytest.mark.thorough
def test_groups_that_differ_are_told(folder):
    one, other = folder / "monday.state", folder / "state"
    told = "Error: The group columns differ: 'day', 'country' and 'country'. Roll both up to the same ones.\n"
    assert run("compare", one, other, code=2) == told
    assert run("drift", one, other, code=2).endswith("lacks. Roll both up to the same ones.\n")
    for command in ("compare", "drift"):
        run(command, one, other, "--total")
        run(command, one, other, "--by", "country")


def test_errors_name_options():
    options = {
        Argument("nulls", "drop"): "--nulls drop",
        Argument("confidence", 0.95): "--confidence 0.95",
        Argument("renormalize", True): "--renormalize",
        Argument("by"): "--by",
        Argument("labels"): "--label",
        Argument("order", 'b"c'): """--order 'b"c'""",
        Argument("null_values", "a'b"): """--null-value "a'b\"""",
        Argument("pairs", True): "pairs=True",
        Argument("label"): "label=",
    }
    assert {argument: as_option(argument) for argument in options} == options
    assert as_option(Argument("y_score", {"cat": "p_cat"})) == "--y-score cat=p_cat"
    assert as_option(Argument("label"), main.commands["findings"]) == "label="
    error = SpecificationError(Argument("by"), " contains by=3, nulls='drop'. Pass ", Argument("nulls", "drop"), ".")
    assert error.message(as_option) == "--by contains by=3, nulls='drop'. Pass --nulls drop."


NAME = "Pass nulls='drop', confidence=0.9 or unit="  # of the user, which looks like arguments


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "github"])
def test_groups_models_and_labels_that_look_like_arguments_stay_as_they_are(form, tmp_path):
    rows = pl.DataFrame({"y": [NAME, "b"] * 20, "p": [0.9, 0.2] * 20, "g": [NAME] * 40})
    one = sm.binary(y_true=pl.col("y") == "b", y_score={NAME: "p"}, by="g").update(rows)
    several = sm.multiclass(y_true="y", y_score={NAME: "p", "b": 1 - pl.col("p")}).update(rows)
    for number, acc in enumerate((one, several)):
        acc.save(tmp_path / f"{number}.state")
        metrics = ["--metric", "f1", "--metric", "rows"]
        assert NAME in run("show", tmp_path / f"{number}.state", *metrics, "--format", form, "--width", 500)


def test_errors_keep_names_that_look_like_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = NAME.replace("/", "")
    columns = ["--y-true", "y", "--y-score", "p"]
    assert run("evaluate", f"{name}.csv", *columns, code=2).startswith(f"Error: File {f'{name}.csv'!r} not found.")
    pl.DataFrame({"y": [NAME, "b", None], "p": [0.9, 0.2, 0.1]}).write_csv(f"{name}.csv")
    message = run("evaluate", f"{name}.csv", *columns, "--positive", "b", code=2)
    assert f"of {name}.csv)" in message
    assert message.endswith("Fill the values, or pass --nulls drop.\n")
    unknown = run("evaluate", f"{name}.csv", *columns, "--positive", "B", "--nulls", "drop", code=2)
    assert f"Labels: {NAME!r}, 'b'" in unknown


def test_notes_and_errors_of_commands_name_options(tmp_path):
    scores = np.where(np.arange(40_000) % 10 == 0, 0.05, np.random.default_rng(0).random(40_000))
    rows = pl.DataFrame({"y": np.arange(40_000) % 3 == 0, "p": scores})
    rows.write_parquet(tmp_path / "a.parquet")
    columns = ["--y-true", "y", "--y-score", "p", "--metric", "roc_auc"]
    evaluate = ["evaluate", tmp_path / "a.parquet", *columns, "--capacity", 100]
    for form in ("csv", "json", "markdown"):
        assert "if they share one score, declare the atom 0.05" in run(*evaluate, "--format", form)
    assert "the atom 0.05" not in run(*evaluate, "--atom", 0.05)
    assert "--capacity must be at least 72 (8, plus 64 per atom), got 50." in run(
        *evaluate[:-1], 50, "--atom", 0.05, code=2
    )
    assert "Error: --confidence must be between 0 and 1, got 95.0." in run(*evaluate, "--confidence", 95, code=2)
    run(*evaluate, "--save", tmp_path / "a.state")
    run("evaluate", tmp_path / "a.parquet", *columns, "--where", "p > 0.1", "--save", tmp_path / "b.state")
    compared = run("compare", tmp_path / "a.state", tmp_path / "b.state")
    assert "compare them as independent." in " ".join(compared.split())
    assert f"File '{tmp_path}/by=DE/a.csv' not found" in run("evaluate", tmp_path / "by=DE/a.csv", *COLUMNS, code=2)
