"""Verdicts in the forms of CI systems: each rule and group once, and what fails the check fails there."""

import json
import re
from xml.etree import ElementTree

import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics.present.github import commands
from streammetrics.present.junit import junit
from streammetrics.present.markdown import as_markdown
from streammetrics.present.table import of_frame
from streammetrics.present.verdicts import every_verdict, outcomes

ROW = {"name": None, "severity": "page", "windows": "2026-01-05", "where": "", "value": 0.5, "lower": 0.5, "upper": 0.5}
ROW |= {"ci_lower": None, "ci_upper": None, "since": None, "e_value": None, "note": None, "description": None}
VERDICTS = pl.DataFrame(
    [
        ROW | {"rule": "a >= 0.1", "verdict": "holds", "passes": True},
        ROW | {"rule": "b >= 0.8", "verdict": "breached", "passes": False, "where": "source a|b, <c>: 100%\n"},
        ROW | {"rule": "c >= 0.8", "verdict": "breached", "passes": True, "severity": "warn", "name": "x:y,z"},
        ROW | {"rule": "d >= 0.5", "verdict": "open", "passes": True, "ci_lower": 0.4, "ci_upper": 0.6},
        ROW | {"rule": "e >= 0.5", "verdict": "open", "passes": False, "lower": 0.25, "upper": 0.75},
        ROW | {"rule": "f >= 0.5", "verdict": "too few rows", "passes": True},
        ROW
        | {"rule": "g >= 0.5", "verdict": "undefined", "passes": False, "value": None, "note": "undefined: no rows"},
    ],
    schema_overrides={"name": pl.String, "note": pl.String, "value": pl.Float64}
    | dict.fromkeys(["since", "description"], pl.String),
)
ROWS = {"y": [1, 0, 1, 0, 1, 1], "p": [0.9, 0.2, 0.8, 0.4, 0.3, 0.7], "g": ["a", "a", "b", "b", "b", None]}


@pytest.fixture
def state(tmp_path):
    sm.binary(y_true="y", y_score="p", by="g").update(ROWS).save(tmp_path / "a.state")
    return tmp_path / "a.state"


def test_a_junit_report_fails_what_fails_the_check_and_skips_what_says_nothing():
    suites = ElementTree.fromstring(junit(outcomes(VERDICTS), "a\x00b\uffff").encode())
    (suite,) = suites
    assert suite.get("name") == r"a\x00b\uffff"
    for counted in (suites, suite):
        assert [counted.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["7", "3", "0", "3"]
    found = {case.get("classname"): [part.tag for part in case] for case in suite}
    assert list(found.values()) == [[], ["failure"], ["skipped"], ["skipped"], ["failure"], ["skipped"], ["failure"]]
    assert list(found)[2] == "x:y,z: c >= 0.8"
    assert [case.get("name") for case in suite][:2] == ["all rows", "source a|b, <c>: 100%\\n"]
    messages = [part.get("message") for part in suite.iter() if part.tag in ("failure", "skipped")]
    assert messages == [
        "source a|b, <c>: 100%\\n, 2026-01-05: breached; value 0.5",
        "2026-01-05: breached (severity warn); value 0.5",
        "2026-01-05: open; value 0.50; interval 0.40 to 0.60",
        "2026-01-05: open; value 0.50; bounds 0.25 to 0.75",
        "2026-01-05: too few rows; value 0.5",
        "2026-01-05: undefined: no rows",
    ]
    assert suite.find("testcase/failure").get("type") == "breached"


def annotations(found):
    return list(commands(outcomes(found)))


def test_annotations_are_one_escaped_line_for_each_verdict_that_does_not_hold():
    found = annotations(VERDICTS)
    assert [re.match("::([a-z]+) ", line).group(1) for line in found] == [
        *("error", "error", "error", "warning", "notice", "notice")
    ]
    assert found[0] == "::error title=b >= 0.8::source a|b, <c>: 100%25\\n, 2026-01-05: breached; value 0.5"
    assert found[3].startswith("::warning title=x%3Ay%2Cz%3A c >= 0.8::2026-01-05: breached")


def test_github_shows_ten_annotations_of_each_level_and_the_last_counts_the_others():
    failing, warning = VERDICTS[1], VERDICTS[2]
    assert len(annotations(pl.concat([failing] * 10 + [warning] * 10))) == 20
    *errors, last_error = annotations(pl.concat([warning, *[failing] * 12]))[:10]
    assert all(line.startswith("::error title=") for line in errors)
    assert last_error == "::error::… and 3 more"
    assert annotations(pl.concat([failing, *[warning] * 11]))[-1] == "::warning::… and 2 more"


def test_a_markdown_table_has_a_row_for_each_verdict_whatever_groups_are_called():
    lines = as_markdown(every_verdict(VERDICTS)).splitlines()
    assert lines[0] == "| rule | windows | where | value | bound | interval | verdict |"
    assert len(lines) == 2 + VERDICTS.height
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {8}
    assert r"source a\|b, \<c\>: 100%" in lines[3]


def test_markdown_escapes_what_is_not_meant_as_markup():
    found = as_markdown(of_frame(pl.DataFrame({"a_b": ["_x_", "y_z", "[l](u)", "a\nb"], "n": [1, 2, 3, 10**18]})))
    assert found.splitlines()[0] == "| a_b | n |"
    assert [line.split(" | ")[0] for line in found.splitlines()[2:]] == [r"| \_x\_", "| y_z", r"| \[l\](u)", r"| a\\nb"]


def test_the_check_of_a_report_decides_by_bounds_alone_without_a_confidence_level():
    coarse = sm.binary(y_true="y", y_score="p", capacity=8).update(
        {"y": [i % 2 for i in range(400)], "p": [0.25 + (i * 37 % 400) / 800 for i in range(400)]}
    )
    estimate = coarse.finalize()["roc_auc"]
    assert estimate.lower < estimate.value < estimate.upper
    for limit, verdict in ((estimate.lower, "holds"), (estimate.value, "open"), (estimate.upper + 1e-6, "breached")):
        found = coarse.finalize().check(f"roc_auc >= {limit!r}", confidence=None)
        assert found.frame["verdict"].to_list() == [verdict]
    assert not coarse.finalize().check(f"roc_auc <= {estimate.lower - 1e-6!r}", confidence=None).hold


def test_findings_have_no_truth_value(state):
    """An assertion on them would always hold."""
    with pytest.raises(sm.SpecificationError, match=r"Use \.hold"):
        assert sm.Accumulator.load(state).finalize().check("accuracy >= 1")


def test_check_in_every_format(state, tmp_path):
    requirements = ["--require", "accuracy >= 0.8", "--require", "rows >= 1"]
    check = ["check", state, "--bounds-only", *requirements, "--format"]
    suites = ElementTree.fromstring(run(*check, "junit", code=1).encode())
    assert (suites.get("tests"), suites.get("failures")) == ("6", "1")
    assert suites.find("testsuite/testcase/failure").get("message").startswith("g b, threshold 0.5: breached")
    rows = json.loads(run(*check, "json", code=1))
    assert [(row["rule"], row["where"]) for row in rows if not row["passes"]] == [
        ("accuracy >= 0.8", "g b, threshold 0.5")
    ]
    assert run(*check, "markdown", code=1).count("| holds |") == 5
    assert run(*check, "github", code=1).count("::error title=accuracy >= 0.8::g b") == 1
    assert run(*check[:-1], code=1) == run(*check, "table", code=1)
    log = run(*check, "junit", "-o", tmp_path / "found.xml", code=1)
    assert log == f"Failing: 1 of 6 verdicts, see {tmp_path / 'found.xml'}\n"
    passing = ["check", state, "--require", "rows >= 1", "-o", tmp_path / "passing"]
    assert run(*passing) == ""
    assert ElementTree.parse(tmp_path / "found.xml").getroot().get("tests") == "6"
    assert "::" not in run("check", state, "--require", "rows >= 1", "--format", "github")


def test_the_summary_of_a_step_is_added_to(state, tmp_path):
    summary = tmp_path / "summary.md"
    check = ["check", state, "--format", "github", "--require"]
    run(*check, "rows >= 1", GITHUB_STEP_SUMMARY=str(summary))
    run(*check, "rows >= 2", code=1, GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text().count("| rule | where |") == 2
    assert "Error: " in run(*check, "rows >= 1", code=2, GITHUB_STEP_SUMMARY=str(tmp_path / "none" / "summary.md"))
    run("check", state, "--require", "rows >= 1", "--format", "markdown", GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text().count("| rule | where |") == 2


def test_reports_are_added_to_the_summary_of_a_step(state, tmp_path):
    summary = tmp_path / "summary.md"
    show = ["show", state, "--metric", "roc_auc", "--format"]
    printed = run(*show, "github", GITHUB_STEP_SUMMARY=str(summary))
    assert printed == run(*show, "table") == run(*show, "github")
    assert summary.read_text().strip() == run(*show, "markdown").strip()


def test_reports_as_markdown(state):
    lines = run("show", state, "--format", "markdown", "--metric", "roc_auc").splitlines()
    assert lines[0] == "| g | metric | value | bound | note |"
    assert "| b | roc_auc | 0.5 | exact |  |" in lines


def test_wide_markdown_is_several_tables_and_always_whole(state, tmp_path):
    show = ["show", state, "--confidence", "0.95", "--format", "markdown"]
    narrow = run(*show, "--width", "40")
    headers, lines = re.compile(r"^\| g \| metric \|.*$", re.MULTILINE), run(*show).splitlines()
    assert len(headers.findall("\n".join(lines))) == 1
    assert headers.findall(narrow) == [f"| g | metric | {own} |" for own in ("value", "bound", "interval", "note")]
    run(*show, "--width", "40", "-o", tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text() == narrow
    notes = [row["note"] for row in json.loads(run(*show[:-1], "json")) if row["note"]]
    assert notes
    assert all(note in narrow for note in notes)
    assert "…" not in narrow
