"""Errors name what is similar to a column, file, history, or choice that does not exist, and the fix."""

from pathlib import Path

import pytest
from commands import run

import streammetrics as sm


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("clicks.csv").write_text("clicked,p_click\n1,0.9\n0,0.2\n", encoding="utf-8")
    sm.evaluate("clicks.csv", sm.binary(y_true="clicked", y_score="p_click"))
    sm.accumulate("clicks.csv", sm.binary(y_true="clicked", y_score="p_click")).save("clicks.state")
    Path("history").mkdir()
    return tmp_path


def failed(*arguments):
    return run(*arguments, code=2).strip().splitlines()[-1]


def test_the_own_path_is_not_similar(folder):
    Path("state.d").mkdir()
    assert "Did you mean" not in failed("show", "missing.d")
    with pytest.raises(
        sm.errors.StateError, match=r"No history at 'histroy'. Did you mean 'history'\? The first append"
    ):
        sm.MetricStore("histroy").query()
    with pytest.raises(sm.errors.StateError, match=r"No history at 'history'. Check the path. The first append"):
        sm.MetricStore("history").query()


def test_python_names_what_is_similar(folder):
    with pytest.raises(sm.errors.ColumnError, match=r"'click' not found. Did you mean 'clicked' or 'p_click'\?"):
        sm.evaluate({"clicked": [1], "p_click": [0.5]}, sm.binary(y_true="click", y_score="p_click"))
    with pytest.raises(sm.errors.SpecificationError, match=r"got 'regresion'. Did you mean 'regression'\?"):
        sm.Accumulator(sm.statistics.ErrorMoments(), task="regresion", y_true="y", y_pred="p")
    with pytest.raises(sm.errors.ColumnError, match=r"Available columns: 'clicked', 'p_click'\.$"):
        sm.evaluate([{"clicked": 1, "p_click": 0.5}], sm.binary(y_true="bought", y_score="p_click"))


@pytest.mark.parametrize("option", ["labels", "order"])
def test_a_number_of_labels_is_not_a_list_of_them(option):
    with pytest.raises(sm.errors.SpecificationError, match=f"{option}= must be a list of all labels, .*, got 3"):
        sm.multiclass(y_true="y", y_score="p", **{option: 3})


def test_a_mapping_of_groups_names_the_alias():
    fix = r"Pass a list instead of the mapping .*, pass pl.col\('day'\).alias\('week'\)\.$"
    with pytest.raises(sm.errors.SpecificationError, match=fix):
        sm.binary(y_true="y", y_score="p", by={"week": "day"})
    with pytest.raises(sm.errors.SpecificationError, match=fix):
        sm.binary(y_true="y", y_score="p", by="day").rollup({"week": "day"})


def test_other_files_of_a_folder_of_states(folder):
    Path("clicks.csv").rename("history/rows.csv")
    message = r"'history/rows.csv': not a Parquet .* To load only the states of the folder, pass 'history/\*.state'\.$"
    with pytest.raises(sm.errors.StateError, match=r"'history/rows.csv': not a .* use evaluate\.$"):
        sm.Accumulator.load("history")
    Path("clicks.state").rename("history/clicks.state")
    with pytest.raises(sm.errors.StateError, match=message):
        sm.Accumulator.load("history")
    assert sm.Accumulator.load("history/*.state").seen == 2
