"""Findings of a comparison: which side is better, where it is not, and rows that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import KEPT, OF_LABELS, VOLUME, compared, interval
from streammetrics.data import MODEL
from streammetrics.errors import escaped
from streammetrics.metrics import Metric, in_a_sentence
from streammetrics.reading.diagnosis.finding import (
    MANY,
    PLACE,
    Finding,
    Row,
    Severity,
    finding,
    finding_of_groups,
    listed,
    placed,
    sorted_by_severity,
)
from streammetrics.reading.differences import showing

if TYPE_CHECKING:
    from streammetrics.report import Comparison

SHARES = 2  # checks that share the probability of a false finding: of groups, and of other metrics


def findings_of_comparison(comparison: Comparison) -> list[Finding]:
    """Return all findings of a comparison: the verdict, then the others by severity and by code."""
    primary, total, confidence = comparison.primary, comparison.total, comparison.confidence
    others = [*_alone(comparison), *_twins(comparison)]
    if comparison.note is not None:  # the sides have other rows, or no intervals
        others.append(finding("SM704", "warn", comparison.note))
    if primary is not None and confidence is not None:
        others += [*_groups(comparison, primary, confidence), *_metrics(total, primary, confidence)]
    return [*([] if primary is None else _verdict(total, primary)), *sorted_by_severity(others)]


def _verdict(total: Comparison, metric: Metric) -> Iterator[Finding]:
    """SM701: which side is better."""
    for row in _differences(total, metric):
        severity: Severity = "warn" if row["better"] == total.names[0] else "info"
        title = _title(row, total.names, metric)
        yield finding("SM701", severity, _sentence(row, total.names, metric), row, metric.name, title)


def _title(row: Row, names: tuple[str, str], metric: Metric) -> str:
    name, better = in_a_sentence(metric), row["better"]
    if better == "equal" or not row["difference"]:
        return f"no difference in {name}"
    return f"no significant difference in {name}" if better is None else f"{escaped(better)} is better by {name}"


def _sentence(row: Row, names: tuple[str, str], metric: Metric) -> str:
    """Which side is better, and by how much."""
    name, (a, b), better = in_a_sentence(metric), map(escaped, names), row["better"]
    one, other, difference = compared(row)
    if better == "equal" or not row["difference"]:
        return f"Both sides have the same {name}, {other}."
    of = "" if better == names[1] else f" of {b}"
    sampled = interval(row.get("ci_lower"), row.get("ci_upper"), difference)
    ends = f" ({sampled})" if sampled else ""
    more = "higher" if row["difference"] > 0 else "lower"
    change = f"{difference.lstrip('-')} {more}{ends}, {other} against {one}"
    if better is None and sampled:
        return f"No significant difference in {name}: {b} is {change}."
    if better is None:
        return f"Open, without a confidence interval: {name}{of} is {change}."
    side = b if better == names[1] else a
    return f"{side} is better{'' if sampled else ' on these rows'}: {name}{of} is {change}."


def _groups(comparison: Comparison, metric: Metric, confidence: float) -> Iterator[Finding]:
    """SM702: groups in which the side that is better in all rows is worse, or if there is none, a side is better."""
    best = {row["better"] for row in _differences(comparison.total, metric)}
    keys = comparison.b.state.keys
    columns = [c for c in keys.columns if c != MODEL and 1 < keys[c].n_unique() <= MANY]
    for column in columns:
        groups = _with_level(comparison.rollup(column), [metric], confidence, len(columns) * keys[column].n_unique())
        every = sorted(_differences(groups, metric), key=lambda row: -abs(float(row["difference"])))
        for side in groups.names:
            rows = [row for row in every if row["better"] == side and best != {side}]
            beginning = f"{escaped(side)} is better in groups of {escaped(column)}, by {in_a_sentence(metric)}"
            both = partial(_both, names=groups.names)
            title = f"{escaped(side)} is better in {escaped(column)}"
            yield from finding_of_groups("SM702", "warn", beginning, rows, both, metric.name, title)


def _metrics(total: Comparison, primary: Metric, confidence: float) -> Iterator[Finding]:
    """SM703: other metrics of all rows, at no threshold, by which a side is better that is not by the primary one."""
    better = {row["better"] for row in _differences(total, primary)} & {*total.names}
    judged = [m for m in total.b.metrics if m.better and m.name not in (*VOLUME, primary.name)]
    judged = [m for m in judged if not _keys(total, m)]
    has_other_rows = total.independent or total.same_rows is None  # whose metrics also depend on their labels
    if total.b.by or not judged or (has_other_rows and not better):
        return
    at_level = _with_level(total, judged, confidence, len(judged))
    every = [row for m in judged for row in _differences(at_level, m)]
    for side in [name for name in total.names if name not in better]:
        if rows := [row for row in every if row["better"] == side]:
            texts = [f"{row['metric']} ({_both(row, total.names)})" for row in rows]
            sentence = f"{escaped(side)} is better by other metrics: {listed(texts)}."
            title = f"{escaped(side)} is better by {in_a_sentence(total.b.find(rows[0]['metric']))}"
            severity: Severity = "warn" if better or side == total.names[0] else "info"
            yield finding("SM703", severity, sentence, rows[0], rows[0]["metric"], title)


def _alone(comparison: Comparison) -> Iterator[Finding]:
    """SM705: groups of which only one side has rows."""
    if not comparison.b.by or comparison.a.by != comparison.b.by:
        return
    rows = showing(comparison, ["rows"], None).frame
    for side, other in zip(comparison.names, ("b", "a"), strict=True):
        alone = [row[PLACE] for row in placed(rows.filter(pl.col(other).is_null()), comparison.b)]
        if len(alone) < rows.height and alone:
            sentence = f"Only {escaped(side)} has rows of some groups: {listed(alone)}."
            yield finding("SM705", "info", sentence)


def _twins(comparison: Comparison) -> Iterator[Finding]:
    """SM706: both sides have the same value of every metric."""
    measured = comparison.frame.filter(~pl.col("metric").is_in((*VOLUME, *OF_LABELS))).drop_nulls("difference")
    if measured.height and (measured["difference"] == 0).all():
        sentence = "Both sides have the same value of every metric. Is a file or a column used twice?"
        yield finding("SM706", "warn", sentence, title="both sides are the same")


def _differences(comparison: Comparison, metric: Metric) -> Iterator[Row]:
    """The differences of a metric, as values."""
    frame = comparison.frame.filter(metric=metric.name).drop_nulls("difference")
    yield from placed(frame.with_columns(value="difference"), comparison.b)


def _with_level(comparison: Comparison, metrics: Sequence[Metric], confidence: float, number: int) -> Comparison:
    """The differences of metrics at a level such that few of a number of intervals miss (Bonferroni)."""
    return showing(comparison, metrics, 1 - (1 - confidence) / SHARES / number)


def _keys(comparison: Comparison, metric: Metric) -> bool:
    """Whether a metric has thresholds or labels."""
    frame = comparison.frame.filter(metric=metric.name)
    return any(frame[key].count() for key in KEPT if key in frame.columns)


def _both(row: Row, names: tuple[str, str]) -> str:
    one, other, _ = compared(row)
    return f"{escaped(names[0])} {one}, {escaped(names[1])} {other}"
