"""Texts of commands: their outlines at every width and in every format, and that all formats say the same."""

import json
import re
from xml.etree import ElementTree

import polars as pl
import pytest
from commands import run
from data import CANDIDATES, candidates
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from outputs import TEXTS, acc, compared, printed, report, state, text
from structure import written

import streammetrics as sm

WIDTHS = ("2000", "45", "50", "70", "100")
QUICK = ("show groups", "check", "store check")  # in the base suite
COMMANDS = [pytest.param(command, marks=[pytest.mark.thorough] * (command not in QUICK)) for command in TEXTS]


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_its_outline_at_any_width(command):
    assert "\n".join(f"{form}\n{outline}" for form, outline in text(command).items()) == written(command)
    for width in (60, 120):
        assert max(map(len, printed(command, "--width", str(width)).splitlines())) <= width


def words(text):
    """The words of the cells of a table, whatever the columns they are in."""
    return sorted(word for line in text.splitlines() for word in line.split() if word.strip("─"))


def test_no_word_of_a_verdict_is_cut_at_any_width():
    """The board has all groups in each of these widths."""
    heads = {"rule", "country", "value", "90%", "interval", "verdict"}
    wide, *narrow = (printed("check", "--width", width).replace("(", " ").replace(")", " ") for width in WIDTHS)
    for shown in narrow:
        assert [word for word in words(shown) if word not in heads] == [w for w in words(wide) if w not in heads]


def test_every_format_has_the_verdicts():
    rows = json.loads(printed("check", "--format", "json"))
    frame = report("two classes").check(["roc_auc >= 0.81", "ece <= 0.01"]).frame
    assert [row["verdict"] for row in rows] == frame["verdict"].to_list()
    assert [row["value"] for row in rows] == frame["value"].to_list()
    suites = ElementTree.fromstring(printed("check", "--format", "junit").encode())
    cases = [*suites.iter("testcase")]
    tags = {"breached": ["failure"], "open": ["skipped"], "holds": []}
    assert [[part.tag for part in case] for case in cases] == [tags[row["verdict"]] for row in rows]
    assert [case.get("name") for case in cases] == [row["where"] for row in rows]
    assert {suites.get("tests"), *(suite.get("tests") for suite in suites)} == {str(len(rows))}
    assert suites.get("failures") == str(sum(not row["passes"] for row in rows))
    told = re.findall("^::(?:error|notice) title=(.*?)::", printed("check", "--format", "github"), re.MULTILINE)
    assert sorted(told) == sorted(row["rule"] for row in rows if row["verdict"] != "holds")
    assert printed("check", "--format", "markdown").count("| breached") == frame["verdict"].to_list().count("breached")


def test_github_shows_ten_annotations_of_a_level_and_counts_the_others():
    check = ["check", state("many groups"), "--bounds-only", "--require", "roc_auc >= 0.999", "--format", "github"]
    lines = [line for line in run(*check, code=1).splitlines() if line.startswith("::error")]
    assert len(lines) == 10
    assert lines[-1].endswith("and 16 more")
    warned = run(*check, "--open", "fail", code=1)
    assert warned.count("\n::error") + warned.startswith("::error") == 10


def test_summaries_of_steps_are_added_to(tmp_path):
    summary, steps = tmp_path / "summary.md", {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    check = ["check", state("two classes"), "--format", "github", "--require"]
    run(*check, "rows >= 1", **steps)
    run(*check, "rows >= 1000", code=1, **steps)
    assert summary.read_text(encoding="utf-8").count("| rule |") == 2
    show = ["show", state("errors"), "--metric", "mae", "--format"]
    (tmp_path / "summary.md").unlink()
    assert run(*show, "github", **steps) == run(*show, "table")
    assert summary.read_text(encoding="utf-8").strip() == run(*show, "markdown").strip()
    run(*check, "rows >= 1", code=2, GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "summary.md"))


def test_outputs_are_files_and_the_log_says_what_failed(tmp_path):
    path = tmp_path / "found.xml"
    check = ["check", state("two classes"), "--bounds-only", "--format", "junit", "-o", path, "--require"]
    assert run(*check, "rows >= 1") == ""
    assert f"1 of 3 verdicts, see {path}" in run(*check, "rows >= 1000", code=1)
    assert ElementTree.parse(path).getroot().get("failures") == "1"


@pytest.mark.thorough
def test_wide_markdown_is_several_tables_and_always_whole():
    narrow, wide = (
        printed("show errors", "--format", "markdown", "--width", "40"),
        printed("show errors", "--format", "markdown"),
    )
    assert narrow.count("\n| route | model | metric |") > 1
    rows = json.loads(printed("show errors", "--format", "json"))
    for markdown in (narrow, wide):
        assert all(row["note"] in markdown for row in rows if row["note"])
        assert "…" not in markdown


def places(size, seed, score="new"):
    rows = candidates().sample(fraction=1, shuffle=True, seed=seed).with_columns(place=pl.int_range(pl.len()) % size)
    return sm.binary(by="place", y_true="clicked", y_score=score).update(rows)


@pytest.mark.thorough
def test_many_groups_of_a_comparison_are_a_total_and_one_metric_of_each():
    found = sm.compare(places(45, 1), places(45, 2, "old"), independent=True)
    first, second = str(found).split("\n\n", 1)[1].split("Each group, roc_auc:")
    assert first.strip() == str(sm.compare(found.a.rollup(), found.b.rollup(), independent=True)).strip()
    listed = [int(place) for place in re.findall(r"^(\d+) ", second, re.MULTILINE)]
    assert listed == sorted(listed)
    assert len(listed) == 40
    decided = found.frame.filter(pl.col("better").is_in(["a", "b"]), metric="roc_auc")["place"]
    assert {*decided} <= {*listed}
    assert "5 more groups" in second
    named = str(sm.compare(found.a, found.b, metrics=["roc_auc", "f1"]))
    assert named.count("roc_auc") == named.count("f1") == 40
    few = sm.compare(places(4, 1), places(4, 2), metrics=["roc_auc", "f1", "ece"])
    assert len(re.findall(r"^\d ", str(few), re.MULTILINE)) == 12


def test_columns_and_notes_that_say_nothing_are_left_out():
    models = {"models": ("forecast", "naive"), "metrics": ["mae", "bias"], "confidence": None}
    header = str(sm.compare(acc("errors").rollup(), **models)).splitlines()[0]
    assert "threshold" not in header
    assert "interval" not in header
    rows = {"y": [1, 0, 1, 1], "p": [0.9, 0.4, 0.6, 0.2], "g": ["a", "a", "b", "b"]}
    task = sm.binary(y_true="y", y_score="p", by="g").update(rows)
    for metrics, told in ((["roc_auc", "rows"], True), (["recall", "rows"], False)):
        assert ("Undefined" in str(task.finalize(metrics))) == told
    for metrics, told in ((["recall_at_fpr"], True), (["recall_at_fpr(fpr=0.1)", "roc_auc"], False)):
        assert ("(fpr=0.01)" in str(task.finalize(metrics))) == told
    thresholds = sm.binary(y_true="y", y_score="p", by="g", thresholds=[0.3, 0.5]).update(rows).finalize()
    assert "recall @ 0.3" in str(thresholds)
    assert "prevalence @" not in str(thresholds)


def test_differences_without_intervals_say_what_to_do():
    sides = sm.compare(acc("two classes"), acc("other days"))
    assert "as independent" in str(sides)
    assert sm.compare(acc("two classes"), acc("other days"), independent=True).note is None
    assert compared().note is None
    weighted = sm.binary(**CANDIDATES, sample_weight="w").update(candidates().with_columns(w=2.0))
    assert "with a unit" in sm.compare(weighted, models=("old", "new")).note


FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)


@settings(max_examples=50)
@given(value=FINITE, below=st.floats(1e-9, 1e3), above=st.floats(1e-9, 1e3), width=st.floats(1e-9, 1e3))
@example(value=0.8541234, below=1e-4, above=2e-4, width=0.01)
def test_printed_bounds_contain_the_bounds(value, below, above, width):
    lower, upper = value - below, value + above
    assume(below + above > 1e-6 * abs(value))  # others are exact but for rounding
    shown = repr(sm.Estimate(value, lower, upper, None, value - width, value + width))
    numbers = dict(re.findall(r"(\w+)=([^,)]+)", shown))
    room = 1e-9 * abs(value)
    assert float(numbers["lower"]) <= lower + room
    assert float(numbers["upper"]) >= upper - room
    assert float(numbers["value"]) == pytest.approx(value, rel=1e-5, abs=width + below + above)
    assert float(numbers["lower"]) == pytest.approx(lower, rel=1e-5, abs=below + above)
