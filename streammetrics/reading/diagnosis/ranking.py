"""Findings about predictions that are no better than chance, or than a constant."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from streammetrics.base import cutoff, percentage, value_text
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis.finding import (
    HIGH,
    LOW,
    WHERE,
    Finding,
    Row,
    Searched,
    beside,
    decided,
    finding,
    finding_of_groups,
)

AUC, CHANCE, USEFUL, GOOD = "roc_auc", 0.5, 0.55, 0.8
ACCURACY, MAJORITY = "accuracy", "majority_accuracy"
CONSTANTS = {  # skills: 0 for the best constant, 1 for perfect predictions
    "log_loss_skill": ("SM203", "log loss is higher than that of always predicting the observed rate"),
    "r2": ("SM205", "squared error is larger than that of always predicting the mean of the true values"),
}


def direction(searched: Searched, error: float) -> Iterator[Finding]:
    """SM201 and SM202: the scores rank the wrong way round, or no better than chance, or too few rows tell."""
    if searched.has(AUC):
        for row in decided(searched.total, AUC, error, pl.col("value") < 1):
            auc, low, high = (
                f"ROC AUC is {value_text(row)}",
                *(value_text({**row, "value": row[end]}) for end in (LOW, HIGH)),
            )
            if row[HIGH] < CHANCE:
                sentence = f"Ranks the wrong way round: {auc}. Are labels or scores swapped?"
                yield finding("SM201", "bad", sentence, row, AUC, "ranks the wrong way round")
            elif row[LOW] <= CHANCE and row[HIGH] < USEFUL:
                sentence = f"Ranks no better than chance: {auc}, and at most {high}."
                yield finding("SM202", "warn", sentence, row, AUC, "ranks no better than chance")
            elif row[LOW] <= CHANCE:
                sentence = f"Too few rows to tell whether it ranks better than chance: {auc} ({low} to {high})."
                yield finding("SM202", "info", sentence, row, AUC)


def direction_of_groups(searched: Searched, error: float) -> Iterator[Finding]:
    """SM201: groups in which the scores rank the wrong way round, other than in all rows."""
    if not searched.has(AUC):
        return
    right = searched.total.rows(AUC).filter(pl.col("value") > CHANCE)
    for column, groups in searched.columns.items():
        possible = decided(groups, AUC, error / len(searched.columns), pl.col("value") < CHANCE)
        rows = [row for row in possible if row[HIGH] < CHANCE and beside(right, row, MODEL, LABEL).height]
        rows.sort(key=lambda row: float(row[HIGH]))
        name = escaped(column)
        beginning, title = f"Groups of {name} are ranked the wrong way round", f"ranks the wrong way round in {name}"
        yield from finding_of_groups("SM201", "bad", beginning, rows, _auc, AUC, title)


def _auc(row: Row) -> str:
    return f"ROC AUC {value_text(row)}"


def ranks_well(searched: Searched, error: float) -> bool:
    """Return whether the only model certainly ranks well: ROC AUC is at least 0.8 (Hosmer and Lemeshow 2000)."""
    if not searched.has(AUC) or MODEL in searched.total.by:
        return False
    rows = [*decided(searched.total, AUC, error, pl.col("value") >= GOOD)]
    return bool(rows) and all(row[LOW] >= GOOD for row in rows) and len(rows) == searched.total.rows(AUC).height


def skill(searched: Searched, error: float) -> Iterator[Finding]:
    """SM203 and SM205: predictions are worse than the best constant."""
    for metric in filter(searched.has, CONSTANTS):
        code, what = CONSTANTS[metric]
        for row in decided(searched.total, metric, error / len(CONSTANTS), pl.col("value") < 0):
            if row[HIGH] < 0:
                sentence = f"Worse than a constant: the {what} ({metric} {value_text(row)})."
                yield finding(code, "bad", sentence, row, metric, "does worse than a constant")


def majority(searched: Searched, error: float) -> Iterator[Finding]:
    """SM204: predicted labels are right less often than the most frequent label would be."""
    if not searched.has(ACCURACY, MAJORITY):
        return
    rates, best = searched.total.rows(MAJORITY), searched.total.rows(ACCURACY).sort("value", descending=True)
    possible = [row[WHERE] for row in searched.once(best)]
    for row in decided(searched.total, ACCURACY, error, pl.col("value").lt(rates["value"].max())):
        rate = beside(rates, row, MODEL, LABEL)["value"][0]
        if row[HIGH] < rate and row[WHERE] in possible:
            at = "" if row.get("threshold") is None else f" at threshold {cutoff(row['threshold'])}"
            value, most = percentage(row["value"]), percentage(rate)
            sentence = f"Accuracy{at} is {value}, but always predicting the most frequent label is right in {most}."
            title = f"does worse{at} than the most frequent label"
            yield finding("SM204", "warn", sentence, row, ACCURACY, title)
