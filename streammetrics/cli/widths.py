"""Widths of tables: by default that of the terminal, or 120 characters in pipes and files."""

from __future__ import annotations

import click

from streammetrics.text import PIPED, terminal_width

KEY = "streammetrics.width"


def width() -> int:
    """Return the maximum number of characters of a line: ``--width``, that of the terminal, or 120."""
    context = click.get_current_context(silent=True)
    asked: int | None = context.meta.get(KEY) if context else None
    return asked or terminal_width() or PIPED
