"""Text and outcomes of a check for GitHub Actions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from streammetrics.base import shown_of
from streammetrics.errors import escaped
from streammetrics.show.tables.table import Outcome

SUMMARY = "GITHUB_STEP_SUMMARY"  # path of the summary file
ANNOTATIONS = 10  # of a level that GitHub shows for each step
ESCAPES: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES: dict[str, str | int | None] = {":": "%3A", ",": "%2C"}


def add_to_summary(table: str) -> None:
    """Add a table to the summary of a step of GitHub Actions, if it is one."""
    if summary := os.environ.get(SUMMARY):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{table}\n\n")


def inert(text: str) -> str:
    """Return a text in which GitHub Actions runs no workflow commands, such as from the name of a group."""
    if "::" not in text and "##[" not in text:
        return text
    token = uuid4().hex
    return f"::stop-commands::{token}\n{text}\n::{token}::"


def commands(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Return GitHub Actions workflow commands for outcomes with a level.

    Errors come first. GitHub shows only the first annotations of each level, so the last of these counts the others.
    """
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for one in outcomes:
        if one.level:
            title, message = _escaped(one.title, ESCAPES | IN_PROPERTIES), _escaped(one.sentence, ESCAPES)
            levels[one.level].append(f"::{one.level} title={title}::{message}")
    for level, lines in levels.items():
        size = shown_of(len(lines), ANNOTATIONS - 1)
        yield from lines[:size]
        if size < len(lines):
            yield f"::{level}::… and {len(lines) - size:,} more"


def _escaped(string: str, escapes: dict[str, str | int | None]) -> str:
    return escaped(string).translate(str.maketrans(escapes))
