"""Tables no wider than the terminal, or than 120 characters in pipes and files, unless asked for."""

from __future__ import annotations

import shutil
import sys
import textwrap

import click

PIPED = 120
NARROW = 12  # characters below which a column is cut rather than broken into lines
KEY = "streammetrics.width"


def width() -> int:
    """How many characters a line may have: those of ``--width``, of the terminal, or 120."""
    context = click.get_current_context(silent=True)
    asked: int | None = context.meta.get(KEY) if context else None
    return asked or (shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED)


def within(table: str, width: int) -> str:
    """A table as text with shorter lines: the last column is broken into lines, the others are cut.

    >>> print(within("day  note\\n───  ───────────────────────\\nMon  no interval: too few positives yet", 30))
    day  note
    ───  ───────────────────────
    Mon  no interval: too few
         positives yet
    """
    lines = table.split("\n")
    ruler = next((line for line in lines if line.startswith("─")), "")
    return "\n".join(line if _size(line) <= width else _shorter(line, ruler, width) for line in lines)


def _shorter(line: str, ruler: str, width: int) -> str:
    last = ruler.rfind(" ─") + 1  # where the last column begins
    if not ruler or line.startswith("…"):
        return textwrap.fill(line, width)
    if line == ruler:
        return line[:width].rstrip()
    if 0 < last <= width - NARROW and line[last - 1] == " ":
        return line[:last] + ("\n" + " " * last).join(textwrap.wrap(line[last:], width - last))
    return click.unstyle(line)[: width - 1] + "…"


def _size(line: str) -> int:
    return len(click.unstyle(line))
