"""Verdicts in the formats of CI systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import polars as pl

from streammetrics import text
from streammetrics.cli.markdown import add_to_summary, markdown
from streammetrics.cli.output import inert, print_or_save, save_data, write
from streammetrics.report.findings import OPEN
from streammetrics.text.decimals import bound, interval, said

FORMATS = ("github", "junit")
ANNOTATIONS = 10  # of a level that GitHub shows for each step
ESCAPES: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES: dict[str, str | int | None] = {":": "%3A", ",": "%2C"}
NO_XML = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def write_verdicts(frame: pl.DataFrame, shown: str, form: str, output: Path | None, suite: str) -> None:
    """Write the verdicts of a check in one of the formats, or as text for a terminal, to a file if one is given.

    The frame has at least the columns of `report.findings.SCHEMA`. The suite is the name of a JUnit report. With a
    file, the number of failing verdicts is printed on standard error, so that a log shows why the exit code is 1.
    """
    if form == "github":
        print_or_save("\n".join([inert(shown), *commands(frame)]), output)
        add_to_summary(table(frame))
    elif form == "junit":
        save_data(junit(frame, suite), output)
    elif form == "markdown":
        save_data(table(frame), output)
    else:
        write(frame, shown, form, output)
    if output is not None and (failing := int((~frame["passes"]).sum())):
        click.echo(f"Failing: {failing:,} of {frame.height:,} verdicts, see {output}", err=True)


def commands(frame: pl.DataFrame) -> Iterator[str]:
    """Return GitHub Actions workflow commands for the verdicts that do not hold: an error if it fails the check.

    Errors come first. GitHub shows only the first annotations of each level, so the last of these counts the others.
    """
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for row in text.rows(frame.filter(pl.col("verdict") != "holds")):
        level = "error" if not row["passes"] else "notice" if row["verdict"] in OPEN else "warning"
        title, message = _escaped(text.rule(row), ESCAPES | IN_PROPERTIES), _escaped(_sentence(row), ESCAPES)
        levels[level].append(f"::{level} title={title}::{message}")
    for level, told in levels.items():
        shown = text.shown_of(len(told), ANNOTATIONS - 1)
        yield from told[:shown]
        if shown < len(told):
            yield f"::{level}::… and {len(told) - shown:,} more that do not hold"


def junit(frame: pl.DataFrame, suite: str) -> str:
    """Return a JUnit report: one test case per verdict, a failure if it fails the check, skipped if inconclusive."""
    cases = []
    for row in text.rows(frame):
        names = {"classname": text.rule(row), "name": row["where"] or "all rows"}
        case = ElementTree.Element("testcase", {key: _in_xml(name) for key, name in names.items()})
        if row["verdict"] != "holds":
            told = {"message": _in_xml(_sentence(row))}
            if not row["passes"]:
                ElementTree.SubElement(case, "failure", told | {"type": row["verdict"]})
            else:
                ElementTree.SubElement(case, "skipped", told)
        cases.append(case)
    failed, skipped = (sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", counts)
    ElementTree.SubElement(root, "testsuite", {"name": _in_xml(suite)} | counts).extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def table(frame: pl.DataFrame) -> str:
    """Return the verdicts as a Markdown table."""
    rows = [
        {
            "rule": text.rule(row),
            "windows": row.get("windows"),
            "where": row["where"] or None,
            "value": row["value"],
            "bound": bound(row["value"], row["lower"], row["upper"]) or None,
            "interval": interval(row.get("ci_lower"), row.get("ci_upper")) or None,
            "verdict": text.verdict(row),
        }
        for row in text.rows(frame)
    ]
    texts = ("rule", "windows", "where", "bound", "interval", "verdict")
    return markdown(pl.DataFrame(rows, schema_overrides=dict.fromkeys(texts, pl.String)))


def _sentence(row: dict[str, Any]) -> str:
    """Group, verdict, and numbers."""
    told = [text.verdict(row)]
    if row["value"] is not None:
        told.append(f"value {said(row)}")
        told += text.ranges(row)
    if row.get("description"):
        told.append(row["description"])
    place = ", ".join(filter(None, (row["where"], row.get("windows"))))
    return f"{place}: {'; '.join(told)}" if place else "; ".join(told)


def _escaped(string: str, escapes: dict[str, str | int | None]) -> str:
    return text.escaped(string).translate(str.maketrans(escapes))


def _in_xml(string: str) -> str:
    """A text without characters that are invalid in XML."""
    return text.escaped(string).translate(NO_XML)
