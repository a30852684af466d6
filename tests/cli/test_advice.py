"""Errors and notes of commands name options, and say what to type."""

import numpy as np
import polars as pl
import pytest
from commands import COLUMNS, run

from streammetrics.cli import evaluate
from streammetrics.cli.root import as_option, main
from streammetrics.errors import Argument, SpecificationError


@pytest.mark.parametrize("option", ["--save", "-o", "--html"])
def test_places_that_cannot_be_written_are_told_before_the_data_are_read(option, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "accumulate", lambda *_, **__: pytest.fail("the data were read"))
    wanted = ["evaluate", folder / "days", *COLUMNS, option]
    assert f"folder '{tmp_path / 'new'}' not found" in run(*wanted, tmp_path / "new" / "file", code=2)
    assert "is a directory" in run(*wanted, tmp_path, code=2)


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
    assert "if they share one score, declare the atom 0.05" in run(*evaluate, "--format", "csv")
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
