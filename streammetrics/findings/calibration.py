"""Findings about predictions that are too low or too high on average, of all rows and of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from streammetrics.findings.finding import HIGH, LOW, PLACE, WHERE, Finding, Row, Searched, decided, found, listed
from streammetrics.reading.readings import Readings
from streammetrics.text import escaped
from streammetrics.text.decimals import percentage, said

RATIO, BIAS = "calibration_ratio", "bias"
MARGIN = 0.05  # of the ratio of expected and observed positives, up to which it does not matter
LARGE = 0.2  # margin from which decisions are likely wrong
OF_ERRORS = 0.1  # margin of the mean error, as a share of the mean absolute error


def shares(searched: Searched, error: float) -> Iterator[Finding]:
    """SM101: the expected number of positives differs from the observed number."""
    total = searched.total
    for row in _outside(searched, total, RATIO, error, (1 - MARGIN, 1 + MARGIN)):
        mean, rate = (total.rows(name, **row[WHERE])["value"][0] for name in ("mean_score", "observed_rate"))
        sentence = f"Predicts {_ratio(row)} positives: {percentage(mean)} on average, {percentage(rate)} observed."
        yield found("SM101", "bad" if _distance(row, 1) >= LARGE else "warn", sentence, row, RATIO)


def shares_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM102: groups in which the expected number of positives is further off than in all rows."""
    yield from _of_groups("SM102", searched, RATIO, error, (1 - MARGIN, 1, 1 + MARGIN), _ratio)


def errors(searched: Searched, error: float) -> Iterator[Finding]:
    """SM103: the mean error of a regression differs from 0."""
    margin = _margin(searched)
    for row in _outside(searched, searched.total, BIAS, error, (-margin, margin)):
        yield found("SM103", "warn", f"Predicts {_error(row)} on average.", row, BIAS)


def errors_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM104: groups of a regression in which the mean error is further from 0 than in all rows."""
    margin = _margin(searched)
    yield from _of_groups("SM104", searched, BIAS, error, (-margin, 0, margin), _error)


def _of_groups(
    code: str,
    searched: Searched,
    metric: str,
    error: float,
    margins: tuple[float, float, float],
    told: Callable[[Row], str],
) -> Iterator[Finding]:
    """A finding for each group column, about groups that are further from the best value than all rows."""
    low, best, high = margins
    overall: list[float] = searched.total.rows(metric)["value"].drop_nulls().to_list() if searched.has(metric) else []
    ends = min([low, *overall]), max([high, *overall])
    for column, groups in searched.columns.items():
        rows = list(_outside(searched, groups, metric, error / len(searched.columns), ends))
        rows.sort(key=lambda row: -_distance(row, best))
        if rows:
            texts = [f"{row[PLACE]} ({told(row)})" for row in rows]
            sentence = f"Groups of {escaped(column)} are further off: {listed(texts)}."
            large = code == "SM102" and _distance(rows[0], best) >= LARGE
            yield found(code, "bad" if large else "warn", sentence, {**rows[0], PLACE: ""}, metric)


def _outside(searched: Searched, rows: Readings, metric: str, error: float, ends: tuple[float, float]) -> Iterator[Row]:
    """The estimates whose intervals lie outside of two ends."""
    if searched.has(metric):
        for row in decided(rows, metric, error, ~pl.col("value").is_between(*ends)):
            if row[HIGH] < ends[0] or row[LOW] > ends[1]:
                yield row


def _distance(row: Row, best: float) -> float:
    """Distance of an interval from the best value."""
    return float(max(best - row[HIGH], row[LOW] - best))


def _ratio(row: Row) -> str:
    return f"{abs(row['value'] - 1):.0%} too {'many' if row['value'] > 1 else 'few'}"


def _error(row: Row) -> str:
    size = said({**row, "value": abs(row["value"]), "lower": None, "upper": None})
    return f"{size} too {'high' if row['value'] > 0 else 'low'}"


def _margin(searched: Searched) -> float:
    """Mean error up to which it does not matter: a share of the largest mean absolute error of the models."""
    typical = searched.total.rows("mae")["value"].max() if searched.has("mae") else None
    return OF_ERRORS * float(typical or 0.0)  # type: ignore[arg-type]
