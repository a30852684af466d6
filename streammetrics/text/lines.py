"""Tables and sentences in lines of at most ``width`` characters."""

from __future__ import annotations

import itertools
import shutil
import sys
import textwrap
from collections.abc import Sequence

import polars as pl

from streammetrics.text.aligned import aligned
from streammetrics.text.cells import cell, escaped, rows

PIPED = 120  # characters of a line in files and pipes


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal, or None if text goes to a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def filled(sentence: str, width: int | None) -> str:
    """Return a sentence in lines of at most a width."""
    return sentence if width is None else textwrap.fill(sentence, width, break_on_hyphens=False)


def table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: tuple[int, ...], width: int | None
) -> list[str]:
    """Return a table as lines, with control characters escaped. See `aligned`."""
    header, *rows = (tuple(map(escaped, cells)) for cells in (header, *rows))
    return aligned(header, rows, left, width)


def columns_within(width: int, rows: Sequence[tuple[str, ...]]) -> int:
    """Return how many columns of a table fit in a line."""
    ends = itertools.accumulate(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    return sum(end - 2 <= width for end in ends)


def plain(frame: pl.DataFrame, width: int | None = None) -> str:
    """Return a frame as text, with numbers aligned right.

    >>> print(plain(pl.DataFrame({"day": ["Monday"], "rows": [12000]})))
    day       rows
    ──────  ──────
    Monday  12,000
    """
    numbers = [dtype.is_integer() for dtype in frame.dtypes]
    cells = [
        tuple(f"{x:,}" if number and x is not None else cell(x) for x, number in zip(r.values(), numbers, strict=True))
        for r in rows(frame)
    ]
    left = tuple(i for i, number in enumerate(numbers) if not number)
    return "\n".join(table(tuple(frame.columns), cells, left, width))
