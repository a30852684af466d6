"""A limit on a metric, written as text: ``"roc_auc >= 0.8"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from streammetrics.base import above, at_least, at_most, below, of_percent
from streammetrics.errors import MetricError
from streammetrics.metrics.metric import parse_metric

COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    "<=": at_most,
    ">=": at_least,
    "<": below,
    ">": above,
}
_FORM = re.compile(r"\s*(.*[\w)])\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Requirement:
    """A limit that a metric must not pass.

    >>> Requirement.parse("fbeta(beta=2)>=0.5")
    Requirement(metric='fbeta(beta=2)', comparison='>=', limit=0.5)
    """

    metric: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Parse a requirement."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            advice = of_percent(re.split("[<>=]", str(text))[-1]) if "%" in str(text) else ""
            raise MetricError(
                f"Cannot read {text!r} as a requirement. Write one such as 'roc_auc >= 0.8' or 'mae <= 3'.{advice}"
            )
        metric, comparison, limit = match.groups()
        parse_metric(metric)
        return cls(metric, comparison, float(limit))

    def require_within(self, low: float, high: float) -> None:
        """Reject a limit outside the range of the metric, such as a percentage."""
        if not low <= self.limit <= high:
            advice = of_percent(self.limit) if high == 1 else ""
            raise MetricError(f"The limit of {self} must be between {low:g} and {high:g}, got {self.limit:g}.{advice}")

    @property
    def wants_high(self) -> bool:
        """Whether the limit is a minimum."""
        return self.comparison.startswith(">")

    def holds(self, value: Any) -> Any:
        """Return whether a value, or each value of an expression, meets the requirement.

        A value within a relative distance of 1e-12 of the limit is equal to it (see `streammetrics.base.rounding`).

        >>> Requirement.parse("recall <= 0.3").holds(0.1 + 0.2)
        True
        """
        return COMPARISONS[self.comparison](value, self.limit)

    def __str__(self) -> str:
        limit = f"{self.limit:g}" if float(f"{self.limit:g}") == self.limit else repr(self.limit)
        return f"{self.metric} {self.comparison} {limit}"


def requirements(constraints: str | Sequence[str] | None) -> list[Requirement]:
    """Parse requirements in one text or in several, joined by ``and``.

    >>> [str(requirement) for requirement in requirements("fpr <= 0.01 and precision >= 0.5")]
    ['fpr <= 0.01', 'precision >= 0.5']
    """
    texts = [constraints] if isinstance(constraints, str) else constraints or []
    return [Requirement.parse(part) for text in texts if text for part in text.split(" and ")]
