"""Tables no wider than the terminal, or than 120 characters in pipes and files, unless asked for."""

from __future__ import annotations

import shutil
import sys

import click

PIPED = 120
KEY = "streammetrics.width"


def width() -> int:
    """How many characters a line may have: those of ``--width``, of the terminal, or 120."""
    context = click.get_current_context(silent=True)
    asked: int | None = context.meta.get(KEY) if context else None
    return asked or (shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED)
