"""Verdicts as a JUnit report."""

from __future__ import annotations

from xml.etree import ElementTree

import polars as pl

from streammetrics.present.verdicts import rule, sentence
from streammetrics.text import escaped, rows

NO_XML = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def junit(frame: pl.DataFrame, suite: str) -> str:
    """Return a JUnit report: one test case per verdict, a failure if it fails the check, skipped if inconclusive."""
    cases = []
    for row in rows(frame):
        names = {"classname": rule(row), "name": row["where"] or "all rows"}
        case = ElementTree.Element("testcase", {key: _in_xml(name) for key, name in names.items()})
        if row["verdict"] != "holds":
            told = {"message": _in_xml(sentence(row))}
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


def _in_xml(string: str) -> str:
    """A text without characters that are invalid in XML."""
    return escaped(string).translate(NO_XML)
