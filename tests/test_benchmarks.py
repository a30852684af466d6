"""The benchmarks run, agree with the answers of the peers, and print the rows of the docs. Times do not matter here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "benchmarks" / "run.py"
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


@pytest.mark.thorough
def test_benchmarks_run_on_few_rows(tmp_path):
    cases = [
        f"--only={name}"
        for name in (
            "out_of_core",
            "by_country",
            "thresholds",
            "memory",
            "states",
            "error_tables",
            "regression_out_of_core",
            "ten_classes",
            "many_groups",
            "memory_of_groups",
            "read_histories",
            "compact_histories",
            "peers",
        )
    ]
    command = [
        sys.executable,
        RUN,
        "--rows=30000",
        "--rounds=1",
        f"--folder={tmp_path}",
        f"--json={tmp_path / 'out.json'}",
        *cases,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    of_peers = [f for f in figures if "Brier score" in f["table"]]
    assert len(of_peers) >= 24  # as many as are installed
    assert len(figures) - len(of_peers) == 53
    page = PAGE.read_text()
    printed = {f["table"] for f in figures if f"**{f['table']}**\n" in page}
    assert len(printed) == 8
    for figure in figures:
        assert f"**{figure['table']}**\n" in done.stdout
        assert f"| {figure['row']} | " in done.stdout
        assert figure["table"] not in printed or f"| {figure['row']} | " in page
