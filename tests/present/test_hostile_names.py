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
    if form == "json":
        rows, expected = json.loads(hostile), json.loads(plain)
        assert [row.keys() for row in rows] == [row.keys() for row in expected]
        if "g" in rows[0]:
            assert {row["g"] for row in rows} == {*NAMES}
    elif form == "csv":
        rows, expected = (list(csv.DictReader(StringIO(text, newline=""))) for text in (hostile, plain))
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


@pytest.mark.parametrize("name", ["a|b.state", "::error::x.state", "<script>.state", "a\nb.state", "pass unit=7.state"])
def test_names_of_files(name, tmp_path):
    path = tmp_path / name
    sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.2, 0.8]}).save(path)
    check = ["check", path, "--bounds-only", "--require", "accuracy>=1", "--format"]
    suite = ElementTree.fromstring(run([*check, "junit"]).encode()).find("testsuite")
    assert suite.get("name") == f"streammetrics check {path}".replace("\n", "\\n")
    assert run([*check, "github"]).count("\n::") == 1
    compared = ["compare", path, path, "--independent", "--metric", "accuracy", "--format"]
    assert run([*compared, "markdown"]).rpartition("\n| metric |")[2].count("\n|") == 2
    assert len(pl.read_csv(StringIO(run([*compared, "csv"])))) == 1
    result = CliRunner().invoke(main, ["show", str(tmp_path / "none" / name)])
    assert result.exit_code == 2
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("form", ["json", "csv"])
def test_values_that_are_not_finite_are_valid_in_every_parser(form, tmp_path):
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [0.0, 1.0], "p": [1.0, 1.0]})
    acc.save(tmp_path / "a.state")
    shown = run(["show", tmp_path / "a.state", "--metric", "mape", "--metric", "r2", "--format", form])
    if form == "json":
        json.loads(shown, parse_constant=lambda name: pytest.fail(name))
    else:
        assert pl.read_csv(StringIO(shown))["value"].dtype == pl.Float64


REMARKS = (
    "too few rows of a class",
    "no interval: too few rows of a class",
    "on these rows",
    "no interval of the difference: x",
    "breached alone",
    "no number of rows decides it, with these bounds",
    "no number of rows decides a value at the limit",
    "no window starts in this period",
    "newer windows are in an incomplete period",
)


def own_metric(name, note):
    """The name of a metric of a user, with a note, and a reason for having no interval."""

    def own(tp, fp):
        return tp / (tp + fp)

    own.__name__ = name
    made = sm.metric(range=(0, 1), better="high", interval=note or "unknown")(own)
    made.note(lambda tp: pl.lit(note))
    return name


def test_notes_of_users_change_no_verdict():
    rows = {"y": [1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 25}
    acc = sm.binary(y_true="y", y_score="p").update(rows)
    for number, remark in enumerate(REMARKS):
        names = [own_metric(f"noted_{number}", remark), own_metric(f"plain_{number}", None)]
        for confidence in (None, 0.95):
            found = [acc.finalize([name]).check(f"{name} >= 0.2", confidence=confidence) for name in names]
            assert [verdicts.frame["verdict"].item() for verdicts in found] == ["holds"] * 2, remark
            noted, plain = (str(verdicts).split(name)[-1].split() for verdicts, name in zip(found, names, strict=True))
            assert noted == plain
            assert found[0].frame["note"].item().startswith(remark)


@pytest.mark.parametrize("remark", REMARKS)
def test_names_of_models_change_no_verdict(remark):
    rows = {"y": [1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 25, "q": [0.9, 0.3, 0.8, 0.1] * 25}
    texts = []
    for name in (remark, "old"):
        acc = sm.binary(y_true="y", y_score={name: "p", "new": "q"}).update(rows | {"y": [0] * 100})
        gate = sm.compare(acc, models=(name, "new")).check(not_worse={"recall": "1%", "roc_auc": 0.01, "accuracy": 0.5})
        texts.append(str(gate).replace(name, "old"))
    assert re.sub(r"\W+", " ", texts[0]) == re.sub(r"\W+", " ", texts[1])


@pytest.mark.parametrize("name", ["5%", "not worse by 5%", "x before labels"])
def test_names_of_models_change_no_number_of_a_rule(name, tmp_path):
    rows = {"y": [1, 0] * 20, "p": [0.9, 0.6, 0.4, 0.1] * 10, "day": [date(2026, 1, 1)] * 40}
    for model in (name, "old"):
        store = sm.MetricStore(tmp_path / str(len(model)))
        store.append(sm.binary(y_true="y", y_score={model: "p", "b": "p"}, by="day").update(rows), batch_id="b")
        found = sm.check(store, sm.Rule("roc_auc >= 0.5", model=model))
        assert "0.75" in str(found)
        assert "%" not in str(found).replace(name, "")
        assert found.frame["reasons"].to_list() == [[]]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("models", [("equal", "new"), ("new", "equal")])
def test_a_model_can_be_named_equal(models, tmp_path):
    """Its name is in quotes, which `equal` for equal values is not."""
    rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
    acc = sm.binary(y_true="y", y_score={"equal": "q", "new": "p"}).update(rows)
    found = sm.compare(acc, models=models, metrics=["accuracy", "prevalence"])
    assert found.frame["better"].to_list() == ["'equal'", "equal"]
    assert str(found.findings()[0]).startswith("'equal' is better: accuracy")
    assert found.check(better="accuracy").hold is (models[1] == "equal")
    found.save_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&#x27;equal&#x27; is better" in page or "'equal' is better" in page
