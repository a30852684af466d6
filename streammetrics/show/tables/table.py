"""A table to show, for any medium."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.base import LONGEST_CELL, rows, shortened, uncut
from streammetrics.errors import LONGEST_SENTENCE, cut, escaped

Kind: TypeAlias = Literal["head", "text", "number"]
Level: TypeAlias = Literal["error", "warning", "notice"]
SYMBOLS: dict[Level | None, str] = {"error": "✗", "warning": "!", "notice": "?", None: "✓"}  # the worst first


@dataclass(frozen=True)
class Cell:
    """A text, the number to sort by, what stands below, such as a confidence interval, and how bad it is."""

    text: str
    number: float | None = None
    below: str = ""
    level: Level | None = None

    @classmethod
    def judged(cls, verdict: str, level: Level | None, number: float | None = None, below: str = "") -> Cell:
        """A verdict after the symbol of how bad it is."""
        return cls(f"{SYMBOLS[level]} {verdict}", number, below, level)

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"{self.text} ({self.below})" if self.below else self.text


@dataclass(frozen=True)
class Column:
    """A column, whose cells are names of their rows, texts, or numbers. An optional one is omitted if it is empty."""

    name: str
    kind: Kind = "text"
    optional: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cut(self.name, LONGEST_CELL))


@dataclass(frozen=True)
class Table:
    """Rows with a cell for each column, below a caption. Notes are sentences below them."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", cut(self.caption, LONGEST_SENTENCE))
        if any(len(note) > LONGEST_SENTENCE for note in self.notes):
            object.__setattr__(self, "notes", [cut(note, LONGEST_SENTENCE) for note in self.notes])
        if any(len(cell.text) > LONGEST_CELL for row in self.rows for cell in row):
            object.__setattr__(self, "rows", _short_cells(self.rows, len(self.columns), LONGEST_CELL))

    @property
    def without_empty(self) -> Table:
        """The table without empty optional columns."""
        is_shown = [not c.optional or any(row[i].text for row in self.rows) for i, c in enumerate(self.columns)]
        return self.select(itertools.compress(range(len(self.columns)), is_shown))

    def fitting(self, width: int, gap: int = 2, in_lines: bool = True) -> int:
        """Return how many columns fit in a line, with some characters between them, or with cells in two lines."""
        cells = [[cell.line if in_lines else max(cell.text, cell.below, key=len) for cell in row] for row in self.rows]
        lines = [[column.name for column in self.columns], *cells]
        sizes = (max(len(escaped(text)) for text in column) for column in zip(*lines, strict=True))
        ends = itertools.accumulate(size + gap for size in sizes)
        return sum(end - gap <= width for end in ends)

    def parts(self, width: int, gap: int = 2) -> list[Table]:
        """Return tables whose columns fit in a line, each of which begins with the columns before the first number."""
        first = start = next((i for i, c in enumerate(self.columns) if c.kind == "number"), len(self.columns))
        parts = list[Table]()
        while not parts or start < len(self.columns):
            part = self.select([*range(first), *range(start, len(self.columns))])
            size = max(first + 1, part.fitting(width, gap))
            caption = "" if parts else self.caption
            parts.append(replace(part.select(range(len(part.columns))[:size]), caption=caption, notes=()))
            start += size - first
        return [*parts[:-1], replace(parts[-1], notes=self.notes)]

    def select(self, places: Iterable[int]) -> Table:
        """The table with some of its columns."""
        places = list(places)
        rows = [[row[i] for i in places] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in places], rows=rows)

    def with_short_keys(self, by: int, most: int) -> Table:
        """The table with names and cells of at most some characters in its first columns."""
        heads = shortened([column.name for column in self.columns[:by]], most)
        named = [replace(column, name=name) for column, name in zip(self.columns, heads, strict=False)]
        return replace(self, columns=[*named, *self.columns[by:]], rows=_short_cells(self.rows, by, most))


def badness(cells: Iterable[Cell]) -> list[int]:
    """Return a key to sort by, which is least for most cells of the worst level."""
    levels = [cell.level for cell in cells]
    return [-levels.count(level) for level in SYMBOLS if level is not None]


def _short_cells(rows: Sequence[Sequence[Cell]], by: int, most: int) -> list[list[Cell]]:
    """Rows with short texts in their first cells. Those that differ stay apart."""
    cells = [list(row) for row in rows]
    for i in range(by):
        texts = shortened([row[i].text for row in cells], most)
        for row, text in zip(cells, texts, strict=True):
            row[i] = replace(row[i], text=text)
    return cells


@dataclass(frozen=True)
class Outcome:
    """What a check found in one place. It has no level if all is well, and an error fails the check."""

    title: str
    where: str
    level: Level | None
    kind: str
    sentence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", cut(self.where, LONGEST_CELL))
        object.__setattr__(self, "sentence", cut(self.sentence, LONGEST_SENTENCE))


def interval_column(confidence: float | None) -> Column:
    """Return the column of confidence intervals, whose header is their level.

    >>> interval_column(0.95).name
    '95% interval'
    """
    return Column("interval" if confidence is None else f"{100 * confidence:.6g}% interval", optional=True)


def columns(*names: str, kind: Kind = "text", optional: bool = False) -> list[Column]:
    """Return columns of the same kind."""
    return [Column(name, kind, optional) for name in names]


def key_cell(value: Any) -> Cell:
    """A value of a key column."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Cell(uncut(value), number)


def of_frame(frame: pl.DataFrame) -> Table:
    """Return a frame as a table, with integers aligned right."""
    named = [Column(name, "number" if dtype.is_integer() else "text") for name, dtype in frame.schema.items()]
    return Table(named, [[_plain(value) for value in row.values()] for row in rows(frame)])


def _plain(value: Any) -> Cell:
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(f"{value:,}", value)
    return key_cell(value)
