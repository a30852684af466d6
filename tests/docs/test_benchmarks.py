"""The benchmarks run, agree with the answers of the peers, and print the rows of the docs. Times do not matter here."""

import json
import subprocess
import sys
from pathlib import Path

import grid
import pytest
from click.testing import CliRunner

RUN = Path(__file__).parents[1] / "bench" / "run.py"
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


@pytest.mark.thorough
def test_benchmarks_run_on_few_rows(tmp_path):
    cases = ("out_of_core", "by_country", "thresholds", "memory", "states", "imports", "error_tables")
    cases += ("regression_out_of_core", "ten_classes", "many_groups", "read_histories", "compact_histories", "peers")
    options = ["--rows=30000", "--rounds=1", f"--folder={tmp_path}", f"--json={tmp_path / 'out.json'}"]
    command = [sys.executable, RUN, *options, *(f"--only={case}" for case in cases)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    of_peers = [f for f in figures if "Brier score" in f["table"]]
    assert len(of_peers) >= 16  # this library and DuckDB; as many more as are installed
    assert len(figures) - len(of_peers) == 36
    page = PAGE.read_text()
    printed = {f["table"] for f in figures if f"**{f['table']}**\n" in page}
    assert len(printed) == 10
    for figure in figures:
        assert f"**{figure['table']}**\n" in done.stdout
        assert f"| {figure['row']} | " in done.stdout
        assert figure["table"] not in printed or f"| {figure['row']} | " in page


@pytest.mark.thorough
def test_another_installation_runs_the_same_cases_beside(tmp_path):
    options = ["--rows=30000", "--rounds=2", f"--folder={tmp_path}", f"--json={tmp_path / 'out.json'}"]
    command = [sys.executable, RUN, *options, "--only=out_of_core", f"--beside={sys.executable}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    assert len(figures) == 4
    assert all(figure["beside"] > 0 for figure in figures)
    of_bounds = next(figure for figure in figures if "ROC AUC" in figure["row"])
    assert of_bounds["beside"] == of_bounds["value"]
    assert done.stdout.count(" beside ") == 4


def test_a_cliff_in_the_grid_is_an_error(monkeypatch):
    monkeypatch.setattr(grid, "measured", lambda groups, capacity, rows: (30 if groups < 50 else 61, 0.5))
    axes = ["--groups=1", "--groups=10", "--groups=50", "--capacity=256", "--capacity=1024", "--rows=1000000"]
    done = CliRunner().invoke(grid.main, axes)
    assert done.exit_code == 1
    assert "(10, 256, 1000000) and (50, 256, 1000000)" in done.output
    assert "(1, 256" not in done.output.partition("Error")[2]
    assert CliRunner().invoke(grid.main, [*axes[:2], *axes[3:]]).exit_code == 0


@pytest.mark.thorough
def test_a_cell_of_the_grid_is_measured():
    nanoseconds, memory = grid.measured(3, 64, 10_000)
    assert nanoseconds > 1
    assert memory > 0.05
