"""Marks in the bytes of a CSV file: quotation marks, separators, and ends of lines, which decide where rows end."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streammetrics.system.lazy import pa

BLOCK = 1 << 20  # bytes that are searched for quotation marks at a time
NEWLINE, RETURN, QUOTE, ZERO = b'\n\r"0'


@dataclass(frozen=True)
class Marks:
    """What the bytes of a CSV file tell about its rows and values.

    ``quoted`` tells whether a field begins with a quotation mark. ``stray`` is the line of the first mark that does not
    belong to a quoted field by RFC 4180; the marks of files without quoted fields are part of the text. ``blank`` tells
    whether there are blank lines, and ``zeros`` whether a field begins with a zero before another digit. ``ragged`` is
    the first line whose number of fields differs from that of the header.
    """

    quoted: bool = False
    stray: int | None = None
    blank: bool = False
    zeros: bool = False
    ragged: Ragged | None = None


class Ragged(NamedTuple):
    """A line with its number of fields, and that of the header."""

    line: int
    fields: int
    width: int


class Widths:
    """Counts the fields of records. Blank lines are not records, except in files of one column."""

    def __init__(self) -> None:
        self.width: int | None = None
        self.ragged: Ragged | None = None
        self._begun = 0  # separators of a record that continues in the next block,
        self._lines = 0  # and its line breaks

    def add(self, content: NDArray[np.uint8], edges: NDArray[np.bool_], end: int, line: int) -> None:
        """Count the records of a block that begins with a line. ``edges`` are separators and ends of records."""
        if self.ragged:
            return
        places = np.flatnonzero(edges)
        ends = np.flatnonzero(content[places] == end)
        if not len(ends):
            self._begun += len(places)
            self._lines += int(np.count_nonzero(content == end))
            return
        separators = np.diff(ends, prepend=-1) - 1
        separators[0] += self._begun
        line_of_first = line - self._lines
        self._begun = len(places) - 1 - int(ends[-1])
        self._lines = int(np.count_nonzero(content[places[ends[-1]] + 1 :] == end))
        if self.width is None:
            self.width = int(next((number for number in separators if number), 0))
        for number in np.flatnonzero(separators != self.width):
            last = int(places[ends[number]])
            first = int(places[ends[number - 1]]) + 1 if number else 0
            if separators[number] or content[first:last].tobytes() not in (b"", b"\r"):
                begins = line + int(np.count_nonzero(content[:first] == end)) if number else line_of_first
                self.ragged = Ragged(begins, int(separators[number]) + 1, self.width + 1)
                return


def marks_of(path: Path, separator: int, quote: int = QUOTE, end: int = NEWLINE) -> Marks:
    """Search the bytes of a file for quotation marks, blank lines, and leading zeros."""
    quoted = blank = zeros = inside = False
    stray, line, opened = None, 1, 1
    plain = outside = Widths()  # of separators anywhere, and of those outside of quoted fields
    for block in _blocks(path, bytes([end])):
        content = np.frombuffer(b"%c%b%c" % (end, block, end), np.uint8)
        newline, mark = content == end, content == quote
        edge = newline | (content == separator)
        lines, at, before = newline[1:-1], mark[1:-1], edge[:-2]
        edges = edge[1:-1]
        if quote in block and outside is plain:
            outside = copy(plain)
        if not quoted:
            plain.add(content[1:-1], edges, end, line)
        blank = blank or bool((lines[1:] & lines[:-1]).any()) or (line > 1 and block[0] in (end, RETURN))
        if not blank and RETURN in block:
            blank = bool((lines[2:] & (content[2:-2] == RETURN) & lines[:-2]).any())
        if not zeros:
            zeros = bool(((edge | mark)[:-2] & (content[1:-1] == ZERO) & (content[2:] - ZERO < 10)).any())
        if quote in block:
            quoted = quoted or bool((at & before).any())
            if stray is None:
                within = np.bitwise_xor.accumulate(at.view(np.uint8)).view(np.bool_) ^ inside
                edges = edges & ~within
                begun, ended = (edge | mark)[:-2], (edge | mark | (content == RETURN))[2:]
                wrong = np.flatnonzero(at & ~np.where(within, begun, ended))[:1]
                inside = bool(within[-1])
                if wrong.size or inside:
                    opening = np.flatnonzero((at & within)[: wrong[0] + 1 if wrong.size else None])
                    opened = line + int(np.count_nonzero(lines[: opening[-1]])) if opening.size else opened
                stray = opened if wrong.size else None
        elif inside:
            edges = np.zeros_like(edges)
        if outside is not plain:
            outside.add(content[1:-1], edges, end, line)
        line += int(np.count_nonzero(lines))
    ragged = (outside if quoted else plain).ragged
    return Marks(quoted, opened if inside and stray is None else stray, blank, zeros, ragged)


def _blocks(path: Path, newline: bytes) -> Iterator[bytes]:
    """The content of a file, decompressed, in blocks of whole lines."""
    with pa.input_stream(str(path)) as file:
        rest = file.read(3).removeprefix(b"\xef\xbb\xbf")
        while read := file.read(BLOCK):
            end = read.rfind(newline) + 1
            if end:
                yield rest + read[:end]
            rest = read[end:] if end else rest + read
        if rest:
            yield rest + newline
