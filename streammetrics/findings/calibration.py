"""Findings about predictions that are too low or too high on average, of all rows and of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from streammetrics.findings.finding import (
    HIGH,
    LOW,
    PLACE,
    WHERE,
    Finding,
    Row,
    Searched,
    beside,
    decided,
    found,
    listed,
)
from streammetrics.reading.readings import Readings
from streammetrics.rows.roles import LABEL, MODEL
from streammetrics.text import escaped
from streammetrics.text.decimals import percentage, said

RATIO, BIAS = "calibration_ratio", "bias"
BEST = {RATIO: 1.0, BIAS: 0.0}
MARGIN = 0.05  # of the ratio of expected and observed positives, up to which it does not matter
LARGE = 0.2  # margin from which decisions are likely wrong
OF_ERRORS = 0.1  # margin of the mean error, as a share of the mean absolute error of the model


def shares(searched: Searched, error: float) -> Iterator[Finding]:
    """SM101: the expected number of positives differs from the observed number."""
    total = searched.total
    for row in _outside(searched, total, RATIO, error):
        mean, rate = (total.rows(name, **row[WHERE])["value"][0] for name in ("mean_score", "observed_rate"))
        sentence = f"Predicts {_ratio(row)} positives: {percentage(mean)} on average, {percentage(rate)} observed."
        yield found("SM101", "bad" if _distance(row, RATIO) >= LARGE else "warn", sentence, row, RATIO)


def shares_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM102: groups in which the expected number of positives is further off than in all rows."""
    yield from _of_groups("SM102", searched, RATIO, error, _ratio)


def errors(searched: Searched, error: float) -> Iterator[Finding]:
    """SM103: the mean error of a regression differs from 0."""
    for row in _outside(searched, searched.total, BIAS, error):
        yield found("SM103", "warn", f"Predicts {_error(row)} on average.", row, BIAS)


def errors_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM104: groups of a regression in which the mean error is further from 0 than in all rows."""
    yield from _of_groups("SM104", searched, BIAS, error, _error)


def _of_groups(
    code: str, searched: Searched, metric: str, error: float, told: Callable[[Row], str]
) -> Iterator[Finding]:
    """A finding for each group column, about groups that are further from the best value than all rows."""
    for column, groups in searched.columns.items():
        rows = [
            row
            for row in _outside(searched, groups, metric, error / len(searched.columns))
            if _is_beyond(row, metric, beside(searched.total.rows(metric), row, MODEL, LABEL)["value"][0])
        ]
        rows.sort(key=lambda row: -_distance(row, metric))
        if rows:
            texts = [f"{row[PLACE]} ({told(row)})" for row in rows]
            sentence = f"Groups of {escaped(column)} are further off: {listed(texts)}."
            large = code == "SM102" and _distance(rows[0], metric) >= LARGE
            yield found(code, "bad" if large else "warn", sentence, {**rows[0], PLACE: ""}, metric)


def _outside(searched: Searched, rows: Readings, metric: str, error: float) -> Iterator[Row]:
    """The estimates whose intervals are further from the best value than matters for their model."""
    if searched.has(metric):
        distance = (pl.col("value") - BEST[metric]).abs()
        for row in decided(rows, metric, error, distance > (MARGIN if metric == RATIO else 0)):
            if _distance(row, metric) > _margin(searched, metric, row):
                yield row


def _is_beyond(row: Row, metric: str, overall: float | None) -> bool:
    """Whether an interval is further from the best value than a value, or on its other side."""
    return overall is None or (row[HIGH] < overall if row[HIGH] < BEST[metric] else row[LOW] > overall)


def _distance(row: Row, metric: str) -> float:
    """Distance of an interval from the best value."""
    return float(max(BEST[metric] - row[HIGH], row[LOW] - BEST[metric]))


def _margin(searched: Searched, metric: str, row: Row) -> float:
    """Distance from the best value up to which it does not matter."""
    if metric == RATIO:
        return MARGIN
    typical = beside(searched.total.rows("mae"), row, MODEL)["value"][0] if searched.has("mae") else None
    return OF_ERRORS * (typical or 0.0)


def _ratio(row: Row) -> str:
    return f"{abs(row['value'] - 1):.0%} too {'many' if row['value'] > 1 else 'few'}"


def _error(row: Row) -> str:
    size = said({**row, "value": abs(row["value"]), "lower": None, "upper": None})
    return f"{size} too {'high' if row['value'] > 0 else 'low'}"
