"""What a report is searched for: all findings, the most important first, and what was not found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis import calibration, data, decisions, groups, ranking
from streammetrics.reading.diagnosis.checked import faults_not_found
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
SHARE = ERROR / len(BY_INTERVALS)  # of each check
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


class Diagnosis:
    """What a report is searched for, each when it is asked for: findings need neither of the others."""

    def __init__(self, report: Report) -> None:
        self._searched = Searched(report)

    def findings(self) -> list[Finding]:
        """Return what stands out, the most important first. See `Report.findings`."""
        if not self._searched.total.rows("rows")["value"].sum():
            return []
        every = [finding for check in BY_INTERVALS for finding in check(self._searched, SHARE)]
        every += [finding for check in BY_COUNTS for finding in check(self._searched)]
        kinds = groupby(sorted_by_severity(every), key=lambda finding: (finding.severity, finding.code))
        return [finding for _, findings in kinds for finding in _few([*findings])]

    def not_found(self, findings: Iterable[Finding]) -> list[str]:
        """Return the faults that the report could have shown, and that are in none of its findings."""
        return faults_not_found(self._searched, findings)

    def ranks_well(self) -> bool:
        """Return whether the scores certainly rank well. False for reports of several models."""
        return ranking.ranks_well(self._searched, SHARE)


def _few(findings: list[Finding]) -> list[Finding]:
    """Findings of a severity and code. Of those about many labels, only the first, which names the other labels."""
    of_labels = [finding for finding in findings if LABEL in finding.keys]
    if len(of_labels) <= NAMED:
        return findings
    first, *others = of_labels
    names = [", ".join(str(v) for k, v in finding.keys.items() if k in (MODEL, LABEL)) for finding in others]
    sentence = f"{first} {first.code} is also found for {listed([*map(escaped, names)])}."
    return [finding for finding in findings if LABEL not in finding.keys] + [replace(first, sentence=sentence)]
