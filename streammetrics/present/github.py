"""Text and verdicts for GitHub Actions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import polars as pl

from streammetrics.present.verdicts import OPEN, rule, sentence
from streammetrics.text import escaped, rows, shown_of

SUMMARY = "GITHUB_STEP_SUMMARY"  # path of the summary file
ANNOTATIONS = 10  # of a level that GitHub shows for each step
ESCAPES: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES: dict[str, str | int | None] = {":": "%3A", ",": "%2C"}


def add_to_summary(table: str) -> None:
    """Add a table to the summary of a step of GitHub Actions, if it is one."""
    if summary := os.environ.get(SUMMARY):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{table}\n\n")


def inert(shown: str) -> str:
    """Return a text in which GitHub Actions runs no workflow commands, such as from the name of a group."""
    if "::" not in shown and "##[" not in shown:
        return shown
    token = uuid4().hex
    return f"::stop-commands::{token}\n{shown}\n::{token}::"


def commands(frame: pl.DataFrame) -> Iterator[str]:
    """Return GitHub Actions workflow commands for the verdicts that do not hold: an error if it fails the check.

    Errors come first. GitHub shows only the first annotations of each level, so the last of these counts the others.
    """
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for row in rows(frame.filter(pl.col("verdict") != "holds")):
        level = "error" if not row["passes"] else "notice" if row["verdict"] in OPEN else "warning"
        title, message = _escaped(rule(row), ESCAPES | IN_PROPERTIES), _escaped(sentence(row), ESCAPES)
        levels[level].append(f"::{level} title={title}::{message}")
    for level, told in levels.items():
        shown = shown_of(len(told), ANNOTATIONS - 1)
        yield from told[:shown]
        if shown < len(told):
            yield f"::{level}::… and {len(told) - shown:,} more that do not hold"


def _escaped(string: str, escapes: dict[str, str | int | None]) -> str:
    return escaped(string).translate(str.maketrans(escapes))
