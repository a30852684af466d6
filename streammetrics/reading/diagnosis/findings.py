"""All findings of a report, the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final
from weakref import WeakKeyDictionary

from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis import calibration, data, decisions, groups, ranking
from streammetrics.reading.diagnosis.finding import NAMED, Finding, Searched, in_order, listed
from streammetrics.reading.readings import Readings

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
KNOWN: WeakKeyDictionary[Readings, tuple[Finding, ...]] = WeakKeyDictionary()  # a page and a terminal show the same
BY_COUNTS: Final = (decisions.thresholds, decisions.labels, groups.twins, data.classes, data.scores, data.dropped)


def findings(report: Readings) -> list[Finding]:
    """Return what stands out, the most important first: by severity, then by code.

    Findings about metrics are decided by confidence intervals, widened by the certified bounds. Their levels allow for
    all groups: if a model has no faults, at most 5% of its reports have such a finding of severity ``"bad"`` or
    ``"warn"``, other than slices that are harder to predict. Other findings are counts, such as those of dropped rows.
    The documentation has the reason for each code, and what to do.

    Returns:
        A list of `Finding`, empty if nothing stands out.

    >>> import streammetrics as sm
    >>> batch = {"y": [0, 0, 0, 1] * 250, "p": [0.1, 0.2, 0.3, 0.4] * 250}
    >>> found = sm.binary(y_true="y", y_score="p").update(batch).finalize().findings()
    >>> found[0].code, str(found[0])[:65]
    ('SM105', 'Wrong in ranges of scores: 60.00% of the positives are elsewhere.')
    """
    if report not in KNOWN:
        KNOWN[report] = tuple(_found(report))
    return list(KNOWN[report])


def _found(report: Readings) -> list[Finding]:
    searched, error = Searched(report), ERROR / len(BY_INTERVALS)
    if not searched.total.rows("rows")["value"].sum():
        return []
    every = [finding for check in BY_INTERVALS for finding in check(searched, error)]
    every += [finding for check in BY_COUNTS for finding in check(searched)]
    alike = groupby(in_order(every), key=lambda finding: (finding.severity, finding.code))
    return [finding for _, found in alike for finding in _few([*found])]


def _few(alike: list[Finding]) -> list[Finding]:
    """Findings of a severity and code. Of those about many labels, only the first, which names the other labels."""
    of_labels = [finding for finding in alike if LABEL in finding.keys]
    if len(of_labels) <= NAMED:
        return alike
    first, *others = of_labels
    names = [", ".join(str(v) for k, v in finding.keys.items() if k in (MODEL, LABEL)) for finding in others]
    sentence = f"{first} {first.code} is also found for {listed([*map(escaped, names)])}."
    return [finding for finding in alike if LABEL not in finding.keys] + [replace(first, sentence=sentence)]
