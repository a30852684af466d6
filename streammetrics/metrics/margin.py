"""A requirement on the difference of two evaluations, with a margin: ``"roc_auc not worse by 0.002"``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from streammetrics.base import as_float, of_percent, shown
from streammetrics.errors import MetricError
from streammetrics.metrics.metric import Metric
from streammetrics.metrics.requirement import Requirement
from streammetrics.metrics.wording import BEST, direction

Margins: TypeAlias = str | Sequence[str] | Mapping[str, float | str]

_AMOUNT = re.compile(r"\s*\+?((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")
_LIMITED = re.compile(r"[<>:]|==|=\s*$")  # of requirements, which have limits
_FORM = re.compile(r"\s*(.*[\w)])\s*=\s*([^()=]*)")


@dataclass(frozen=True)
class Margin:
    """How much a metric may worsen, or must improve, from one evaluation to the other.

    Args:
        metric: The metric.
        amount: The margin, in the units of the metric, or relative to its value in the first evaluation.
        relative: Whether the amount is relative.
        improves: Whether the metric must improve by more than the amount, not only worsen by at most the amount.

    >>> print(Margin("log_loss", 0.005, relative=True), Margin("recall", improves=True), sep=", ")
    log_loss not worse by 0.5%, recall better
    """

    metric: str
    amount: float = 0.0
    relative: bool = False
    improves: bool = False

    @classmethod
    def parse(cls, metric: str, amount: float | str, improves: bool) -> Margin:
        """Return the margin of a metric from a number, or a text such as ``"0.5%"``.

        Raises:
            MetricError: If the amount is not a number, or negative, or the metric has a limit instead of a margin.
        """
        text = amount if isinstance(amount, str) else str(as_float(amount))
        match = _AMOUNT.fullmatch(text) if isinstance(amount, float | int | str) else None
        if _LIMITED.search(metric):
            raise MetricError(
                f"Cannot read {metric!r} as a metric with a margin. Write one such as 'roc_auc=0.002' or 'mae=1%'."
            )
        if match is None or isinstance(amount, bool) or not math.isfinite(float(match[1])):
            raise MetricError(
                f"The margin of {metric} must be a number of at least 0, such as 0.002, or '0.5%', got {shown(amount)}."
            )
        number, percent = match.groups()
        return cls(metric, float(number) / (100 if percent else 1), bool(percent), improves)

    def limit(self, metric: Metric) -> Requirement:
        """Return the limit on the change of the metric, or on its relative change.

        >>> from streammetrics.metrics import log_loss, roc_auc
        >>> [str(Margin("m", 0.002, improves=better).limit(m)) for m in (roc_auc, log_loss) for better in (False, True)]
        ['m >= -0.002', 'm > 0.002', 'm <= 0.002', 'm < -0.002']
        """
        preferred, (low, high) = direction(metric), metric.range
        if preferred is None:
            raise MetricError(
                f"{self.metric} has no preferred direction, so neither side is better. Check its value instead, "
                f"such as '{self.metric} <= 0.5'."
            )
        if self.relative and (low < 0 or metric.__name__ in BEST):
            raise MetricError(f"{self.metric} can be 0 or negative, so its margin cannot be relative. Pass a number.")
        if not self.relative and self.amount >= high - low:
            advice = f" For {self.amount:g}%, pass '{self.amount:g}%'." if of_percent(self.amount) else ""
            raise MetricError(f"The margin of {self.metric} must be below {high - low:g}, got {self.amount:g}.{advice}")
        sign = 1 if (preferred == "high") == self.improves else -1
        comparison = {"high": ">", "low": "<"}[preferred] + "=" * (not self.improves)
        return Requirement(self.metric, comparison, sign * self.amount if self.amount else 0.0)

    def __str__(self) -> str:
        amount = f"{100 * self.amount:.10g}%" if self.relative else f"{self.amount:g}"
        if self.improves:
            return f"{self.metric} better by {amount}" if self.amount else f"{self.metric} better"
        return f"{self.metric} not worse by {amount}" if self.amount else f"{self.metric} not worse"


def margins(texts: Margins, improves: bool) -> Iterator[Margin]:
    """Return the margins of metrics: of names, texts such as ``"roc_auc=0.002"``, or a mapping from names to amounts.

    >>> [str(margin) for margin in margins(["f1", "fbeta(beta=2)", "log_loss=1%"], improves=True)]
    ['f1 better', 'fbeta(beta=2) better', 'log_loss better by 1%']
    """
    if isinstance(texts, Mapping):
        yield from (Margin.parse(metric, amount, improves) for metric, amount in texts.items())
        return
    for text in [texts] if isinstance(texts, str) else texts:
        if not isinstance(text, str):
            raise MetricError(f"A margin must name a metric, such as 'roc_auc=0.002', got {shown(text)}.")
        match = _FORM.fullmatch(text)
        yield Margin.parse(match[1], match[2], improves) if match else Margin.parse(text, 0.0, improves)
