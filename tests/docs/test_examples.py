"""Each example runs from an empty directory, and prints something."""

import runpy
from pathlib import Path

import pytest

FILES = {path.name: path for path in sorted((Path(__file__).parents[2] / "examples").glob("*.py"))}


def test_examples_are_short():
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES.values()) < 70


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [name for name in FILES if name not in ("monitor.py", "redis_stream.py", "service.py")]
)
def test_examples_run_and_leave_nothing_else(name, folder, capsys):
    runpy.run_path(str(FILES[name]), run_name="__main__")
    assert capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} <= {"segments.html"}


@pytest.mark.thorough
def test_the_monitor_finds_the_drift_on_its_day_and_ends_with_a_failing_check(folder, capsys):
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FILES["monitor.py"]), run_name="__main__")
    assert end.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line[:10] for line in lines[:4]] == ["2026-01-20", "2026-01-21", "2026-01-23", ""]  # each once
    assert all("is breached for source app" in line for line in lines[:3])
    assert [" app " in f" {line}" for line in lines if "✗ breached" in line] == [True] * 4
    assert sum(": evidence since 2026-01-20, e-value " in line for line in lines) == 2
    assert sum(line.count("✓ holds") for line in lines) == 7
    assert len(lines) < 60
    assert {path.name for path in folder.iterdir()} >= {"scores", "scores.toml", "quality", "quality.toml"}
