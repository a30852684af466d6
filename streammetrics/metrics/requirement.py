"""A limit on a metric, written as text: ``"roc_auc >= 0.8"``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from streammetrics.errors import MetricError
from streammetrics.frame import LIMITS
from streammetrics.metrics.levels import above, at_least, at_most, below
from streammetrics.metrics.metric import parse_metric

COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    "<=": at_most,
    ">=": at_least,
    "<": below,
    ">": above,
}
_FORM = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


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
        """Parse a requirement.

        Raises:
            MetricError: If the text is not a requirement.
        """
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise MetricError(f"Cannot read {text!r} as a requirement. Write one such as 'roc_auc >= 0.8'.")
        metric, comparison, limit = match.groups()
        parse_metric(metric)
        return cls(metric, comparison, float(limit))

    @property
    def wants_high(self) -> bool:
        """Whether the limit is a minimum."""
        return self.comparison.startswith(">")

    def holds(self, value: Any) -> Any:
        """Return whether a value, or each value of an expression, meets the requirement.

        A value within a relative distance of 1e-12 of the limit is equal to it (see `streammetrics.metrics.levels`).

        >>> Requirement.parse("recall <= 0.3").holds(0.1 + 0.2)
        True
        """
        return COMPARISONS[self.comparison](value, self.limit)

    def verdict(self) -> pl.Expr:
        """Return what estimates with bounds and confidence limits say of the requirement.

        It ``"holds"`` or is ``"breached"`` if the certified bounds and the confidence interval, if there is one, are on
        one side of the limit. Otherwise it is ``"open"``, or ``"undefined"`` without a value.

        >>> bounds = {"value": [0.8, 0.8, 0.7, None], "lower": [0.8, 0.8, 0.7, None], "upper": [0.8, 0.8, 0.7, None]}
        >>> frame = pl.DataFrame(bounds | {"ci_lower": [None, 0.7, 0.6, None], "ci_upper": [None, 0.9, 0.74, None]})
        >>> frame.select(Requirement.parse("recall >= 0.75").verdict()).to_series().to_list()
        ['holds', 'open', 'breached', 'undefined']
        """
        worse, better = ("lower", "ci_lower"), ("upper", "ci_upper")
        if not self.wants_high:
            worse, better = better, worse
        no_interval = pl.all_horizontal(pl.col(LIMITS).is_null())

        def all_meet(bound: str, limit: str, wanted: bool) -> pl.Expr:
            by_bound, by_limit = (self.holds(pl.col(name)) == wanted for name in (bound, limit))
            found: pl.Expr = by_bound & (no_interval | by_limit.fill_null(False))
            return found

        return (
            pl.when(pl.col("value").is_null())
            .then(pl.lit("undefined"))
            .when(all_meet(*worse, True))
            .then(pl.lit("holds"))
            .when(all_meet(*better, False))
            .then(pl.lit("breached"))
            .otherwise(pl.lit("open"))
        )

    def __str__(self) -> str:
        return f"{self.metric} {self.comparison} {self.limit:g}"
