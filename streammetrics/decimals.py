"""Values of a column or a card as text, with the same number of decimals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_high
from typing import Any, TypeAlias

from streammetrics.text import half_width, number, said

Row: TypeAlias = Mapping[str, Any]


def padded(values: Sequence[float | None]) -> list[str]:
    """Return values as text, with as many decimals as any of them needs.

    >>> padded([0.375, 0.349609, None])
    ['0.375000', '0.349609', '–']
    """
    shown = [number(value, None, None) for value in values]
    most = max(map(_decimals, shown), default=0)
    return [_shown(value, text, most) for value, text in zip(values, shown, strict=True)]


def alike(rows: Sequence[Row], typical: int | None = None) -> list[str]:
    """Return the values of a metric as text, with the usual number of decimals that their bounds and intervals justify.

    Args:
        rows: The rows of a metric.
        typical: Decimals of shares without bounds and intervals, from `typical_of`. Defaults to those needed.

    >>> alike([{"value": 0.8541234, "lower": 0.8540, "upper": 0.8543}, {"value": 0.5, "lower": 0.5, "upper": 0.5}])
    ['0.8541', '0.5000']
    >>> alike([{"value": 0.474074, "lower": None, "upper": None}], typical=2)
    ['0.47']
    """
    shown, values = [said(row) for row in rows], [row["value"] for row in rows]
    justified = [_decimals(text) for row, text in zip(rows, shown, strict=True) if _is_uncertain(row)]
    if justified:
        decimals = median_high(justified)
    elif typical is None or any(_is_large(value) for value in values):
        return padded(values)
    else:
        decimals = min(typical, max(map(_decimals, shown), default=0))
    return [_shown(value, text, decimals) for value, text in zip(values, shown, strict=True)]


def typical_of(rows: Iterable[Row]) -> int | None:
    """Return the usual number of decimals of shares with intervals; None if there are none."""
    shares = [_decimals(said(row)) for row in rows if _is_sampled(row) and not _is_large(row["value"])]
    return median_high(shares) if shares else None


def _shown(value: float | None, text: str, decimals: int) -> str:
    """A value with some decimals, unless it would be 0 or needs an exponent."""
    if value is None or not math.isfinite(value) or "e" in text or (value and not round(value, decimals)):
        return text
    return f"{value:z,.{decimals}f}"


def _decimals(text: str) -> int:
    return 0 if "e" in text else len(text.partition(".")[2])


def _is_large(value: float | None) -> bool:
    return value is not None and abs(value) > 1


def _is_uncertain(row: Row) -> bool:
    """Whether a value has bounds that differ, or an interval."""
    return (row["value"] is not None and bool(half_width(row["lower"], row["upper"]))) or _is_sampled(row)


def _is_sampled(row: Row) -> bool:
    return row["value"] is not None and bool(half_width(row.get("ci_lower"), row.get("ci_upper")))
