"""A table to show, for any medium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.text import cell, rows

Kind: TypeAlias = Literal["head", "text", "number"]
Level: TypeAlias = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class Cell:
    """A text, the number to sort by, and what stands below, such as a confidence interval."""

    text: str
    number: float | None = None
    below: str = ""


@dataclass(frozen=True)
class Column:
    """A column, whose cells are names of their rows, texts, or numbers. An optional one is omitted if it is empty."""

    name: str
    kind: Kind = "text"
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """Rows with a cell for each column, below a caption. Notes are sentences below them."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()

    @property
    def shown(self) -> Table:
        """The table without empty optional columns."""
        places = [i for i, c in enumerate(self.columns) if not c.optional or any(row[i].text for row in self.rows)]
        rows = [[row[i] for i in places] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in places], rows=rows)


@dataclass(frozen=True)
class Outcome:
    """What a check found in one place. It has no level if all is well, and an error fails the check."""

    title: str
    where: str
    level: Level | None
    kind: str
    sentence: str


def columns(*names: str, kind: Kind = "text", optional: bool = False) -> list[Column]:
    """Return columns of the same kind."""
    return [Column(name, kind, optional) for name in names]


def key_cell(value: Any) -> Cell:
    """A value of a key column."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Cell(cell(value), number)


def of_frame(frame: pl.DataFrame) -> Table:
    """Return a frame as a table, with integers aligned right."""
    named = [Column(name, "number" if dtype.is_integer() else "text") for name, dtype in frame.schema.items()]
    return Table(named, [[_plain(value) for value in row.values()] for row in rows(frame)])


def _plain(value: Any) -> Cell:
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(f"{value:,}", value)
    return key_cell(value)
