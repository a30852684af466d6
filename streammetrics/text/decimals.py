"""Numbers as text, with as many decimals as their bounds and intervals justify, equal in a column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import median_high
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]

MODEST = 6  # digits of an exact value
OFF_CENTER = 1.25  # distance to the farther bound, in half widths, from which a value is off center
NEARLY_0 = 1e-3  # distance from 0, in widths of the interval, within which an endpoint is shown as 0
ROUNDING = 1e-9
SMALLEST = 1e-6  # smallest difference that is shown


def number(value: float | None, lower: float | None, upper: float | None) -> str:
    """Return a value as text, with as many digits as its bounds justify.

    >>> number(0.8541234, 0.8540, 0.8543), number(0.5, 0.5, 0.5), number(12000.0, None, None), number(None, None, None)
    ('0.8541', '0.5', '12,000', '–')
    >>> number(1792.3, 1530.0, 2050.0), number(3712.552517, None, None)
    ('1,792', '3,712.553')
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    if half := half_width(lower, upper):
        return f"{value:z,.{max(0, min(MODEST, math.floor(-math.log10(half)) + 1))}f}"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.3g}"
    shown = f"{value:,.{max(0, MODEST - math.floor(math.log10(max(abs(value), 1))))}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def said(row: Row) -> str:
    """A value as text, with the decimals of its interval, or else those that its bounds justify.

    Without an interval, decimals are added if the rounded value would be outside its bounds.

    >>> said({"value": 0.8541234, "lower": 0.85412, "upper": 0.85452, "ci_lower": 0.84, "ci_upper": 0.86})
    '0.854'
    >>> said({"value": 0.8541234, "lower": 0.8540, "upper": 0.8543})
    '0.8541'
    >>> said({"value": 0.8541234, "lower": 0.85412, "upper": 0.85452})
    '0.85412'
    """
    value, lower, upper, ends = row["value"], row["lower"], row["upper"], (row.get("ci_lower"), row.get("ci_upper"))
    if value is None or None not in ends:
        return beside(value, *ends)
    shown, most = number(value, lower, upper), digits(half_width(lower, upper))
    if _is_within(value, _decimals(shown), lower, upper):
        return shown
    within = (some for some in range(_decimals(shown), most) if _is_within(value, some, lower, upper))
    return f"{value:z,.{next(within, most)}f}"


def beside(value: float | None, low: float | None, high: float | None) -> str:
    """A value with as many decimals as the interval beside it.

    >>> beside(0.8541234, 0.84, 0.86), beside(0.8541234, None, None), beside(28672.4, 28000.0, 30000.0)
    ('0.854', '0.854123', '28,672')
    """
    if value is None or not math.isfinite(value) or low is None or high is None or not low < high:
        return number(value, None, None)
    return f"{value:z,.{digits(high - low)}f}"


def half_width(lower: float | None, upper: float | None) -> float:
    """Return half the distance between two bounds, or 0 if there are none or if they differ by rounding alone.

    >>> half_width(0.5, 0.75), half_width(0.1 + 0.2, 0.3), half_width(None, None)
    (0.125, 0.0, 0.0)
    """
    if lower is None or upper is None or math.isclose(lower, upper, rel_tol=ROUNDING):
        return 0.0
    return (upper - lower) / 2


def bound(value: float | None, lower: float | None, upper: float | None, shown: str = "") -> str:
    """Return the certified bounds as text: ± half their width, rounded up, or as a range if the value is off center.

    ``shown`` is the text of the value, as for `bounds`.

    >>> bound(0.85415, 0.8540, 0.8543), bound(0.5, 0.5, 0.5), bound(1790.0, 1530.0, 2050.0), bound(None, None, None)
    ('± 0.00015', 'exact', '± 260', '')
    >>> bound(0.9e-5, 0.0, 1.8e-5), bound(0.0, 0.0, 0.36)
    ('± 0.0000090', '0.00 to 0.36')
    """
    if lower is None or upper is None:
        return ""
    half = half_width(lower, upper)
    if not half:
        return "exact"
    reach = math.inf if value is None else max(value - lower, upper - value) * (1 - ROUNDING)
    if not reach < OFF_CENTER * half:
        return bounds(lower, upper, shown)
    up = float(Decimal(reach).quantize(Decimal(1).scaleb(math.floor(math.log10(reach)) - 1), ROUND_CEILING))
    if 10 <= up < 1e15:
        return f"± {up:,.0f}"
    return f"± {up:.{digits(up)}f}" if 1e-7 <= up < 1e-4 else f"± {up:.2g}"


def bounds(lower: float | None, upper: float | None, shown: str = "") -> str:
    """Return the certified bounds as a range, rounded outward to two digits of half their width.

    If the text of the value, ``shown``, is rounded to fewer decimals and so is outside, they have its decimals.

    >>> bounds(2672.0, 2688.5), bounds(0.854018, 0.854301), bounds(0.5, 0.5), bounds(0.5, math.inf)
    ('2,672.0 to 2,688.5', '0.85401 to 0.85431', 'exact', '0.5 to ∞')
    >>> bounds(0.30603, 0.30711, "0.307"), bounds(0.30603, 0.30711, "0.306")
    ('0.30603 to 0.30711', '0.306 to 0.308')
    """
    if lower is None or upper is None:
        return ""
    if not (half := half_width(lower, upper)):
        return "exact"
    if not math.isfinite(half):
        return f"{number(lower, None, None)} to {number(upper, None, None)}"
    decimals = digits(half)
    if re.fullmatch(r"-?[\d,]+(\.\d+)?", shown) and not lower <= float(shown.replace(",", "")) <= upper:
        decimals = min(decimals, _decimals(shown))
    return f"{_rounded(lower, decimals, ROUND_FLOOR)} to {_rounded(upper, decimals, ROUND_CEILING)}"


def _rounded(bound: float, decimals: int, way: str) -> str:
    shown = Decimal(repr(bound)).quantize(Decimal(1).scaleb(-decimals), way, Context(prec=400))
    return f"{shown:z,.{decimals}f}"


def interval(lower: float | None, upper: float | None) -> str:
    """Return a confidence interval as text, rounded to two digits of its width.

    >>> interval(0.74733, 0.76156), interval(0.497915, None), interval(None, None)
    ('0.747 to 0.762', '0.498 to ?', '')
    >>> interval(-0.0142, -0.00014), interval(130565.1, 131082.2)
    ('-0.014 to -0.0001', '130,565 to 131,082')
    """
    if lower is None and upper is None:
        return ""
    width = abs(upper - lower) if lower is not None and upper is not None else abs(lower or upper or 0.0) / 10
    return " to ".join("?" if end is None else _endpoint(end, width) for end in (lower, upper))


def _endpoint(end: float, width: float) -> str:
    if not width:
        return number(end, None, None)
    decimals = digits(width)
    if round(end, decimals) or abs(end) < NEARLY_0 * width:
        return f"{end:z,.{decimals}f}"
    return f"{end:.{-math.floor(math.log10(abs(end)))}f}"  # it is not 0


def digits(width: float) -> int:
    """Return the number of decimals that show two digits of the width of an interval.

    >>> digits(0.014), digits(25.0), digits(0.0)
    (3, 0, 6)
    """
    return max(0, min(12, 1 - math.floor(math.log10(width)))) if 0 < width < math.inf else MODEST


def amount(count: float) -> str:
    """Return a number of rows, or a sum of weights, as text.

    >>> amount(1234), amount(6782189.38), amount(0.123456)
    ('1,234', '6,782,189', '0.1235')
    """
    return f"{count:,.0f}" if count >= 100 else f"{count:,.4g}"


def percentage(share: float) -> str:
    """Return a share as a percentage with two decimals, or more within 0.01% of 0% or 100%. Only 0 is shown as 0%.

    >>> percentage(0.27958), percentage(0.9999), percentage(8 / 600_000), percentage(1 - 8 / 600_000)
    ('27.96%', '99.99%', '0.0013%', '99.9987%')
    >>> percentage(-1e-17), percentage(1.0)
    ('0%', '100%')
    """
    distance = 100 * min(abs(share), abs(1 - share))
    decimals = 2 if distance >= 0.01 * (1 - ROUNDING) else digits(distance)
    return f"{100 * share:.{decimals}f}%" if distance > ROUNDING else f"{share:z.0%}"


def whole_percentage(share: float) -> str:
    """Return a share as a whole percentage, for little room. Only 0 is shown as 0%, and only 1 as 100%.

    >>> whole_percentage(0.9944), whole_percentage(0.997), whole_percentage(0.004), whole_percentage(0.0)
    ('99%', '>99%', '<1%', '0%')
    """
    percent = round(100 * share)
    if percent in (0, 100) and percentage(share) != f"{percent}%":
        return ">99%" if percent else "<1%"
    return f"{percent}%"


def padded(values: Sequence[float | None]) -> list[str]:
    """Return values as text, with the same number of decimals: as many as any of them needs.

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
        typical: Decimals of shares without bounds and intervals, from `typical_of`. Defaults to as many as needed.

    >>> alike([{"value": 0.8541234, "lower": 0.8540, "upper": 0.8543}, {"value": 0.5, "lower": 0.5, "upper": 0.5}])
    ['0.8541', '0.5000']
    >>> wide, narrow = {"ci_lower": 0.1, "ci_upper": 0.3}, {"ci_lower": 0.0004, "ci_upper": 0.0008}
    >>> exact = {"lower": 0.2, "upper": 0.2}
    >>> alike([{"value": 0.54321, "lower": 0.5432, "upper": 0.5433}, {"value": 0.2, **exact, **wide}])
    ['0.54321', '0.20']
    >>> none = {"lower": None, "upper": None}
    >>> alike([{"value": 0.2, **none, **wide}] * 2 + [{"value": 0.0006, **none, **narrow}])
    ['0.20', '0.20', '0.00060']
    >>> alike([{"value": value, **none} for value in (0.474074, 0.003593, -3.2)], typical=2)
    ['0.47', '0.004', '-3.20']
    """
    shown, values = [said(row) for row in rows], [row["value"] for row in rows]
    counts = _is_sampled if any(map(_is_sampled, rows)) else _is_uncertain  # whose decimals count
    justified = [(row, _decimals(text)) for row, text in zip(rows, shown, strict=True) if counts(row)]
    if justified:
        usual = median_high(needed for _, needed in justified)
        decimals = max([usual, *(needed for row, needed in justified if not _is_bounded(row, usual))])
    elif typical is None or 2 * sum(map(_is_large, values)) > len(values):
        return padded(values)
    else:
        decimals = min(typical, max(map(_decimals, shown), default=0))
        shown = [f"{v:.1g}" if v and not round(v, decimals) else s for v, s in zip(values, shown, strict=True)]
    return [
        _shown(row["value"], text, decimals)
        if _is_bounded(row, decimals) and (not _is_sampled(row) or _is_inside(row, decimals))
        else text
        for row, text in zip(rows, shown, strict=True)
    ]


def centered(row: Row) -> Row:
    """A row with hidden bounds whose center is the value."""
    if row["value"] is None or not (half := half_width(row["lower"], row["upper"])):
        return row
    return {**row, "lower": row["value"] - half, "upper": row["value"] + half}


def compared(row: Row) -> list[str]:
    """Return two values and their difference as text, with the decimals of the difference.

    A difference that would be shown as 0 has its first nonzero digit, unless it comes from rounding or is tiny.

    >>> compared({"a": 0.375, "b": 0.349609, "difference": -0.025391, "lower": None, "upper": None})
    ['0.375000', '0.349609', '-0.025391']
    >>> compared({"a": 0.375, "b": 0.349609, "difference": -0.025391, "lower": -0.026, "upper": -0.025})
    ['0.3750', '0.3496', '-0.0254']
    >>> compared({"a": 0.82512, "b": 0.82512, "difference": 0.0, "lower": -0.00029, "upper": 0.00029})
    ['0.82512', '0.82512', '0.00000']
    >>> interval = {"lower": None, "upper": None, "ci_lower": -0.011, "ci_upper": 0.012}
    >>> compared({"a": 0.0453, "b": 0.0451, "difference": -2e-4, **interval})
    ['0.0453', '0.0451', '-0.0002']
    >>> [compared({"a": 0.5, "b": 0.5 + d, "difference": d, **interval})[2] for d in (2e-4, -3e-8, 1e-17)]
    ['0.0002', '> -0.000001', '0.000']
    """
    values = [row[column] for column in ("a", "b", "difference")]
    difference = {**row, "value": row["difference"] or row["upper"] or row["lower"] or 0.0}  # of 0: as its bounds
    if not _is_uncertain(difference):
        return padded(values)
    decimals, size = _decimals(said(difference)), abs(row["difference"])
    is_hidden = not round(size, decimals) and size > 1e-3 * ROUNDING * max(map(abs, values))
    if is_hidden and size >= SMALLEST:
        decimals = -math.floor(math.log10(size))
    shown = [f"{value:z,.{decimals}f}" if math.isfinite(value) else number(value, None, None) for value in values]
    if is_hidden and size < SMALLEST:
        shown[2] = f"< {SMALLEST:f}" if row["difference"] > 0 else f"> -{SMALLEST:f}"
    return shown


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


def _is_inside(row: Row, decimals: int) -> bool:
    """Whether a value with some decimals is within its interval."""
    return _is_within(row["value"], decimals, row["ci_lower"], row["ci_upper"])


def _is_bounded(row: Row, decimals: int) -> bool:
    """Whether a value with some decimals is within its bounds, or has an interval, whose decimals it then has."""
    return row["value"] is None or _is_sampled(row) or _is_within(row["value"], decimals, row["lower"], row["upper"])


def _is_within(value: float, decimals: int, lower: float | None, upper: float | None) -> bool:
    """Whether a value with some decimals is between two numbers that differ, if there are any."""
    if lower is None or upper is None or not half_width(lower, upper):
        return True
    return lower <= round(value, decimals) <= upper


def _is_sampled(row: Row) -> bool:
    return row["value"] is not None and bool(half_width(row.get("ci_lower"), row.get("ci_upper")))
