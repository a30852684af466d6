"""Tables of simulations, which scripts print and, with ``--write``, put into the pages of the documentation."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def markdown(lines):
    """A Markdown table of lines of cells; an empty cell has one space."""
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def show(page, mark, made):
    """Print a table, and with ``--write`` replace the one below its mark in a page."""
    print(f"{mark}\n\n{made}\n", flush=True)
    if "--write" in sys.argv:
        text = (DOCS / page).read_text(encoding="utf-8")
        marked = rf"(<!-- simulation: {re.escape(mark)} -->\n\n).*?(\n\n|\n*\Z)"
        text, count = re.subn(marked, lambda found: found[1] + made + found[2], text, count=1, flags=re.DOTALL)
        assert count, f"{page} has no mark {mark!r}"
        (DOCS / page).write_text(text, encoding="utf-8")
