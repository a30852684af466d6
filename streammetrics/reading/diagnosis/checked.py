"""What a report was checked for, without a finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from streammetrics.data import MODEL
from streammetrics.reading.diagnosis.calibration import BIAS, ECCE, RATIO
from streammetrics.reading.diagnosis.finding import Finding, Searched
from streammetrics.reading.diagnosis.groups import LOSSES
from streammetrics.reading.diagnosis.ranking import ACCURACY, AUC
from streammetrics.statistics import ConfusionCounts, ConfusionMatrix, ScoreHistogram, Statistic

Needed: TypeAlias = "str | type[Statistic]"


class Fault(NamedTuple):
    """A fault in words, the codes of its findings, and what can show it: any of some metrics and statistics."""

    name: str
    codes: tuple[str, ...]
    shown_by: tuple[Needed, ...]
    of: str = ""  # "groups" or "models", if a report without them cannot have it


FAULTS: Final = (
    Fault("swapped labels", ("SM201",), (AUC,)),
    Fault("a ranking by chance", ("SM202",), (AUC,)),
    Fault("worse than a constant", ("SM203", "SM205"), ("log_loss_skill", "r2")),
    Fault("overconfidence", ("SM100", "SM105"), (ECCE,)),
    Fault("too many or too few positives", ("SM101",), (RATIO,)),
    Fault("errors that are not 0 on average", ("SM103",), (BIAS,)),
    Fault("groups that are further off", ("SM102", "SM104"), (RATIO, BIAS), "groups"),
    Fault("worse groups", ("SM401",), LOSSES, "groups"),
    Fault("accuracy below that of the most frequent label", ("SM204",), (ACCURACY,)),
    Fault("thresholds without effect", ("SM301", "SM302"), (ConfusionCounts,)),
    Fault("labels that are never predicted", ("SM303",), (ConfusionMatrix,)),
    Fault("models that are the same", ("SM601",), ("rows",), "models"),
    Fault("dropped rows", ("SM501",), ("rows",)),
    Fault("few rows of a class", ("SM502", "SM503"), ("positives",)),
    Fault("ties", ("SM504",), (ScoreHistogram,)),
    Fault("wide bounds", ("SM505",), (ScoreHistogram,)),
)
"""What `findings` looks for. Facts on weights and rounding are no faults."""


def faults_not_found(searched: Searched, findings: Iterable[Finding]) -> list[str]:
    """Return the faults that a report could have shown, and that are in none of its findings."""
    codes = {finding.code for finding in findings}
    has = {"": True, "groups": bool(searched.columns), "models": MODEL in searched.total.by}

    def shows(needed: Needed) -> bool:
        return searched.has(needed) if isinstance(needed, str) else searched.statistic(needed)

    checked = (fault for fault in FAULTS if has[fault.of] and any(map(shows, fault.shown_by)))
    return [fault.name for fault in checked if not codes & {*fault.codes}]
