"""All findings of a report, the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis import calibration, data, decisions, groups, ranking
from streammetrics.reading.diagnosis.finding import NAMED, Finding, Searched, listed, sorted_by_severity

if TYPE_CHECKING:
    from streammetrics.report import Report

ERROR = 0.05  # probability that a report has a false finding
BY_INTERVALS: Final[tuple[Callable[[Searched, float], Iterator[Finding]], ...]] = (
    ranking.direction,
    ranking.direction_of_groups,
    ranking.skill,
    ranking.majority,
    calibration.predicted_labels,
    calibration.shares,
    calibration.shares_of_groups,
    calibration.scores,
    calibration.errors,
    calibration.errors_of_groups,
    groups.worse,
)
BY_COUNTS: Final = (
    decisions.thresholds,
    decisions.labels,
    groups.twins,
    data.classes,
    data.scores,
    data.dropped,
    data.weights,
    data.rounding,
)


def findings(report: Report) -> list[Finding]:
    """Return what stands out in a report, the most important first. See `Report.findings`."""
    searched, error = Searched(report), ERROR / len(BY_INTERVALS)
    if not searched.total.rows("rows")["value"].sum():
        return []
    every = [finding for check in BY_INTERVALS for finding in check(searched, error)]
    every += [finding for check in BY_COUNTS for finding in check(searched)]
    kinds = groupby(sorted_by_severity(every), key=lambda finding: (finding.severity, finding.code))
    return [finding for _, findings in kinds for finding in _few([*findings])]


def _few(findings: list[Finding]) -> list[Finding]:
    """Findings of a severity and code. Of those about many labels, only the first, which names the other labels."""
    of_labels = [finding for finding in findings if LABEL in finding.keys]
    if len(of_labels) <= NAMED:
        return findings
    first, *others = of_labels
    names = [", ".join(str(v) for k, v in finding.keys.items() if k in (MODEL, LABEL)) for finding in others]
    sentence = f"{first} {first.code} is also found for {listed([*map(escaped, names)])}."
    return [finding for finding in findings if LABEL not in finding.keys] + [replace(first, sentence=sentence)]
