"""Findings of a drift: distributions, groups, and label rates that moved, and what the metrics did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

import polars as pl

from streammetrics.findings.finding import MANY, PLACE, WHERE, Finding, Row, Severity, found, in_order, listed, placed
from streammetrics.findings.sides import findings_of_sides
from streammetrics.present.drift import SHIFTED, STABLE, stability
from streammetrics.reading.differences import Differences
from streammetrics.rows.roles import MODEL
from streammetrics.text import escaped
from streammetrics.text.decimals import percentage

S = TypeVar("S", bound=Differences)
Measured: TypeAlias = Callable[[S, float], pl.DataFrame]  # measures of drift, at a confidence level

LEVEL = 0.95
PSI, RATE = "psi", "prevalence"
VERDICTS: Final[dict[str, tuple[Severity, str]]] = {
    "stable": ("info", "is stable"),
    "open": ("info", "may have drifted"),
    "moderate": ("warn", "drifted"),
    "shifted": ("bad", "shifted"),
}
LARGE = 0.2  # change of the rate of positives, relative to the reference
MEANS: Final = {"y_score": "mean_score", "y_pred": "mean_predicted", "y_true": "mean_actual"}


def findings_of_drift(sides: S, measured: Measured[S], rolling: bool) -> list[Finding]:
    """Return all findings: the distributions of all rows, then the others by severity and by code.

    With a ``rolling`` reference, all rows cannot be compared, but only groups, or windows.
    """
    others = [*_groups(sides, measured, rolling)]
    if rolling:
        return others
    sides = replace(sides, confidence=sides.confidence or LEVEL)
    others += [*_rates(sides.total), *findings_of_sides(sides)]
    return [*_distributions(sides.total, measured), *in_order(others)]


def _distributions(total: S, measured: Measured[S]) -> Iterator[Finding]:
    """SM711: whether a distribution drifted."""
    for row in _of(measured(total, LEVEL), total):
        if row["of"] == "y_true" and total.b.readable(RATE):
            continue  # whose distribution is the rate of positives
        severity, told = VERDICTS[stability(row)]
        ends = f"{row['ci_lower']:.3f} to {row['ci_upper']:.3f}"
        sentence = f"{escaped(row['of'])} {told}: PSI is {row['value']:.3f} ({ends}){_means(total, row)}."
        yield found("SM711", severity, sentence, row, PSI)


def _means(total: Differences, row: Row) -> str:
    """Both means of a distribution."""
    metric = MEANS.get(row["of"])
    if metric is None or not (total.a.readable(metric) and total.b.readable(metric)):
        return ""
    before, now = (side.rows(metric, **row[WHERE])["value"][0] for side in (total.a, total.b))
    return f". The mean is {now:.4g}, and was {before:.4g}"


def _groups(sides: S, measured: Measured[S], rolling: bool) -> Iterator[Finding]:
    """SM712: groups, or windows, whose distributions drifted."""
    keys = sides.b.state.keys
    named = [c for c in keys.columns if c != MODEL]
    columns = [named] if rolling else [[c] for c in named if keys[c].n_unique() > 1]
    for some in columns:
        number = keys.select(some).n_unique()
        if number > MANY:
            continue
        own = sides if rolling else sides.rollup(*some)
        frame = measured(own, 1 - (1 - LEVEL) / len(columns) / number)
        for of in frame["of"].unique(maintain_order=True):
            rows = [row for row in _of(frame.filter(of=of), own) if row["ci_lower"] > STABLE]
            rows.sort(key=lambda row: -float(row["value"]))
            if rows:
                texts = [f"{row[PLACE]} (PSI {row['value']:.2f})" for row in rows]
                severity: Severity = "bad" if rows[0]["ci_lower"] > SHIFTED else "warn"
                sentence = f"{escaped(of)} drifted in groups of {escaped(', '.join(some))}: {listed(texts)}."
                yield found("SM712", severity, sentence, {**rows[0], PLACE: ""}, PSI)


def _rates(total: Differences) -> Iterator[Finding]:
    """SM713: the rate of positives changed."""
    if not (total.a.readable(RATE) and total.b.readable(RATE)):
        return
    frame = replace(total._showing([RATE]), confidence=LEVEL).frame
    for row in placed(frame.drop_nulls(["ci_lower", "ci_upper"]).unique("a", maintain_order=True), total.b):
        if row["ci_lower"] > 0 or row["ci_upper"] < 0:
            severity: Severity = "warn" if abs(row["difference"]) > LARGE * row["a"] else "info"
            sentence = f"The rate of positives is {percentage(row['b'])}, and was {percentage(row['a'])}."
            yield found("SM713", severity, sentence, {**row, "value": row["difference"]}, RATE)


def _of(frame: pl.DataFrame, sides: Differences) -> Iterator[Row]:
    """The PSI of each group, if it has an interval."""
    yield from placed(frame.filter(measure=PSI).drop_nulls(["ci_lower", "ci_upper"]), sides.b)
