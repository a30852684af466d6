"""What a page or a text consists of, without prose and numbers: headings, columns of tables, charts, findings.

``python tests/present/structure.py`` writes the outlines of all pages and texts again, in ``outlines/``.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

OUTLINES = Path(__file__).with_name("outlines")
VOID = {"meta", "input", "link", "br"}


class Cell(NamedTuple):
    """A cell of a table: its text, the small text below it, and the number by which it is sorted."""

    text: str
    below: str
    number: float | None


class Table(NamedTuple):
    """A table: its caption, its columns (with ``>`` if they are numbers), and its rows."""

    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    size: int

    def row(self, first):
        """The cells of a row by column."""
        [cells] = [row for row in self.rows if row[0].text == first]
        return dict(zip((name.removesuffix(">") for name in self.columns), cells, strict=True))


class Page(HTMLParser):
    """A page as its outline, its tables by caption, and all that could act."""

    def __init__(self, text):
        super().__init__()
        self.lines, self.tables, self.ids, self.links, self.regions = [], {}, [], [], []
        self.tags, self.events, self.words, self.open = [], [], [], []
        self._text, self._columns, self._rows, self._caption, self._size = "", [], [], "", None
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("src", "href") if name in found]
        self.events += [name for name in found if name.startswith("on")]
        self.regions += [found["aria-label"]] if found.get("role") == "region" else []
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3", "h4", "dt", "caption", "th", "td", "li", "summary", "text", "small"):
            if tag == "small":
                self._cell = self._text
            self._text, self._found = "", found if tag != "small" else self._found
        if tag == "svg":
            self._axes = []
        if tag == "table":
            self._columns, self._rows, self._size, self._caption = [], [], found.get("aria-rowcount"), ""
        if tag == "tr":
            self._rows.append([])

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self._text += data
        self.words.append(data)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        text = self._text.strip()
        if tag in ("h1", "h2", "h3", "h4"):
            self.lines.append(f"{'#' * int(tag[1])} {text}")
        elif tag == "dt":
            self.lines.append(f"fact: {text}")
        elif tag == "summary":
            self.lines.append(f"details: {text}")
        elif tag == "li" and (code := re.search(r"^(bad|warn|info) .* (SM\d{3})$", text, re.DOTALL)):
            self.lines.append(f"finding: {code[2]} {code[1]}")
        elif tag == "text" and re.search("[^\\W\\d]", text) and not re.search(r"\d", text):
            self._axes += [text] * (text not in self._axes)
        elif tag == "svg":
            self.lines.append(f"chart: {'; '.join(self._axes)}")
        elif tag == "caption":
            self._caption = text
        elif tag == "small" and self._rows:
            self._below = text
        elif tag in ("td", "th") and self._found.get("scope") == "col":
            self._columns.append(text + ">" * ("n" in self._found.get("class", "").split()))
            self._rows[-1:] = []
            self._rows.append([])
        elif tag in ("td", "th"):
            below, self._below = getattr(self, "_below", ""), ""
            number = self._found.get("data-v")
            self._rows[-1].append(
                Cell(self._cell.strip() if below else text, below, None if number is None else float(number))
            )
        elif tag == "table":
            rows = [row for row in self._rows if row]
            size = int(self._size) - 1 if self._size else len(rows)
            self.tables[self._caption] = Table(self._caption, self._columns, rows, size)
            self.lines.append(f"table {self._caption!r}, {size} rows: {', '.join(self._columns)}")

    @property
    def outline(self):
        """The page in lines."""
        return "\n".join(self.lines) + "\n"


def outline_of_text(text):
    """The tables of a terminal in lines: columns (with ``>`` if they are aligned at the right), and numbers of rows."""
    lines, found = text.splitlines(), []
    for at, line in enumerate(lines):
        if at and re.fullmatch("─+(?:  ─+)*", line):
            rule = [found.span() for found in re.finditer("─+", line)]
            rows, head = [], [lines[at - 1]]
            while at > len(head) and lines[at - 1 - len(head)].strip():
                head.insert(0, lines[at - 1 - len(head)])
            for row in lines[at + 1 :]:
                if not row.strip() or any(row[a - 2 : a].strip() for a, _ in rule[1:]):
                    break
                rows.append(row)
            columns = []
            for start, end in rule:
                name = " ".join(row[start:end].strip() for row in head).strip()
                cells = [row[start:end] for row in rows if row[start:end].strip()]
                right = head[-1][start:end][:1] == " " or any(cell[:1] == " " for cell in cells)
                columns.append(name + ">" * right)
            found.append(f"table, {len(rows)} rows: {', '.join(columns)}")
        elif code := re.match(r"(bad|warn|info) +(SM\d{3}) ", line):
            found.append(f"finding: {code[2]} {code[1]}")
    return "\n".join([*found, f"{len(lines)} lines"]) + "\n"


def written(name):
    """An outline that is written down."""
    return (OUTLINES / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    from outputs import PAGES, TEXTS, page, text

    OUTLINES.mkdir(exist_ok=True)
    for kind in PAGES:
        (OUTLINES / f"page of {kind}.txt").write_text(Page(page(kind)).outline, encoding="utf-8")
    for command in TEXTS:
        found = "\n".join(f"{form}\n{outline}" for form, outline in text(command).items())
        (OUTLINES / f"{command}.txt").write_text(found, encoding="utf-8")
