"""Outcomes of a check as a JUnit report."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from streammetrics.errors import escaped
from streammetrics.show.tables.table import Outcome

NO_XML = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def junit(outcomes: Iterable[Outcome], suite: str) -> str:
    """Return a JUnit report with a test case per outcome: a failure if an error, skipped if it has another level."""
    cases = []
    for one in outcomes:
        case = ElementTree.Element("testcase", classname=_valid(one.title), name=_valid(one.where or "all rows"))
        if one.level == "error":
            ElementTree.SubElement(case, "failure", message=_valid(one.sentence), type=one.kind)
        elif one.level:
            ElementTree.SubElement(case, "skipped", message=_valid(one.sentence))
        cases.append(case)
    failed, skipped = (sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", counts)
    ElementTree.SubElement(root, "testsuite", {"name": _valid(suite)} | counts).extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _valid(string: str) -> str:
    """A text without characters that are invalid in XML."""
    return escaped(string).translate(NO_XML)
