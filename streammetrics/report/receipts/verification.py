"""The differences of two receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from streammetrics.base import few, publish
from streammetrics.errors import escaped
from streammetrics.report.receipts.receipt import Receipt

ROUNDING = 1e-9  # of metrics whose sums of floats were added in another order, relative to the numbers of the metric
NUMBERS = (int, float)
LONGEST = 40  # characters of a value
CAUSES = {
    "specification": "the columns or the statistics are not those of the receipt",
    "rows": "rows are missing or were added",
    "dropped": "other rows were dropped",
    "truth": "true values, weights, units, or row IDs changed, or other rows were evaluated",
    "row": "predictions or scores changed, or belong to other rows, or other rows were dropped",
    "groups": "the number of groups changed",
    "digest": "the rows are the same, but their groups or counts are not",
    "metrics": "the counts are the same, but metrics are computed differently",
    "verdicts": "metrics are the same, but verdicts on requirements are not",
}
"""Compared fields in order, with what a first difference means."""


@dataclass(frozen=True)
class Verification:
    """What `verify` finds: whether an evaluation is that of a receipt.

    ``different`` has, for each field that differs, what is in the receipt and what was found, in the order in which
    fields depend on each other: the first is the cause.

    >>> found = Verification(1_000, {"rows": (1_000, 999)})
    >>> found.identical
    False
    >>> print(found)
    Different since 'rows', 1,000 in the receipt and 999 now: rows are missing or were added.
    """

    rows: int
    different: Mapping[str, tuple[Any, Any]]
    versions: tuple[str, str] = ("", "")

    @property
    def identical(self) -> bool:
        """Whether nothing differs."""
        return not self.different

    def __bool__(self) -> bool:
        return self.identical

    def __str__(self) -> str:
        if self.identical:
            return f"Identical: {self.rows:,} rows, with the same fingerprints, counts, metrics, and verdicts."
        first, *others = self.different
        place, expected, actual = _difference(*self.different[first], first == "metrics") or ("", None, None)
        also = f" Also different: {few(others)}." if others else ""
        versions = "" if len({*self.versions}) == 1 else " The receipt is of version {}, this is version {}."
        named = f"{first!r} ({place})" if place else repr(first)
        values = f"{_brief(expected)} in the receipt and {_brief(actual)} now"
        versions_text = versions.format(*map(_brief, self.versions))
        return escaped(f"Different since {named}, {values}: {CAUSES[first]}.{also}{versions_text}")


def compared(receipt: Receipt, again: Receipt) -> Verification:
    """Return the differences of two receipts."""
    parts = [_parts(each) for each in (receipt, again)]
    different = {f: (a, b) for f in CAUSES if _difference(a := parts[0][f], b := parts[1][f], f == "metrics")}
    return Verification(again.rows, different, (receipt.version, again.version))


def _parts(receipt: Receipt) -> dict[str, Any]:
    prints = {of: {m: fingerprints[of] for m, fingerprints in receipt.fingerprints.items()} for of in ("truth", "row")}
    return vars(receipt) | prints


def _difference(a: Any, b: Any, rounded: bool = False, scale: float = 0) -> tuple[str, Any, Any] | None:
    """Where two values first differ, and what each has there; None if they are equal.

    If they are ``rounded``, numbers can differ by rounding errors of numbers as large as ``scale``: a bias of almost 0
    is a sum of larger errors, as its interval is.
    """
    parts: Iterable[tuple[str, Any, Any]]
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        numbers = [abs(x) for x in (*a.values(), *b.values()) if rounded and isinstance(x, NUMBERS)]
        scale = max(numbers, default=0)
        equal, parts = a.keys() == b.keys(), [(str(key), a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b])]
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        equal, parts = len(a) == len(b), (("", *pair) for pair in zip_longest(a, b))
    elif rounded and isinstance(a, NUMBERS) and isinstance(b, NUMBERS):
        equal, parts = abs(a - b) <= ROUNDING * scale, ()
    else:
        equal, parts = bool(a == b), ()
    for key, one, other in parts:
        if difference := _difference(one, other, rounded, scale):
            place, one, other = difference
            return " ".join(filter(None, [key, place])), one, other
    return None if equal else ("", a, b)


def _brief(value: Any) -> str:
    text = "nothing" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


publish("streammetrics", Verification)
