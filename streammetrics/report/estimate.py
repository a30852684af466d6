"""A single value of a report with its bounds and interval, which can be compared like a number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real

import polars as pl

from streammetrics import show
from streammetrics.base import STATUS, VALUE, rounded
from streammetrics.errors import ReportError
from streammetrics.show import estimate_table

UNPRINTED = (STATUS, "confidence")


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """A value with certified bounds for the evaluated rows.

    ``value`` is None if the metric is undefined; ``lower == value == upper`` if it is exact. ``note`` is a string or
    None, which says in words what ``status`` is a code of (see `Report.frame`). ``ci_lower`` and ``ci_upper`` are the
    endpoints of the interval at the level ``confidence``, if requested and valid.

    It is printed with two digits of its uncertainty. As a number, an estimate is its value: ``float(estimate)``,
    ``estimate >= 0.8``, and ``f"{estimate:.3f}"``. To use the certified bounds instead, compare ``estimate.lower`` or
    call `Report.check`.

    Raises:
        ReportError: If an undefined estimate is used as a number.

    >>> estimate = Estimate(0.85, 0.849, 0.851)
    >>> estimate
    Estimate(value=0.85, lower=0.849, upper=0.851)
    >>> float(estimate), estimate >= 0.8, f"{estimate:.1%}"
    (0.85, True, '85.0%')
    """

    value: float | None
    lower: float | None
    upper: float | None
    note: str | None = None
    ci_lower: float | None = None
    ci_upper: float | None = None
    status: str | None = None
    confidence: float | None = None

    def __repr__(self) -> str:
        row = rounded(vars(self))
        parts = [f"{k}={v!r}" for k, v in row.items() if k in VALUE or (v is not None and k not in UNPRINTED)]
        return f"Estimate({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return show.in_notebook((), [estimate_table(vars(self))])

    @property
    def exact(self) -> bool:
        """Whether the bounds equal the value."""
        return self.lower == self.upper

    def __float__(self) -> float:
        if self.value is None:
            raise ReportError(f"The estimate has no value (undefined: {self.note}). Check whether .value is None.")
        return self.value

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Estimate):
            return vars(self) == vars(other)
        return self.value == other if isinstance(other, Real) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Estimate | Real | float) -> bool:
        return self._ordered(operator.lt, other)

    def __le__(self, other: Estimate | Real | float) -> bool:
        return self._ordered(operator.le, other)

    def __gt__(self, other: Estimate | Real | float) -> bool:
        return self._ordered(operator.gt, other)

    def __ge__(self, other: Estimate | Real | float) -> bool:
        return self._ordered(operator.ge, other)

    def _ordered(self, order: Callable[[float, float], bool], other: object) -> bool:
        return order(float(self), float(other)) if isinstance(other, (Estimate, Real)) else NotImplemented


def estimate_of(row: pl.DataFrame, confidence: float | None) -> Estimate:
    """The estimate of the only row of a frame, with an interval of this level."""
    values = row.select(f.name for f in fields(Estimate) if f.name in row.columns).row(0, named=True)
    return Estimate(**values, confidence=confidence)
