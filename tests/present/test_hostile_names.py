"""Names of groups, models, labels, files, and rules leave in every format as data, and as nothing else."""

import csv
import json
import re
import shlex
import sys
from datetime import date
from io import StringIO
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

import streammetrics as sm
from streammetrics.cli import main

NAMES = [
    "::error::x",
    "a\n::error::x",
    "::add-mask::a",
    "##[error]x",
    "a|b",
    "<script>alert(1)</script>",
    "]]>",
    'quoted "name", with a comma',
    "back\\slash",
    "new\nline\rreturn",
    "$(touch owned) `touch owned`",
    "=1+1",
    "../../etc",
    "%0A",
    "pass unit=7, pass --unit 7",
    "\x00\x1b[31m",
    "\ud7ff\ufffe",
    "\u202eright to left",
    "NaN",
    "null",
    "",
]
PLAIN = [f"name {i}" for i in range(len(NAMES))]


def evaluated(names):
    rows = {"y": [1, 0] * len(names), "p": [0.2, 0.8] * len(names), "g": [*names, *names]}
    rows["day"] = [date(2026, 1, 5)] * len(rows["y"])
    return sm.binary(y_true="y", y_score={names[0]: "p", names[4]: "p"}, by=["day", "g"]).update(rows)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A state and a history with hostile names, and the same with plain ones."""
    found = []
    for names in (NAMES, PLAIN):
        folder = tmp_path_factory.mktemp("names")
        acc = evaluated(names)
        acc.save(folder / "a.state")
        acc.save(folder / "b.state")
        sm.MetricStore(folder / "history", window="day").append(acc, batch_id=names[3])
        rules = f"[[rule]]\nrequire = 'accuracy >= 0.9'\nby = 'g'\nname = {json.dumps(names[1])}\n"
        (folder / "rules.toml").write_text(rules)
        found.append(folder)
    return found


def show(folder, *options):
    return ["show", folder / "a.state", "--metric", "accuracy", "--confidence", "0.9", *options]


COMMANDS = {
    "show": show,
    "check": lambda folder, *options: [
        *("check", folder / "a.state", "--bounds-only", "--require", "accuracy>=1", *options),
    ],
    "compare": lambda folder, *options: [
        *("compare", folder / "a.state", folder / "b.state", "--independent", "--metric", "accuracy", *options),
    ],
    "store check": lambda folder, *options: ["store", "check", folder / "history", folder / "rules.toml", *options],
    "store report": lambda folder, *options: ["store", "report", folder / "history", "--metric", "accuracy", *options],
}
FORMS = {
    "show": ("table", "json", "csv", "markdown", "github"),
    "check": ("table", "json", "csv", "markdown", "github", "junit"),
    "compare": ("table", "markdown"),
    "store check": ("table", "markdown", "github", "junit"),
    "store report": ("table", "github"),
}


def run(arguments, **env):
    result = CliRunner(env={"GITHUB_STEP_SUMMARY": None} | env).invoke(main, [str(a) for a in arguments])
    assert result.exit_code in (0, 1), result.output
    return result.stdout


@pytest.mark.parametrize(("name", "form"), [(name, form) for name in COMMANDS for form in FORMS[name]])
def test_output_has_the_structure_that_it_has_with_plain_names(name, form, folders, tmp_path):
    hostile, plain = (run(COMMANDS[name](folder, "--format", form, "--width", "2000")) for folder in folders)
    readers = {"json": json.loads, "csv": lambda text: list(csv.DictReader(StringIO(text, newline="")))}
    if form in readers:
        rows, expected = readers[form](hostile), readers[form](plain)
        assert [row.keys() for row in rows] == [row.keys() for row in expected]
        if "g" in rows[0]:
            assert {row["g"] for row in rows} == {*NAMES}
    elif form == "junit":
        ours, theirs = (list(ElementTree.fromstring(text.encode()).iter()) for text in (hostile, plain))
        assert sorted(part.tag for part in ours) == sorted(part.tag for part in theirs)
        assert [part.tag for part in ours].count("testcase") == 2 * len(NAMES)
    else:
        lines = [line for line in hostile.split("\n") if not re.match("::(stop-commands::)?[0-9a-f]{32}(::)?$", line)]
        assert len(lines) == len(plain.split("\n"))
        assert "\r" not in hostile
        assert "\x1b[31m" not in hostile
        assert "\x00" not in hostile
        if form == "markdown":
            ours, theirs = (
                [len(re.findall(r"(?<!\\)\|", line)) for line in some if line.startswith("|")]
                for some in (lines, plain.split("\n"))
            )
            assert ours == theirs
            assert not re.search(r"(?<!\\)<", hostile)


@pytest.mark.parametrize("name", [name for name, forms in FORMS.items() if "github" in forms])
def test_names_are_no_workflow_commands(name, folders, tmp_path):
    summary = tmp_path / "summary"
    printed = run(COMMANDS[name](folders[0], "--format", "github"), GITHUB_STEP_SUMMARY=str(summary))
    active, token = True, None
    for line in printed.splitlines():
        if found := re.fullmatch("::stop-commands::([0-9a-f]{32})", line):
            active, token = False, found[1]
        elif line == f"::{token}::":
            active = True
        elif active and (line.lstrip().startswith("::") or "##[" in line):
            assert re.match(
                "::(error|warning|notice) title=accuracy|::(error|warning|notice) title=a|::error::…", line
            ), line
    assert not re.search(r"(?<!\\)<script", summary.read_text())
    after = printed.partition(f"\n::{token}::\n")[2].splitlines()
    assert all(re.match("::(error|warning|notice) (title=|::)|::error::…|$", line) for line in after)


def test_names_are_labels_of_prometheus(folders):
    report = sm.Accumulator.load(folders[0] / "a.state").finalize("accuracy")
    texts = [sm.export.to_prometheus(report), run(show(folders[0], "--format", "prometheus"))]
    for text in texts:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        assert {sample.labels.get("g", "") for sample in samples} == {*NAMES}
        assert {sample.labels["model"] for sample in samples} == {NAMES[0], NAMES[4]}


def test_names_reach_the_command_of_a_breach_as_data(folders, tmp_path):
    code = f"import sys; open({str(tmp_path / 'said')!r}, 'w', encoding='utf8').write(sys.stdin.read())"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    run([*COMMANDS["store check"](folders[0]), "--on-breach", command])
    said = json.loads((tmp_path / "said").read_text(encoding="utf8"))
    assert len(said) == 2 * len(NAMES)
    assert {row["name"] for row in said} == {NAMES[1]}
    assert not [path for path in folders[0].rglob("*") if "owned" in path.name]


def test_histories_keep_names(folders):
    store = sm.MetricStore(folders[0] / "history", window="day")
    assert {*store.query(by="g").finalize("rows").frame["g"]} == {*NAMES}
    assert store.windows().height == 1


@pytest.mark.thorough
def test_names_of_files(tmp_path):
    acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.2, 0.8]})
    for name in ("a|b.state", "::error::x.state", "<script>.state", "a\nb.state", "pass unit=7.state"):
        path = tmp_path / name
        acc.save(path)
        check = ["check", path, "--bounds-only", "--require", "accuracy>=1", "--format"]
        suite = ElementTree.fromstring(run([*check, "junit"]).encode()).find("testsuite")
        assert suite.get("name") == f"streammetrics check {path}".replace("\n", "\\n")
        assert run([*check, "github"]).count("\n::") == 1
        compared = ["compare", path, path, "--independent", "--metric", "accuracy", "--format"]
        assert run([*compared, "markdown"]).rpartition("\n| metric |")[2].count("\n|") == 2
        result = CliRunner().invoke(main, ["show", str(tmp_path / "none" / name)])
        assert (result.exit_code, len(result.output.splitlines())) == (2, 1)


def test_values_that_are_not_finite_are_valid_in_every_parser(tmp_path):
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [0.0, 1.0], "p": [1.0, 1.0]})
    acc.save(tmp_path / "a.state")
    show = ["show", tmp_path / "a.state", "--metric", "mape", "--metric", "r2", "--format"]
    json.loads(run([*show, "json"]), parse_constant=lambda name: pytest.fail(name))
    assert pl.read_csv(StringIO(run([*show, "csv"])))["value"].dtype == pl.Float64


def test_a_model_can_be_named_equal():
    """Its name is in quotes, which `equal` for equal values is not."""
    rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
    acc = sm.binary(y_true="y", y_score={"equal": "q", "new": "p"}).update(rows)
    for models in (("equal", "new"), ("new", "equal")):
        found = sm.compare(acc, models=models, metrics=["accuracy", "prevalence"])
        assert found.frame["better"].to_list() == ["'equal'", "equal"]
        assert str(found.findings()[0]).startswith("'equal' is better: accuracy")
        assert found.check(better="accuracy").hold is (models[1] == "equal")
