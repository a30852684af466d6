"""Findings about predictions that are too low or too high on average, of all rows and of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, isinf
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from streammetrics.base import LIMITS, VALUE, capitalized, percentage, value_text
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis.finding import (
    HIGH,
    LOW,
    WHERE,
    Finding,
    Row,
    Searched,
    Severity,
    beside,
    decided,
    finding,
    finding_of_groups,
)
from streammetrics.statistics import CalibrationBins, RowCounts, State

if TYPE_CHECKING:
    from streammetrics.report import Report

RATIO, ECCE, BIAS, RATE, MEAN = "calibration_ratio", "ecce", "bias", "observed_rate", "mean_score"
MARGIN = 0.05  # of the ratio of expected and observed positives, or share of these, up to which it does not matter
LARGE = 0.2  # margin from which decisions are likely wrong
OF_ERRORS = 0.1  # margin of the mean error, as a share of the mean absolute error of the model

Outside: TypeAlias = Callable[[Searched, "Report", float], Iterator[Row]]


def shares(searched: Searched, error: float) -> Iterator[Finding]:
    """SM101: the expected number of positives differs from the observed number."""
    total = searched.total
    for row in _ratios(searched, total, error):
        mean, rate = _shares(total, row)
        title = f"predicts {_ratio(row)} positives"
        sentence = f"{capitalized(title)}: {percentage(mean)} on average, {percentage(rate)} observed."
        yield finding("SM101", _severity(row), sentence, row, RATIO, title)


def predicted_labels(searched: Searched, error: float) -> Iterator[Finding]:
    """SM100: multiclass predicted labels are right less often, or more often, than their probability says."""
    for wrong, row in _wrong_labels(searched, error):
        stated, right = (percentage(1 - share) for share in _shares(wrong, row))
        kind = "Overconfident" if row["value"] < 1 else "Underconfident"
        labels = f"labels with a probability above {_least_confidence(wrong):.0%}"
        sentence = f"{kind}: {labels} have {stated} on average, but are right in {right} of the rows."
        title = f"{'over' if row['value'] < 1 else 'under'}states its confidence: {stated} stated, {right} right"
        yield finding("SM100", _severity(row), sentence, row, RATIO, title)


def shares_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM102: groups in which the expected number of positives is further off than in all rows."""
    for column, rows in _groups(searched, RATIO, 1, error, _ratios):
        title = f"predicts {_ratio(rows[0])} in {column}"
        yield from finding_of_groups("SM102", _severity(rows[0]), _beginning(column), rows, _ratio, RATIO, title)


def scores(searched: Searched, error: float) -> Iterator[Finding]:
    """SM105: positives are missing or in excess in a range of scores, and no other finding names the cause."""
    if not searched.has(ECCE, RATIO):
        return
    total = searched.total
    wrong = [row[WHERE] for row in _ratios(searched, total, error)]
    wrong_models = [row[WHERE].get(MODEL) for _, row in _wrong_labels(searched, error)]
    near = (pl.col("value") - 1).abs() <= MARGIN
    right = [row[WHERE] for row in decided(total, RATIO, error, near) if max(1 - row[LOW], row[HIGH] - 1) <= MARGIN]
    for row in decided(total, ECCE, error, pl.col("value") > 0):
        mean, rate = _shares(total, row)
        is_known = row[WHERE] in wrong or row[WHERE].get(MODEL) in wrong_models
        if rate and not is_known and row[LOW] > MARGIN * max(mean, rate):
            share = f"{percentage(row['value'] / max(mean, rate))} of the positives are elsewhere"
            sentence = f"Right on average, but not in each range of scores: {share}."
            if row[WHERE] not in right:
                sentence = f"Wrong in ranges of scores: {share}. Too few rows to tell whether their number is right."
            yield finding("SM105", "warn", sentence, row, ECCE, "predicts wrong rates in ranges of scores")


def errors(searched: Searched, error: float) -> Iterator[Finding]:
    """SM103: the mean error of a regression differs from 0."""
    for row in _biases(searched, searched.total, error):
        title = f"predicts {_error(row)} on average"
        yield finding("SM103", "warn", f"{capitalized(title)}.", row, BIAS, title)


def errors_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM104: groups of a regression in which the mean error is further from 0 than in all rows."""
    for column, rows in _groups(searched, BIAS, 0, error, _biases):
        title = f"predicts {_error(rows[0])} in {column}"
        yield from finding_of_groups("SM104", "warn", _beginning(column), rows, _error, BIAS, title)


def _beginning(column: str) -> str:
    return f"Worse in groups of {column}"


def _groups(
    searched: Searched, metric: str, best: float, error: float, outside: Outside
) -> Iterator[tuple[str, list[Row]]]:
    """For each group column with such groups, those further from the best value than all rows."""
    overall = searched.total.rows(metric) if searched.has(metric) else pl.DataFrame()
    for column, groups in searched.columns.items():
        rows = [
            row
            for row in outside(searched, groups, error / len(searched.columns))
            if _is_beyond(row, best, beside(overall, row, MODEL, LABEL)["value"][0])
        ]
        rows.sort(key=lambda row: -_distance(row, best))
        if rows:
            yield escaped(column), rows


def _ratios(searched: Searched, rows: Report, error: float) -> Iterator[Row]:
    """Ratios of expected and observed positives whose intervals are far enough from 1.

    If all rows are of one class, or all scores are 0, the ratio does not vary. The interval of the rate then decides.
    """
    if not searched.has(RATIO):
        return
    means, rates = (pl.lit(rows.rows(name)["value"]) for name in (MEAN, RATE))
    varies = (means > 0) & rates.is_between(0, 1, closed="none")
    for row in decided(rows, RATIO, error, varies & ((pl.col("value") - 1).abs() > MARGIN)):
        if _distance(row, 1) > MARGIN:
            yield row
    for row in decided(rows, RATE, error, ~varies):
        mean = beside(rows.rows(MEAN), row, *rows.by, LABEL)["value"][0]
        value, low, high = (mean / rate if rate else inf for rate in (row["value"], row[HIGH], row[LOW]))
        ratio = {**row, **dict.fromkeys(VALUE, value), LOW: low, HIGH: high, LIMITS[0]: low, LIMITS[1]: high}
        if _distance(ratio, 1) > MARGIN:
            yield ratio


def _shares(rows: Report, row: Row) -> tuple[float, float]:
    """The expected and the observed share of positives."""
    mean, rate = (rows.rows(name, **row[WHERE])["value"][0] for name in (MEAN, RATE))
    return mean, rate


def _wrong_labels(searched: Searched, error: float) -> Iterator[tuple[Report, Row]]:
    """For each multiclass model, the ratio of expected and observed wrong labels, if it is far from 1."""
    if searched.has(RATIO) and any(s.kind == "multiclass" for s in searched.report.state.statistics):
        wrong = searched.total._with_states(_state_of_wrong_labels)
        for row in _ratios(Searched(wrong), wrong, error):
            yield wrong, row


def _state_of_wrong_labels(state: State) -> State:
    """Whether predicted labels are wrong, with 1 minus their probability as the score.

    A row counts if a label has a probability above 0.5, which no other label of the row then has.
    """
    bins = state.statistic(CalibrationBins)
    confident = bins.with_floats(state.tables[bins.name]).drop(LABEL).filter(2 * pl.col("bin") >= bins.bins)
    columns: dict[str, pl.Expr] = {}
    for end in ("", "_w2") if state.weighted else ("",):
        weight, right, score, square, both = (pl.col(f"{c}{end}") for c in (*bins.counts, *bins.sums))
        columns |= {
            f"pos{end}": weight - right,
            f"score_sum{end}": weight - score,
            f"score_square_sum{end}": weight - 2 * score + square,
            f"pos_score_sum{end}": weight - right - score + both,
        }
    tables = state.tables | {bins.name: bins.merge(confident.with_columns(**columns))}
    statistics = tuple(s for s in state.statistics if isinstance(s, RowCounts) or s == bins)
    return replace(state, statistics=statistics, tables={s.name: tables[s.name] for s in statistics}, labels=())


def _least_confidence(report: Report) -> float:
    """The probability above which the rows of `_state_of_wrong_labels` count: 0.5, or the next edge of a bin."""
    bins = report.state.statistic(CalibrationBins).bins
    return -(-bins // 2) / bins


def _biases(searched: Searched, rows: Report, error: float) -> Iterator[Row]:
    """Mean errors whose intervals are far enough from 0, as a share of the mean absolute error of the model.

    Intervals are as wide as if errors varied as much as those of all rows, since few rows can miss the largest errors.
    """
    if not searched.has(BIAS, "mae", "error_sd"):
        return
    typical, usual, spread = (searched.total.rows("mae"), searched.total.rows("error_sd"), rows.rows("error_sd"))
    for row in decided(rows, BIAS, error, pl.col("value") != 0):
        margin, widest, deviation = (beside(frame, row, *rows.by)["value"][0] for frame in (typical, usual, spread))
        wider = max(widest / deviation, 1.0) if deviation else 1.0
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


def _severity(row: Row) -> Severity:
    return "bad" if _distance(row, 1) >= LARGE else "warn"


def _ratio(row: Row) -> str:
    size = "" if isinf(row["value"]) else f"{abs(row['value'] - 1):.0%} "
    return f"{size}too {'many' if row['value'] > 1 else 'few'}"


def _error(row: Row) -> str:
    size = value_text({**row, "value": abs(row["value"]), "lower": None, "upper": None})
    return f"{size} too {'high' if row['value'] > 0 else 'low'}"
