"""Fixtures of several files."""

import shutil

import pytest
from commands import BREACHED, COLUMNS, HOLDING, run

import streammetrics as sm
from streammetrics.demo import write_predictions


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_predictions(folder / "days", rows=20_000)
    run("evaluate", folder / "days", *COLUMNS, "--by", "country", "--save", folder / "state")
    for name, day in (("monday", "2026-01-05"), ("tuesday", "2026-01-06")):
        by = ["--by", "day", "--by", "country", "--save", folder / f"{name}.state"]
        run("evaluate", folder / f"days/{day}.parquet", *COLUMNS, *by)
    return folder


@pytest.fixture(scope="session")
def two_models(folder):
    """A state of two models, with two thresholds."""
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--threshold", "0.5", "--threshold", "0.3"]
    by = ["--by", "day", "--by", "country"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, *by, "--save", folder / "by day.state")
    sm.Accumulator.load(folder / "by day.state").rollup().save(folder / "two.state")
    return folder / "two.state"


@pytest.fixture
def days(folder, tmp_path, monkeypatch):
    """A folder with the states of two days, and rules."""
    monkeypatch.chdir(tmp_path)
    for name in ("monday.state", "tuesday.state"):
        shutil.copy(folder / name, name)
    (tmp_path / "rules.toml").write_text(HOLDING)
    (tmp_path / "breached.toml").write_text(BREACHED)
    return tmp_path


@pytest.fixture(scope="session")
def two_days(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("two days") / "history"
    run("store", "append", store, folder / "monday.state", folder / "tuesday.state")
    return store


@pytest.fixture
def history(days, two_days):
    shutil.copytree(two_days, days / "history")
    return sm.MetricStore(days / "history")
