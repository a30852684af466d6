"""README, docs and examples run as they stand."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from streammetrics.cli import main
from streammetrics.demo import write_predictions

ROOT = Path(__file__).parent.parent


@pytest.fixture
def predictions(tmp_path, monkeypatch):
    write_predictions(tmp_path / "predictions", rows=60_000)
    monkeypatch.chdir(tmp_path)


def blocks():
    """Language and text of each block of the README, from the top."""
    return re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.usefixtures("predictions")
def test_the_readme_runs_from_the_top():
    names, commands = {"__name__": "readme"}, 0
    for language, block in blocks():
        if language == "python":
            exec(compile(block, "README.md", "exec"), names)
        for command in block.splitlines() if language == "sh" else ():
            if command.startswith("streammetrics"):
                result = CliRunner().invoke(main, shlex.split(command)[1:])
                assert result.exit_code == 0, f"{command}\n{result.output}"
                commands += 1
    assert commands >= 15


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path, capsys):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
