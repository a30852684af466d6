"""Reports as short aligned text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

LONGEST = 40
MODEST = 6  # digits shown where a value is exact


def number(value: float | None, lower: float | None, upper: float | None) -> str:
    """A value with as many digits as its bounds justify.

    >>> number(0.8541234, 0.8540, 0.8543), number(0.5, 0.5, 0.5), number(None, None, None)
    ('0.8541', '0.5', '–')
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    half = half_width(lower, upper)
    digits = MODEST if not half else max(1, min(MODEST, math.floor(-math.log10(half)) + 1))
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if abs(value) >= 1e-4 else f"{value:.3g}"


def half_width(lower: float | None, upper: float | None) -> float:
    """Half of the distance between two bounds, 0 where there are none."""
    if lower is None or upper is None or lower == upper:
        return 0.0
    return (upper - lower) / 2


def bound(lower: float | None, upper: float | None) -> str:
    """How far the truth can be from the value.

    >>> bound(0.8540, 0.8543), bound(0.5, 0.5), bound(None, None)
    ('± 0.00015', 'exact', '')
    """
    if lower is None:
        return ""
    half = half_width(lower, upper)
    return f"± {half:.2g}" if half else "exact"


def render(frame: pl.DataFrame, by: list[str]) -> str:
    """A report's frame as text: metrics below each other, or, where there are groups, one row for each."""
    kept = [c for c in frame.columns if c not in (*by, "metric", "value", "lower", "upper", "note")]
    labels = pl.concat_str(
        pl.col("metric"),
        *(
            pl.when(pl.col(k).is_not_null()).then(pl.format(f" {k[0]}={{}}", pl.col(k))).otherwise(pl.lit(""))
            for k in kept
        ),
    )
    several = frame.select(kept).unique().drop_nulls().height > 1 if kept else False
    frame = frame.with_columns(label=labels if several else pl.col("metric"))
    return _segments(frame, by) if by else _list(frame)


def _list(frame: pl.DataFrame) -> str:
    rows = [
        (r["label"], number(r["value"], r["lower"], r["upper"]), bound(r["lower"], r["upper"]), r["note"] or "")
        for r in frame.iter_rows(named=True)
    ]
    return _align(("metric", "value", "bound", "note"), rows, left=(0, 2, 3))


def _segments(frame: pl.DataFrame, by: list[str]) -> str:
    labels = frame["label"].unique(maintain_order=True).to_list()
    cells: dict[tuple[object, ...], dict[str, str]] = {}
    for r in frame.iter_rows(named=True):
        cells.setdefault(tuple(r[c] for c in by), {})[r["label"]] = number(r["value"], r["lower"], r["upper"])
    shown = list(cells.items())[:LONGEST]
    rows = [(*("null" if k is None else str(k) for k in keys), *(v.get(m, "") for m in labels)) for keys, v in shown]
    table = _align((*by, *labels), rows, left=tuple(range(len(by))))
    more = len(cells) - len(shown)
    return table + (f"\n… and {more:,} more groups" if more else "")


def _align(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: tuple[int, ...]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    lines = [header, tuple("─" * w for w in widths), *rows]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
