"""Tables of simulations, which scripts print and, with ``--write``, put into the pages of the documentation."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def table(corner, cells):
    """A Markdown table of texts by row and column, with a dash where there is none; an empty cell has one space."""
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    lines = [[corner, *columns], ["---"] * (len(columns) + 1)]
    lines += [[name, *(row.get(column, "–") for column in columns)] for name, row in cells.items()]
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
