"""Values and names as they stand in tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.base.text.values import LONGEST_CELL, LONGEST_VALUE, NO_TEXT, dates, supported
from streammetrics.errors import cut, escaped

LONGEST = 40  # groups, or rows of a metric
FEW = 5  # values in a sentence
PREFIX = 3  # minimum number of characters of a name for longer names that begin with it


def rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Return the rows of a frame to show, with dates instead of datetimes if all of a column are at midnight.

    >>> list(rows(pl.select(day=pl.datetime(2026, 4, 1))))
    [{'day': datetime.date(2026, 4, 1)}]
    """
    return supported(frame.with_columns(map(dates, frame.get_columns()))).iter_rows(named=True)


def cell(value: object) -> str:
    """Return a value as text for a table.

    >>> cell(None), cell(0.5), cell("a\\tb"), cell("")
    ('null', '0.5', 'a\\\\tb', "''")
    """
    return cut(uncut(value), LONGEST_CELL)


def capitalized(text: str) -> str:
    """Return text that begins with a capital letter, and is otherwise the same.

    >>> capitalized("has ROC AUC 0.8")
    'Has ROC AUC 0.8'
    """
    return text[:1].upper() + text[1:]


def uncut(value: object) -> str:
    """Return a value as text that is not cut, for columns that are cut together so that values stay apart."""
    return "null" if value is None else escaped(str(value)) or NO_TEXT


def named(row: Mapping[str, object], keys: Sequence[str]) -> str:
    """Return the name of a metric with the values of its keys.

    >>> named({"metric": "recall", "threshold": 0.5, "label": None}, ["threshold", "label"])
    'recall @ 0.5'
    """
    return str(row["metric"]) + "".join(f" @ {cell(row[key])}" for key in keys if row[key] is not None)


def few(values: Iterable[object]) -> str:
    """Return the first of some values, and the number of further ones.

    >>> few("abc"), few(range(100)), few(range(6))
    ("'a', 'b', 'c'", '0, 1, 2, 3, 4 and 95 more', '0, 1, 2, 3, 4, 5')
    """
    texts = [cut(repr(value), LONGEST_VALUE) for value in values]
    most = shown_of(len(texts), FEW)
    return ", ".join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


def shown_of(size: int, most: int = LONGEST) -> int:
    """Return how many of some rows to show: never all but one, since that row takes no more room than a note.

    >>> shown_of(40), shown_of(41), shown_of(42)
    (40, 41, 40)
    """
    return size if size <= most + 1 else most


def near(name: str, names: Iterable[str], most: int = 2, cutoff: float = 0.6) -> list[str]:
    """Return longer names that begin with a name, then similar names, then the shortest with the same words.

    >>> near("click", ["p_click", "clicked", "day"])
    ['clicked', 'p_click']
    >>> near("region", ["day", "customer_region"])
    ['customer_region']
    """
    names = list(names)
    begins = sorted((n for n in names if len(name) >= PREFIX and n.lower().startswith(name.lower())), key=len)
    words = set(name.lower().split("_"))
    longer = sorted((n for n in names if words <= set(n.lower().split("_"))), key=len)
    return list(dict.fromkeys([*begins, *get_close_matches(name, names, n=most, cutoff=cutoff), *longer[:1]]))[:most]


def did_you_mean(name: str, names: Iterable[str], most: int = 2, cutoff: float = 0.6) -> str:
    """Return a question with similar names, after a space, or nothing.

    >>> did_you_mean("regresion", ["binary", "regression"])
    " Did you mean 'regression'?"
    """
    similar = near(name, names, most, cutoff)
    return f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def near_paths(path: str | Path) -> str:
    """Return a question with files and folders that have a similar name, after a space, or nothing."""
    missing = Path(path).expanduser()
    try:
        names = [p for p in sorted(missing.parent.iterdir()) if p != missing and not p.name.startswith((".", "_"))]
    except (OSError, ValueError):
        return ""
    stems = near(missing.stem, dict.fromkeys(name.stem for name in names))
    similar = [name for stem in stems for name in names if name.stem == stem]
    similar = [name for name in similar if name.suffix == missing.suffix] or similar
    return f" Did you mean {' or '.join(repr(str(other)) for other in similar[:2])}?" if similar else ""
