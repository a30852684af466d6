"""README and docs run as they stand."""

import contextlib
import io
import itertools
import re
import shlex
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from streammetrics.cli import main
from streammetrics.demo import write_predictions

ROOT = Path(__file__).parents[2]
PRINTING = {  # pages, and how many outputs they show
    "calibration": 3,
    "ci": 1,
    "compare": 5,
    "evaluate": 1,
    "faq": 2,
    "findings": 1,
    "index": 1,
    "integrations": 4,
    "late-labels": 7,
    "out-of-core": 1,
    "rules": 1,
    "segments": 3,
    "thresholds": 2,
    "uncertainty": 5,
}

REQUIRED = {
    "integrations": ("prometheus_client", "mlflow", "matplotlib", "sklearn"),
    "out-of-core": ("duckdb",),
}


def blocks(page):
    """Language and text of each block, from the top."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^( *)```(\w+)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return [(language, textwrap.dedent(block)) for _, language, block in found]


def played(page):
    """Run a page from the top; after each block, its language, its text and all that has been printed so far.

    Of commands those of streammetrics are run; only a check of a history may fail. A block of TOML is a file, whose
    name is its first line.
    """
    module, printed = ModuleType(re.sub(r"\W", "_", page)), io.StringIO()
    sys.modules[module.__name__] = module  # so that what it defines can be pickled
    for language, block in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(block, page, "exec"), vars(module))
        if language == "toml":
            Path(re.match(r"# (\S+\.toml)\n", block).group(1)).write_text(block)
        for command in block.splitlines() if language == "sh" else ():
            if command.startswith("streammetrics"):
                result = CliRunner().invoke(main, shlex.split(command)[1:])
                passes = (0, 1) if " check " in command else (0,)  # of fewer rows than the page has
                assert result.exit_code in passes, f"{command}\n{result.output}"
                printed.write(result.output)
        yield language, block, printed.getvalue()


def test_commands_name_existing_files():
    for page in (ROOT / "docs").rglob("*.md"):
        named = (re.findall(r"^python (tests/\S+)", block, re.MULTILINE) for _, block in blocks(page))
        assert [name for names in named for name in names if not (ROOT / name).is_file()] == [], page
        assert "python -m tests." not in page.read_text("utf-8"), page


@pytest.mark.thorough
def test_the_readme_runs_from_the_top(folder):
    write_predictions(folder / "predictions", rows=400_000)  # enough for verdicts
    page = list(played("README.md"))
    commands = [line for language, block, _ in page if language == "sh" for line in block.splitlines()]
    assert sum(command.startswith("streammetrics") for command in commands) == 4
    said = next(block for language, block, _ in page if language == "text" and block.startswith("country  "))
    assert groups(said) == groups(page[-1][2])


def groups(text):
    """The head of the last table, and its groups, in any order, since verdicts depend on the number of rows."""
    head, _, *lines = text[text.rindex("country  ") :].splitlines()
    listed = itertools.takewhile(lambda line: not line.startswith(("Failing: ", "Undecided, ")), lines)
    return head.split(), sorted(line.split()[0] for line in listed if not line.startswith(" "))


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
def test_monitoring_runs_from_the_top_and_prints_what_it_says():
    outputs = [(block, printed) for language, block, printed in played("docs/monitoring.md") if language == "text"]
    assert len(outputs) == 4
    for block, printed in outputs:
        assert block in printed
    assert sum("e-value" in line for line in outputs[1][0].splitlines()) == 1


@pytest.mark.parametrize(("page", "tables"), PRINTING.items())
@pytest.mark.usefixtures("folder")
def test_pages_run_from_the_top_and_print_what_they_say(page, tables):
    for package in REQUIRED.get(page, ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    outputs = [(block, printed) for language, block, printed in played(f"docs/{page}.md") if language == "text"]
    assert len(outputs) == tables
    for block, printed in outputs:
        assert block in printed


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "flwr"])
def test_answers_about_training_run(package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    (_, data), *others = blocks("docs/faq.md")
    [block] = [block for _, block in others if re.match(rf"(import|from) {package}\b", block)]
    exec(compile(data + block, "docs/faq.md", "exec"), {})


MORE_IS_ASKED = {"monitoring", *PRINTING}
PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"), reverse=True)
    if "```python" in page.read_text(encoding="utf-8") and page.stem not in MORE_IS_ASKED
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
@pytest.mark.usefixtures("folder")
def test_pages_run_from_the_top(page):
    assert "python" in [language for language, _, _ in played(f"docs/{page.name}")]


def test_calls_of_the_table_by_purpose_exist():
    """Python calls and arguments are public, and options belong to some command."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    api = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8")
    known = {"sm": "streammetrics.", "report": "streammetrics.Report.", "acc": "streammetrics.Accumulator."}
    calls = re.findall(r"\b(sm|report|acc)\.(plot\.\w+|\w+)", re.sub(r"\]\([^)]*\)", "", text))
    assert len(calls) > 30
    for owner, name in calls:
        assert known[owner] + name in api or name.startswith("plot."), (owner, name)
    commands = main.commands | {f"store {name}": command for name, command in main.commands["store"].commands.items()}
    options = {option for command in commands.values() for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"(?<=[` ])--[a-z-]+", text)) <= options
    assert set(re.findall(r"`streammetrics ((?:store )?[a-z-]+)", text)) <= {*commands}
