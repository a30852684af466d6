"""Numbers as text: two digits of their uncertainty, with the same decimals in a column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import median_low
from typing import Any, TypeAlias

from streammetrics.base.frame import LIMITS, VALUE

Row: TypeAlias = Mapping[str, Any]  # a value, and its bounds and interval, if it has any

MODEST = 6  # digits of an exact value
OFF_CENTER = 1.25  # distance to the farther bound, in half widths, from which a value is off center
NEARLY_0 = 1e-3  # distance from 0, in widths of the interval, within which an endpoint is shown as 0
MOST = 12  # decimals
NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")
SAME = 1e-9  # relative distance within which two numbers are the same
SMALL = 1e-4  # largest exact value that is shown with an exponent
LARGE = 1e15  # smallest value that is shown with an exponent
SMALLEST = 1e-6  # smallest difference that is shown


def value_text(row: Row) -> str:
    """Return a value as text, with two digits of its uncertainty: the wider of its interval and its bounds.

    >>> value_text({"value": 0.8541234, "lower": 0.85412, "upper": 0.85452, "ci_lower": 0.84, "ci_upper": 0.86})
    '0.854'
    >>> value_text({"value": 0.8541234, "lower": 0.854, "upper": 0.8543})
    '0.85412'
    >>> value_text({"value": 1792.3, "lower": 1e3, "upper": 2e3})
    '1,792'
    >>> [value_text({"value": value}) for value in (0.5, 12000.0, 3712.552517, 0.0000123456, None, math.inf)]
    ['0.5', '12,000', '3,712.553', '1.23e-05', '–', '∞']
    """
    return _text(row, decimals(row))


def value_texts(rows: Sequence[Row], typical: int | None = None) -> list[str]:
    """Return the values of a column as text, with the decimals that at least half of its uncertain values justify.

    A value whose uncertainty is smaller than the last of them has decimals of its own.

    Args:
        rows: The rows of a metric.
        typical: Decimals if no value is uncertain, from `typical_decimals`. Defaults to as many as needed.

    >>> value_texts([{"value": 0.8541234, "lower": 0.8540, "upper": 0.8543}, {"value": 0.5}])
    ['0.85412', '0.50000']
    >>> wide, narrow = {"ci_lower": 0.1, "ci_upper": 0.3}, {"ci_lower": 0.0004, "ci_upper": 0.0008}
    >>> value_texts([{"value": 0.54321, "lower": 0.5432, "upper": 0.5433}, {"value": 0.2, **wide}])
    ['0.54321', '0.20']
    >>> value_texts([{"value": 0.2, **wide}] * 2 + [{"value": 0.0006, **narrow}])
    ['0.20', '0.20', '0.00060']
    >>> value_texts([{"value": 0.375}, {"value": 0.349609}, {"value": None}])
    ['0.375000', '0.349609', '–']
    >>> value_texts([{"value": value} for value in (0.474074, 0.003593, -3.2)], typical=2)
    ['0.47', '0.00359', '-3.20']
    >>> value_texts([{"value": 0.001673}], typical=3)
    ['0.0017']
    """
    uncertain = [decimals(row) for row in rows if row["value"] is not None and uncertainty(row)]
    needed = max(map(decimals, rows), default=0)
    if uncertain:
        usual = median_low(uncertain)
    elif typical is None:
        usual = needed
    else:  # and at least two digits
        sizes = [digits(abs(row["value"])) for row in rows if row["value"]]
        usual = min(needed, max(typical, median_low(sizes or [0])))
    needs_more = [bool(uncertainty(row)) and decimals(row) > usual + 1 for row in rows]
    return [_text(row, decimals(row) if more else usual) for row, more in zip(rows, needs_more, strict=True)]


def typical_decimals(rows: Iterable[Row]) -> int | None:
    """Return the usual number of decimals of shares with intervals; None if there are none."""
    sampled = (row for row in rows if row["value"] is not None and width(row.get("ci_lower"), row.get("ci_upper")))
    shares = [decimals(row) for row in sampled if abs(row["value"]) <= 1]
    return median_low(shares) if shares else None


def decimals(row: Row) -> int:
    """Return the number of decimals that show two digits of the uncertainty of a value, or six of an exact one.

    >>> decimals({"value": 0.8541234, "ci_lower": 0.84, "ci_upper": 0.86}), decimals({"value": 0.8541234})
    (3, 6)
    """
    value = row["value"]
    if value is None or not math.isfinite(value):
        return 0
    if wide := uncertainty(row):
        return digits(wide)
    exact = f"{value:.{max(0, MODEST - math.floor(math.log10(max(abs(value), 1))))}f}"
    return len(exact.partition(".")[2].rstrip("0"))


def uncertainty(row: Row) -> float:
    """Return the width of the interval or of the bounds of a value, whichever is wider; 0 if it is exact."""
    ends = ((row.get("lower"), row.get("upper")), (row.get("ci_lower"), row.get("ci_upper")))
    return max(width(*pair) for pair in ends)


def width(lower: float | None, upper: float | None) -> float:
    """Return the distance between two numbers, or 0 if there are none or if they differ by rounding alone.

    >>> width(0.5, 0.75), width(0.1 + 0.2, 0.3), width(None, None)
    (0.25, 0.0, 0.0)
    """
    if lower is None or upper is None or math.isclose(lower, upper, rel_tol=SAME):
        return 0.0
    return upper - lower


def digits(width: float) -> int:
    """Return the number of decimals that show two digits of the width of an interval.

    >>> digits(0.014), digits(25.0), digits(0.0)
    (3, 0, 6)
    """
    return max(0, min(MOST, 1 - math.floor(math.log10(width) + SAME))) if 0 < width < math.inf else MODEST


def _text(row: Row, decimals: int) -> str:
    value = row["value"]
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    is_hidden = value and (abs(value) < SMALL or not round(value, decimals)) and not uncertainty(row)
    return f"{value:.3g}" if is_hidden or abs(value) >= LARGE else f"{value:z,.{decimals}f}"


def compared(row: Row) -> list[str]:
    """Return two values and their difference as text, with the decimals of the difference.

    A difference that would be shown as 0 has its first nonzero digit, unless it comes from rounding or is tiny.

    >>> compared({"a": 0.375, "b": 0.349609, "difference": -0.025391})
    ['0.375000', '0.349609', '-0.025391']
    >>> compared({"a": 0.375, "b": 0.349609, "difference": -0.025391, "lower": -0.026, "upper": -0.025})
    ['0.3750', '0.3496', '-0.0254']
    >>> compared({"a": 0.82512, "b": 0.82512, "difference": 0.0, "lower": -0.00029, "upper": 0.00029})
    ['0.82512', '0.82512', '0.00000']
    >>> interval = {"ci_lower": -0.011, "ci_upper": 0.012}
    >>> compared({"a": 0.0453, "b": 0.0451, "difference": -2e-4, **interval})
    ['0.0453', '0.0451', '-0.0002']
    >>> [compared({"a": 0.5, "b": 0.5 + d, "difference": d, **interval})[2] for d in (2e-4, -3e-8, 1e-17)]
    ['0.0002', '> -0.000001', '0.000']
    """
    values = [{**row, "value": row[column]} for column in ("a", "b", "difference")]
    if not uncertainty(row):
        return value_texts(values)
    places, size = decimals(values[-1]), abs(row["difference"])
    is_hidden = not round(size, places) and size > 1e-3 * SAME * max(abs(row["a"]), abs(row["b"]))
    if is_hidden and size >= SMALLEST:
        places = -math.floor(math.log10(size))
    texts = [_text(value, places) for value in values]
    if is_hidden and size < SMALLEST:
        texts[2] = f"< {SMALLEST:f}" if row["difference"] > 0 else f"> -{SMALLEST:f}"
    return texts


def rounded(row: Row) -> dict[str, Any]:
    """Return a value, its bounds, and its interval with two digits of the smaller uncertainty, bounds outward.

    An exact value, which equals its bounds, has six digits.

    >>> rounded({"value": 0.85412345, "lower": 0.85402, "upper": 0.854231, "ci_lower": 0.8412345, "ci_upper": 0.866})
    {'value': 0.85412, 'lower': 0.85402, 'upper': 0.85424, 'ci_lower': 0.84123, 'ci_upper': 0.866}
    >>> rounded({"value": 1 / 3, "lower": 1 / 3, "upper": 1 / 3}), rounded({"value": None, "lower": None})
    ({'value': 0.333333, 'lower': 0.333333, 'upper': 0.333333}, {'value': None, 'lower': None})
    >>> rounded({"value": -76.81, "lower": -76.81, "upper": -76.81, "ci_lower": -80.2, "ci_upper": -69.7})
    {'value': -76.81, 'lower': -76.81, 'upper': -76.81, 'ci_lower': -80.0, 'ci_upper': -70.0}
    """
    certain, sampled = (width(row.get(f"{end}lower"), row.get(f"{end}upper")) for end in ("", "ci_"))
    sizes = [size for size in (certain, sampled) if size]
    places = digits(min(sizes)) if sizes else decimals(row)
    exact = places if certain else max(places, decimals({"value": row["value"]}))
    outward = {"lower": ROUND_FLOOR, "upper": ROUND_CEILING} if certain else {}
    numbers = dict(row)
    for name, value in row.items():
        if isinstance(value, float) and math.isfinite(value):
            if name in outward:
                numbers[name] = float(_outward(value, places, outward[name]).replace(",", ""))
            else:
                numbers[name] = round(value, exact if name in VALUE else places)
    return numbers


def bound(value: float | None, lower: float | None, upper: float | None, text: str = "") -> str:
    """Return the certified bounds as text: ± half their width, rounded up, or as a range if the value is off center.

    ``text`` is that of the value, as for `bounds`.

    >>> bound(0.85415, 0.8540, 0.8543), bound(0.5, 0.5, 0.5), bound(1790.0, 1530.0, 2050.0), bound(None, None, None)
    ('± 0.00015', 'exact', '± 260', '')
    >>> bound(0.9e-5, 0.0, 1.8e-5), bound(0.0, 0.0, 0.36)
    ('± 0.0000090', '0.00 to 0.36')
    """
    if lower is None or upper is None:
        return ""
    half = width(lower, upper) / 2
    if not half:
        return "exact"
    reach = math.inf if value is None else max(value - lower, upper - value) * (1 - SAME)
    if not reach < OFF_CENTER * half:
        return bounds(lower, upper, text)
    up = float(Decimal(reach).quantize(Decimal(1).scaleb(math.floor(math.log10(reach)) - 1), ROUND_CEILING))
    if 10 <= up < 1e15:
        return f"± {up:,.0f}"
    return f"± {up:.{digits(up)}f}" if 1e-7 <= up < 1e-4 else f"± {up:.2g}"


def bounds(lower: float | None, upper: float | None, text: str = "") -> str:
    """Return the certified bounds as a range, rounded outward to two digits of half their width.

    If the text of the value is rounded to fewer decimals and so is outside, they have its decimals.

    >>> bounds(2672.0, 2688.5), bounds(0.854018, 0.854301), bounds(0.5, 0.5), bounds(0.5, math.inf)
    ('2,672.0 to 2,688.5', '0.85401 to 0.85431', 'exact', '0.5 to ∞')
    >>> bounds(1.99999999, math.inf), bounds(-math.inf, -1.99999999)
    ('1.999999 to ∞', '-∞ to -1.999999')
    >>> bounds(0.30603, 0.30711, "0.307"), bounds(0.30603, 0.30711, "0.306")
    ('0.30603 to 0.30711', '0.306 to 0.308')
    """
    if lower is None or upper is None:
        return ""
    if not (size := width(lower, upper)):
        return "exact"
    places = digits(size / 2)
    if NUMBER.fullmatch(text) and not lower <= float(text.replace(",", "")) <= upper:
        places = min(places, _decimals(text))
    low, high = _outward(lower, places, ROUND_FLOOR), _outward(upper, places, ROUND_CEILING)
    if math.isinf(size):
        low, high = (end.rstrip("0").rstrip(".") for end in (low, high))
    return f"{low} to {high}"


def _outward(end: float, places: int, rounding: str) -> str:
    if math.isinf(end):
        return _text({"value": end}, places)
    rounded = Decimal(repr(float(end))).quantize(Decimal(1).scaleb(-places), rounding, Context(prec=400))
    return f"{rounded:z,.{places}f}"


def interval(lower: float | None, upper: float | None, text: str = "") -> str:
    """Return a confidence interval as text, with two digits of its width, or fewer if the text of the value has fewer.

    >>> interval(0.74733, 0.76156), interval(0.497915, None), interval(None, None)
    ('0.747 to 0.762', '0.498 to ?', '')
    >>> interval(-0.0142, -0.00014), interval(130565.1, 131082.2)
    ('-0.014 to -0.0001', '130,565 to 131,082')
    """
    if lower is None and upper is None:
        return ""
    size = abs(upper - lower) if lower is not None and upper is not None else abs(lower or upper or 0.0) / 10
    places, ends = min(digits(size), _decimals(text)), []
    for end in (lower, upper):
        if end is None:
            ends.append("?")
        elif not size:
            ends.append(value_text({"value": end}))
        else:  # an end that is not 0 is not shown as 0
            is_hidden = not round(end, places) and abs(end) >= NEARLY_0 * size
            ends.append(f"{end:z,.{-math.floor(math.log10(abs(end))) if is_hidden else places}f}")
    return " to ".join(ends)


def _decimals(text: str) -> int:
    """The number of decimals of a text, or the most possible one if it is not a number."""
    return len(text.partition(".")[2]) if NUMBER.fullmatch(text) else MOST


def in_units(row: Row) -> tuple[Row, str]:
    """Return the numbers of a verdict, and their unit: percent if the margin of its rule is in percent.

    Rules of a history have windows, and no margin. Their text can end with the name of a model.

    >>> in_units({"rule": "log_loss not worse by 0.5%", "value": 0.002, "lower": None})
    ({'rule': 'log_loss not worse by 0.5%', 'value': 0.2, 'lower': None}, '%')
    """
    if row.get("windows") is not None or not row["rule"].endswith("%"):
        return row, ""
    numbers = (name for name in (*VALUE, *LIMITS) if name in row)
    return {**row, **{name: row[name] and 100 * row[name] for name in numbers}}, "%"


def amount(count: float) -> str:
    """Return a number of rows, or a sum of weights, as text.

    >>> amount(1234), amount(6782189.38), amount(0.123456)
    ('1,234', '6,782,189', '0.1235')
    """
    return f"{count:,.0f}" if count >= 100 else f"{count:,.4g}"


def cutoff(threshold: float, digits: int = 6) -> str:
    """Return a threshold as text, with more digits near 1, so that it does not read as 1.

    >>> cutoff(0.30000001), cutoff(0.119234, 3), cutoff(0.99968, 3), cutoff(1 - 2e-8), cutoff(-4.5)
    ('0.3', '0.119', '0.9997', '0.99999998', '-4.5')
    """
    texts = (f"{threshold:.{n}g}" for n in range(digits, 17))
    return next((text for text in texts if math.isclose(1 - float(text), 1 - threshold, rel_tol=0.1)), repr(threshold))


def percentage(share: float) -> str:
    """Return a share as a percentage with two decimals, or more within 0.01% of 0% or 100%. Only 0 is shown as 0%.

    >>> percentage(0.27958), percentage(0.9999), percentage(8 / 600_000), percentage(1 - 8 / 600_000)
    ('27.96%', '99.99%', '0.0013%', '99.9987%')
    >>> percentage(-1e-17), percentage(1.0)
    ('0%', '100%')
    """
    distance = 100 * min(abs(share), abs(1 - share))
    decimals = 2 if distance >= 0.01 * (1 - SAME) else digits(distance)
    return f"{100 * share:.{decimals}f}%" if distance > SAME else f"{share:z.0%}"


def whole_percentage(share: float) -> str:
    """Return a share as a whole percentage, for little room. Only 0 is shown as 0%, and only 1 as 100%.

    >>> whole_percentage(0.9944), whole_percentage(0.997), whole_percentage(0.004), whole_percentage(0.0)
    ('99%', '>99%', '<1%', '0%')
    """
    percent = round(100 * share)
    if percent in (0, 100) and percentage(share) != f"{percent}%":
        return ">99%" if percent else "<1%"
    return f"{percent}%"
