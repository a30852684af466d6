"""Pages, docstrings, messages, and help texts avoid the tics that a pattern can find."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "streammetrics").rglob("*.py"))
TICS = {
    r"\bread off\b": "compute from",
    r"\bsampling interval": "confidence interval",
    r"\bunless given\b": "Defaults to …",
    r"\bwhat (is|was|has been) kept\b": "state",
    r"\brows seen\b": "evaluated rows",
    r"\b2x2 table": "confusion counts",
    r"\broll-up\b": "rollup",
    r"\bmend(ed|s)?\b": "fix",
    r"\bis no [a-z]+ (of|column|metric)\b": "is not a",
    r"\bgroup told\b|\btold apart\b|\bkept apart\b": "group",
}
TICS_OF_CODE = TICS | {
    r"\blikewise\b": "the same words again",
    r"\bthere is no\b.*[.;]$": "not found",
    r"\bneeds? the extra\b|\bthe extra '": "requires the '…' extra",
    r"\bof (one's|your) own\b": "custom",
    r"\bRefuse\b": "Reject",
    r"\badd(ed|s|ing)? up\b": "sum or merge",
    r"\bsay which\b": "Select one",
    r"\bseveral classes\b": "multiclass",
    r"\bactual values\b": "true values",
    r"\blengths? of time\b": "duration",
    r"\bISO text\b": "ISO 8601 string",
    r"\bwhatever\b|\banew\b|\bfor certain\b|\bwrongly\b": "plain words",
    r"\bplease\b|\bsimply\b": "nothing",
    r"\bfrom when to when\b": "a (start, end) pair",
    r"\bcolour(?!s:)": "color",
}
RAISES = re.compile(r"^ +\w+(?:Error|Warning): (?!If |As )(.+)", re.MULTILINE)


def without_code(text):
    """Text without code blocks, code spans, and doctests."""
    text = re.sub(r"```.*?```|``.*?``|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.sub(r"^ *>>> .*?(?=\n *\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def strings():
    """Docstrings and literals with several words (messages, notes, captions, help texts) of all modules, by place."""
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", without_code(node.value))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()
    ]


def found(tics, texts):
    """Places, tics, and what to write instead."""
    return [(place, tic, better) for place, text in texts for tic, better in tics.items() if re.search(tic, text)]


def test_pages_use_the_terms_of_the_glossary():
    assert found(TICS, ((page.name, without_code(page.read_text(encoding="utf-8"))) for page in PAGES)) == []


def test_docstrings_messages_and_help_use_the_terms_of_the_glossary():
    assert found(TICS_OF_CODE, strings()) == []


def test_raises_entries_state_the_condition():
    assert [(place, *RAISES.findall(text)) for place, text in strings() if RAISES.search(text)] == []


@pytest.mark.parametrize("tic", ["read off the table", "Refuse it", "the ROC AUC of several classes", "colours"])
def test_tics_are_found(tic):
    """A docstring with a tic is found; the same words in a doctest or a code span are code."""
    assert found(TICS_OF_CODE, [("", without_code(f"First.\n\n    {tic}.\n"))])
    assert not found(TICS_OF_CODE, [("", without_code(f"First ``{tic}``.\n\n    >>> {tic}\n    {tic}\n"))])


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 160
