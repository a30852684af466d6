"""A limit on a metric, written as text: ``"roc_auc >= 0.8"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streammetrics.errors import MetricError
from streammetrics.metrics.metric import parse_metric

COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Requirement:
    """A metric, by name, that is to be above or below a limit.

    >>> Requirement.parse("fbeta(beta=2)>=0.5")
    Requirement(metric='fbeta(beta=2)', comparison='>=', limit=0.5)
    """

    metric: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read a requirement.

        Raises:
            MetricError: where the text is none.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise MetricError(f"{text!r} is not a requirement; write one like 'roc_auc >= 0.8'.")
        metric, comparison, limit = match.groups()
        parse_metric(metric)
        return cls(metric, comparison, float(limit))

    @property
    def wants_high(self) -> bool:
        """Whether high values meet it."""
        return self.comparison.startswith(">")

    def holds(self, value: Any) -> Any:
        """Whether a value, or each value of an expression, meets it."""
        return COMPARISONS[self.comparison](value, self.limit)

    def __str__(self) -> str:
        return f"{self.metric} {self.comparison} {self.limit:g}"
