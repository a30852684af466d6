"""Findings of a check: the verdicts of all rules or requirements, and whether the check passes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from streammetrics import text
from streammetrics.errors import SpecificationError
from streammetrics.system.public import publish


@dataclass(frozen=True)
class Findings:
    """Verdicts of `Report.check` or `check`. ``frame`` has one row per rule, group, and key, such as the threshold.

    Columns: ``rule``, ``where``, ``rows``, ``value``, ``lower`` and ``upper`` (certified bounds), ``ci_lower`` and
    ``ci_upper`` (each endpoint at the confidence level, null without an interval), ``verdict``, ``passes``, and
    ``note``. Rules of a history add ``name``, ``severity``, ``windows`` (the first and the last), ``reference`` (the
    metric in the reference period if ``value`` is its change), ``since`` and ``e_value`` (of a rule with an alarm), and
    ``description``.

    The verdict is ``"holds"`` or ``"breached"`` if the certified bounds and the confidence interval, widened by them,
    are on one side of the limit, ``"open"`` (inconclusive) if not, ``"too few rows"`` if a group has fewer than
    ``min_rows`` rows, and ``"undefined"`` without a value. If there are more than forty rows, printing shows only rules
    that do not hold.

    ``by`` has the group columns, and ``"model"``.

    >>> found = Findings(pl.DataFrame({"verdict": ["holds", "breached"], "passes": [True, False]}))
    >>> found.hold, found.frame["verdict"].to_list()
    (False, ['holds', 'breached'])
    """

    frame: pl.DataFrame
    by: tuple[str, ...] = ()

    @property
    def hold(self) -> bool:
        """Whether the check passes: no rule is breached or undefined, except for rules of severity ``"warn"``.

        ``"open"`` and ``"too few rows"`` also pass, unless the check or the rule has ``open="fail"``.
        """
        return bool(self.frame["passes"].all())

    def __bool__(self) -> bool:
        raise SpecificationError("Findings are neither true nor false. Use .hold, which is whether the check passes.")

    def __str__(self) -> str:
        return text.findings(self.frame, text.terminal_width(), self.by)

    def __repr__(self) -> str:
        return str(self)


publish("streammetrics", Findings)
