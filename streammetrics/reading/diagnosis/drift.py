"""Findings of a drift: distributions, groups, and label rates that moved, and what the metrics did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streammetrics.base import LIMITS, VERDICT, capitalized, compared, interval, percentage
from streammetrics.data import MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis.comparison import findings_of_comparison
from streammetrics.reading.diagnosis.finding import (
    MANY,
    Finding,
    Row,
    Severity,
    finding,
    finding_of_groups,
    placed,
    sorted_by_severity,
)
from streammetrics.reading.differences import showing
from streammetrics.reading.drift.shifts import (
    IS_SHARE,
    LEAST,
    MEAN,
    MEDIAN,
    POSITIVE_RATE,
    POSITIVES,
    QUANTITY,
    RATE,
    SCALE,
    SIZE,
)
from streammetrics.reading.drift.verdicts import LARGE, LEVEL, MEANS, MEDIANS, NUMBERS, PSI, SMALL, drift_verdicts
from streammetrics.reading.score_distributions import distributions

if TYPE_CHECKING:
    from streammetrics.report import Comparison

VERDICTS: Final[dict[str, tuple[Severity, str]]] = {
    "stable": ("info", "are stable"),
    "open": ("info", "may have moved"),
    "moved": ("info", "moved"),
    "shifted": ("bad", "shifted"),
}
NAMES = {"y_score": "scores", "y_true": "true values", "y_pred": "predictions", "error": "errors"}
CONVENTION = {0.1: "below the usual limit of 0.1", 0.25: "between the usual limits of 0.1 and 0.25"}
DRIFTED = "above the usual limit of 0.25"  # of PSI


def findings_of_drift(sides: Comparison, names: Sequence[str], bins: int, rolling: bool) -> list[Finding]:
    """Return all findings: the distributions of all rows, then the others by severity and by code.

    PSI has so many bins. With a ``rolling`` reference, all rows cannot be compared, but only groups, or windows.
    """
    others = [*_groups(sides, names, bins, rolling)]
    if rolling:
        return others
    sides = replace(sides, confidence=sides.confidence or LEVEL)
    others += [*_rates(sides.total), *findings_of_comparison(sides)]
    if any(finding.code == "SM706" for finding in others):  # the same rows, which say nothing of others
        return sorted_by_severity(others)
    return [*_distributions(sides.total, names, bins), *sorted_by_severity(others)]


def _distributions(total: Comparison, names: Sequence[str], bins: int) -> Iterator[Finding]:
    """SM711: whether a distribution drifted."""
    for row in placed(drift_verdicts(total, names, bins, LEVEL).drop_nulls("difference"), total.b):
        if row["of"] == "y_true" and total.b.readable(RATE):
            continue  # whose distribution is the rate of positives
        sentence = f"{capitalized(_name(row['of']))} {VERDICTS[row[VERDICT]][1]}: {_changes(row)}.{_psi(row)}"
        yield finding(
            "SM711", _severity(row), sentence, {**row, "value": row["difference"]}, row[QUANTITY], _title(row)
        )


def _name(distribution: str) -> str:
    return NAMES.get(distribution, f"values of {escaped(distribution)}")


def _title(row: Row) -> str:
    """The change of the mean if it is certain, or else the verdict."""
    mean = {name: row[MEANS + name] for name in NUMBERS}
    low, high = (mean[end] for end in LIMITS)
    if row[VERDICT] in ("moved", "shifted") and low is not None and (low > 0 or high < 0):
        return f"{_name(row['of'])} {'rose' if low > 0 else 'fell'} {_ends(mean)} on average"
    return f"{_name(row['of'])} {VERDICTS[row[VERDICT]][1]}"


def _severity(row: Row) -> Severity:
    """A certain change of a small size is no warning."""
    psi = row[PSI + LIMITS[0]]
    is_small = row[SIZE] < SMALL and (psi is None or psi <= SMALL)
    return "warn" if row[VERDICT] == "moved" and not is_small else VERDICTS[row[VERDICT]][0]


def _changes(row: Row) -> str:
    """The changes of the mean, of the median, and of the quantity that decides the verdict."""
    texts = [_change({name: row[MEANS + name] for name in NUMBERS})]
    median = {name: row[MEDIANS + name] for name in NUMBERS}
    if row[QUANTITY] != MEDIAN and median["difference"] is not None:
        texts.append(f"the median {_ends(median)}")
    if row[QUANTITY] != MEAN:
        texts.append(f"the {row[QUANTITY]} {_change(row, row[QUANTITY])}")
    return "; ".join(texts)


def _change(row: Row, quantity: str = "") -> str:
    """Both values and the change with its interval, relative to the reference for rates and mean probabilities."""
    low, high, scale = row[LIMITS[0]], row[LIMITS[1]], row[SCALE]
    if not math.isfinite(row["difference"]):
        change, ends = "", ""
    elif row[IS_SHARE] and scale:
        change = f"{row['difference'] / scale:+z.0%}"
        ends = "" if low is None else f"{low / scale:+z.0%} to {high / scale:+z.0%}"
    else:
        change = compared(row)[2]
        ends = interval(low, high, change)
    size = ", ".join(filter(None, [change, ends or "no interval"]))
    return f"{_ends(row, quantity)}{'' if quantity else ' on average'} ({size})"


def _ends(row: Row, quantity: str = "") -> str:
    """Both values, rates in percent."""
    if quantity.startswith(POSITIVE_RATE):
        return f"from {percentage(row['a'])} to {percentage(row['b'])}"
    has_interval = row[LIMITS[0]] is not None and math.isfinite(row["difference"])
    a, b = compared(row)[:2] if has_interval else (f"{row[name]:.4g}" for name in ("a", "b"))
    return f"from {a} to {b}"


def _psi(row: Row) -> str:
    """PSI with its interval, if there is one, and beside its usual limits."""
    psi, low, high = (row[PSI + name] for name in ("value", *LIMITS))
    if psi is None:
        return ""
    ends = "" if low is None else f" ({low:.3f} to {high:.3f})"
    meaning = next((text for limit, text in CONVENTION.items() if psi < limit), DRIFTED)
    return f" PSI is {psi:.3f}{ends}, {meaning}."


def _groups(sides: Comparison, names: Sequence[str], bins: int, rolling: bool) -> Iterator[Finding]:
    """SM712: groups, or windows, whose distributions drifted."""
    keys = sides.b.state.keys
    named = [c for c in keys.columns if c != MODEL]
    columns = [named] if rolling else [[c] for c in named if keys[c].n_unique() > 1]
    for some in columns:
        number = keys.select(some).n_unique()
        if number > MANY:
            continue
        sides_of_groups = sides if rolling else sides.rollup(*some)
        level = 1 - (1 - LEVEL) / len(columns) / number
        frame = drift_verdicts(sides_of_groups, names, bins, level).drop_nulls("difference")
        for of in frame["of"].unique(maintain_order=True):
            groups = placed(frame.filter(of=of).with_columns(value="difference"), sides_of_groups.b)
            rows = sorted(groups, key=lambda row: -float(row[LEAST] or 0))
            rows = [row for row in rows if _severity(row) != "info"]
            beginning = f"{capitalized(_name(of))} drifted in groups of {escaped(', '.join(some))}"
            for row in rows[:1]:
                title = f"{_name(of)} drifted in {escaped(', '.join(some))}"
                yield from finding_of_groups("SM712", _severity(row), beginning, rows, _values, row[QUANTITY], title)


def _values(row: Row) -> str:
    return f"{row[QUANTITY]} {_ends(row, row[QUANTITY])}"


def _rates(total: Comparison) -> Iterator[Finding]:
    """SM713: the rate of positives changed, or that of predicted positives, which have no distribution of scores."""
    has_scores = "y_score" in distributions(total.b.state)
    names = {RATE: "positives"} | ({} if has_scores else {POSITIVES: "predicted positives"})
    for metric, what in names.items():
        if not (total.a.readable(metric) and total.b.readable(metric)):
            continue
        frame = showing(total, [metric], LEVEL).frame
        for row in placed(frame.drop_nulls(LIMITS).unique("a", maintain_order=True), total.b):
            if row["ci_lower"] > 0 or row["ci_upper"] < 0:
                severity: Severity = "warn" if abs(row["difference"]) > LARGE * row["a"] else "info"
                now, before = percentage(row["b"]), percentage(row["a"])
                sentence = f"The rate of {what} is {now}, and was {before}."
                title = f"the rate of {what} went from {before} to {now}"
                yield finding("SM713", severity, sentence, {**row, "value": row["difference"]}, metric, title)
