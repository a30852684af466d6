"""Pages of the documentation avoid the tics that a pattern can find."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TICS = {
    r"\bread off\b": "compute from",
    r"\bsampling interval": "confidence interval",
    r"\bunless given\b": "Default: …",
    r"\bwhat (is|was|has been) kept\b": "state",
    r"\brows seen\b": "evaluated rows",
    r"\b2x2 table": "confusion counts",
    r"\broll-up\b": "rollup",
    r"\bmend(ed|s)?\b": "fix",
    r"\bis no [a-z]+ (of|column|metric)\b": "is not a",
    r"\bgroup told\b|\btold apart\b": "group",
}


def prose(path):
    """Text of a page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_pages_use_the_terms_of_the_glossary(path):
    text = prose(path)
    for tic, better in TICS.items():
        assert not re.search(tic, text), f"{tic}: write {better}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200
