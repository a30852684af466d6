"""Findings about predictions that are too low or too high on average, of all rows and of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

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
from streammetrics.frame import LIMITS
from streammetrics.reading.readings import Readings
from streammetrics.rows.roles import LABEL, MODEL
from streammetrics.text import escaped
from streammetrics.text.decimals import percentage, said

RATIO, ECCE, BIAS = "calibration_ratio", "ecce", "bias"
MARGIN = 0.05  # of the ratio of expected and observed positives, or share of these, up to which it does not matter
LARGE = 0.2  # margin from which decisions are likely wrong
OF_ERRORS = 0.1  # margin of the mean error, as a share of the mean absolute error of the model

Outside: TypeAlias = Callable[[Searched, Readings, float], Iterator[Row]]


def shares(searched: Searched, error: float) -> Iterator[Finding]:
    """SM101: the expected number of positives differs from the observed number."""
    total = searched.total
    for row in _ratios(searched, total, error):
        mean, rate = (total.rows(name, **row[WHERE])["value"][0] for name in ("mean_score", "observed_rate"))
        sentence = f"Predicts {_ratio(row)} positives: {percentage(mean)} on average, {percentage(rate)} observed."
        yield found("SM101", "bad" if _distance(row, 1) >= LARGE else "warn", sentence, row, RATIO)


def shares_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM102: groups in which the expected number of positives is further off than in all rows."""
    for rows, sentence in _groups(searched, RATIO, 1, error, _ratios, _ratio):
        yield found("SM102", "bad" if _distance(rows[0], 1) >= LARGE else "warn", sentence, rows[0], RATIO)


def scores(searched: Searched, error: float) -> Iterator[Finding]:
    """SM105: positives are missing or in excess in a range of scores, although their number is right in all rows."""
    if not searched.has(ECCE, "mean_score", "observed_rate"):
        return
    total = searched.total
    told = [row[WHERE] for row in _ratios(searched, total, error)]
    for row in decided(total, ECCE, error, pl.col("value") > 0):
        mean, rate = (total.rows(name, **row[WHERE])["value"][0] for name in ("mean_score", "observed_rate"))
        if row[WHERE] not in told and row[LOW] > MARGIN * max(mean, rate):
            share = percentage(row["value"] / max(mean, rate))
            sentence = f"Right on average, but not in each range of scores: {share} of the positives are elsewhere."
            yield found("SM105", "warn", sentence, row, ECCE)


def errors(searched: Searched, error: float) -> Iterator[Finding]:
    """SM103: the mean error of a regression differs from 0."""
    for row in _biases(searched, searched.total, error):
        yield found("SM103", "warn", f"Predicts {_error(row)} on average.", row, BIAS)


def errors_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM104: groups of a regression in which the mean error is further from 0 than in all rows."""
    for rows, sentence in _groups(searched, BIAS, 0, error, _biases, _error):
        yield found("SM104", "warn", sentence, rows[0], BIAS)


def _groups(
    searched: Searched, metric: str, best: float, error: float, outside: Outside, told: Callable[[Row], str]
) -> Iterator[tuple[list[Row], str]]:
    """For each group column, the groups that are further from the best value than all rows, and a sentence."""
    overall = searched.total.rows(metric) if searched.has(metric) else pl.DataFrame()
    for column, groups in searched.columns.items():
        rows = [
            row
            for row in outside(searched, groups, error / len(searched.columns))
            if _is_beyond(row, best, beside(overall, row, MODEL, LABEL)["value"][0])
        ]
        rows.sort(key=lambda row: -_distance(row, best))
        if rows:
            texts = [f"{row[PLACE]} ({told(row)})" for row in rows]
            sentence = f"Worse in groups of {escaped(column)}: {listed(texts)}."
            yield [{**row, PLACE: ""} for row in rows], sentence


def _ratios(searched: Searched, rows: Readings, error: float) -> Iterator[Row]:
    """Ratios of expected and observed positives whose intervals are far enough from 1."""
    if searched.has(RATIO):
        for row in decided(rows, RATIO, error, (pl.col("value") - 1).abs() > MARGIN):
            if _distance(row, 1) > MARGIN:
                yield row


def _biases(searched: Searched, rows: Readings, error: float) -> Iterator[Row]:
    """Mean errors whose intervals are far enough from 0, as a share of the mean absolute error of the model.

    Intervals are as wide as if errors varied as much as those of all rows, since few rows can miss the largest errors.
    """
    if not searched.has(BIAS, "mae", "error_sd"):
        return
    typical, usual, spread = (searched.total.rows("mae"), searched.total.rows("error_sd"), rows.rows("error_sd"))
    for row in decided(rows, BIAS, error, pl.col("value") != 0):
        margin, widest, own = (beside(frame, row, *rows.by)["value"][0] for frame in (typical, usual, spread))
        wider = max(widest / own, 1.0) if own else 1.0
        low, high = (row["value"] + wider * (row[end] - row["value"]) for end in (LOW, HIGH))
        widened = {**row, LOW: low, HIGH: high, LIMITS[0]: low, LIMITS[1]: high}
        if _distance(widened, 0) > OF_ERRORS * margin:
            yield widened


def _is_beyond(row: Row, best: float, overall: float | None) -> bool:
    """Whether an interval is further from the best value than a value, or on its other side."""
    return overall is None or (row[HIGH] < overall if row[HIGH] < best else row[LOW] > overall)


def _distance(row: Row, best: float) -> float:
    """Distance of an interval from the best value."""
    return float(max(best - row[HIGH], row[LOW] - best))


def _ratio(row: Row) -> str:
    return f"{abs(row['value'] - 1):.0%} too {'many' if row['value'] > 1 else 'few'}"


def _error(row: Row) -> str:
    size = said({**row, "value": abs(row["value"]), "lower": None, "upper": None})
    return f"{size} too {'high' if row['value'] > 0 else 'low'}"
