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


EVALUATE = ("evaluate", "clicks.csv", "--y-true", "clicked", "--y-score", "p_click")


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (("evaluate", "clicks.csv", "--y-true", "click"), "Did you mean 'clicked' or 'p_click'? Available"),
        (("evaluate", "click.csv", "--y-true", "clicked"), "File 'click.csv' not found. Did you mean 'clicks.csv'?"),
        (("show", "click.state"), "Cannot read 'click.state': file not found. Did you mean 'clicks.state'?"),
        (("show", "clicks"), "file not found. Did you mean 'clicks.csv' or 'clicks.state'?"),
        (("compare", "clicks.state", "click.state"), "Did you mean 'clicks.state'?"),
        ((*EVALUATE, "--task", "regresion"), "'predictions', 'regression'. Did you mean 'regression'?"),
        ((*EVALUATE, "--format", "jsn"), "Did you mean 'json'?"),
        ((*EVALUATE, "--threshold", "50%"), "'50%' is not a number. For 50%, pass 0.5."),
        ((*EVALUATE, "--threshold", "50"), "got 50.0. For 50%, pass 0.5. Pass --domain real for other scores."),
        ((*EVALUATE, "--confidence", "95"), "--confidence must be between 0 and 1, got 95.0. For 95%, pass 0.95."),
    ],
)
def test_the_command_line_names_what_is_similar(arguments, end, folder):
    if arguments[-2] == "--y-true":
        arguments = (*arguments, "--y-score", "p_click")
    assert end in failed(*arguments)


def test_the_own_path_is_not_similar(folder):
    Path("state.d").mkdir()
    assert "Did you mean" not in failed("show", "missing.d")
    with pytest.raises(sm.StateError, match=r"No history at 'histroy'. Did you mean 'history'\? The first append"):
        sm.MetricStore("histroy").query()
    with pytest.raises(sm.StateError, match=r"No history at 'history'. Check the path. The first append"):
        sm.MetricStore("history").query()


def test_a_missing_file_of_rules(folder):
    Path("rules.toml").touch()
    assert failed("store", "check", "history", "rule.toml").endswith("file not found. Did you mean 'rules.toml'?")


def test_python_names_what_is_similar(folder):
    with pytest.raises(sm.ColumnError, match=r"'click' not found. Did you mean 'clicked' or 'p_click'\?"):
        sm.evaluate({"clicked": [1], "p_click": [0.5]}, sm.binary(y_true="click", y_score="p_click"))
    with pytest.raises(sm.SpecificationError, match=r"got 'regresion'. Did you mean 'regression'\?"):
        sm.Accumulator(sm.ErrorMoments(), task="regresion", y_true="y", y_pred="p")
    with pytest.raises(sm.ColumnError, match=r"Available columns: 'clicked', 'p_click'\.$"):
        sm.evaluate([{"clicked": 1, "p_click": 0.5}], sm.binary(y_true="bought", y_score="p_click"))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("ndcg", "Ranking metrics per query are not supported. See ranx or torchmetrics.retrieval."),
        ("map@10", "Ranking metrics per query are not supported."),
        ("hit_rate", "Ranking metrics per query are not supported."),
        ("precision_at_5", "Ranking metrics per query are not supported."),
        ("Qini", "Uplift metrics are not supported."),
        ("crps", "Metrics of forecast distributions are not supported."),
        ("silhouette_score", "Clustering metrics are not supported. See sklearn.metrics."),
        ("rouge", "Text metrics are not supported."),
        ("c_index", "Survival metrics are not supported."),
        ("aucpr", "Did you mean 'auprc' or 'auc' or 'pauc'?"),
        ("sensitivty", "Did you mean 'sensitivity'"),
        ("gmmm", "`streammetrics metrics` lists all metrics."),
    ],
)
def test_metrics_of_other_fields_are_not_mistaken_for_others(name, end, folder):
    assert f"Unknown metric '{name}'. {end}" in failed(*EVALUATE, "--metric", name)


class Frame:
    """A frame of an engine."""


@pytest.mark.parametrize(
    ("module", "engine"),
    [("dask.dataframe.core", "dask"), ("pyspark.sql.dataframe", "spark"), ("ray.data.dataset", "ray")],
)
def test_frames_of_engines_name_the_function(module, engine, monkeypatch):
    monkeypatch.setattr(Frame, "__module__", module)
    task = sm.binary(y_true="y", y_score="p")
    for call, error in ((sm.evaluate, sm.SourceError), (lambda data, acc: acc.update(data), sm.ColumnError)):
        with pytest.raises(error, match=rf"Call streammetrics.engines.{engine}.evaluate\(data, task\)\.$"):
            call(Frame(), task)


@pytest.mark.parametrize("option", ["labels", "order"])
def test_a_number_of_labels_is_not_a_list_of_them(option):
    with pytest.raises(sm.SpecificationError, match=f"{option}= must be a list of all labels, .*, got 3"):
        sm.multiclass(y_true="y", y_score="p", **{option: 3})


def test_a_mapping_of_groups_names_the_alias():
    fix = r"Pass a list instead of the mapping .*, pass pl.col\('day'\).alias\('week'\)\.$"
    with pytest.raises(sm.SpecificationError, match=fix):
        sm.binary(y_true="y", y_score="p", by={"week": "day"})
    with pytest.raises(sm.SpecificationError, match=fix):
        sm.binary(y_true="y", y_score="p", by="day").rollup({"week": "day"})


def test_states_with_other_groups_are_named(folder):
    sm.accumulate("clicks.csv", sm.binary(y_true="clicked", y_score="p_click", by="clicked")).save("by.state")
    message = failed("merge", "by.state", "clicks.state", "-o", "all.state")
    assert message == (
        "Error: Cannot merge 'by.state' and 'clicks.state'. The first is grouped by 'clicked', "
        "and the second is not grouped. Evaluate both with the same --by, or roll up: acc.rollup()."
    )


def test_other_files_of_a_folder_of_states(folder):
    Path("clicks.csv").rename("history/rows.csv")
    message = r"'history/rows.csv': not a Parquet .* To load only the states of the folder, pass 'history/\*.state'\.$"
    with pytest.raises(sm.StateError, match=r"'history/rows.csv': not a .* use evaluate\.$"):
        sm.Accumulator.load("history")
    Path("clicks.state").rename("history/clicks.state")
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.load("history")
    assert sm.Accumulator.load("history/*.state").seen == 2


def test_group_columns_and_percentages_in_requirements(folder):
    sm.accumulate("clicks.csv", sm.binary(y_true="clicked", y_score="p_click", by="clicked")).save("by.state")
    assert "Did you mean 'clicked'? Group columns: clicked." in failed("show", "by.state", "--by", "click")
    assert failed("check", "by.state", "--require", "roc_auc>=70%").endswith("'mae <= 3'. For 70%, pass 0.7.")
