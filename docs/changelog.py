"""Fill the page of changes with CHANGELOG.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MARK = "<!-- changelog -->"
CHANGES = Path(__file__).parents[1] / "CHANGELOG.md"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The hook of each page: the versions in place of the mark, with links as of this folder."""
    versions = CHANGES.read_text(encoding="utf-8").partition("\n\n")[2]
    return markdown.replace(MARK, versions.replace("](docs/", "]("))
