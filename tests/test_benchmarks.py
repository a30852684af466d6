"""The benchmarks run, and find the answers of the peers right; how fast is not asked here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "benchmarks" / "run.py"


@pytest.mark.thorough
def test_benchmarks_run_on_few_rows(tmp_path):
    cases = [
        f"--only={name}"
        for name in (
            "out_of_core",
            "by_country",
            "thresholds",
            "memory",
            "error_tables",
            "regression_out_of_core",
            "ten_classes",
            "many_groups",
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
    of_peers = [f for f in figures if f["what"].startswith(("from Parquet", "in memory"))]
    assert len(of_peers) >= 24  # as many as are installed
    assert len(figures) - len(of_peers) == 45
    assert done.stdout.count("\n") == len(figures) + 2
