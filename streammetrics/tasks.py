"""Tasks: which statistics a task keeps, and which metrics it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.lattice import Domain
from streammetrics.metrics import Metric
from streammetrics.roles import Column
from streammetrics.statistics import (
    CAPACITY,
    CAPACITY_OF_A_GROUP,
    CalibrationBins,
    ConfusionCounts,
    ProbabilityLoss,
    ScoreHistogram,
    Statistic,
)

VOLUME = ("rows", "dropped")
COUNTS = (
    "accuracy",
    "balanced_accuracy",
    "majority_accuracy",
    "precision",
    "recall",
    "specificity",
    "fpr",
    "fnr",
    "npv",
    "f1",
    "mcc",
    "kappa",
    "youden_j",
    "prevalence",
)
RANKING = ("roc_auc", "average_precision", "pr_auc", "ks")
PROBABILITIES = ("log_loss", "log_loss_skill", "brier_score", "brier_skill_score", "ece")


def binary(
    *,
    y_true: Column,
    y_score: Column | Mapping[str, Column] | None = None,
    y_pred: Column | Mapping[str, Column] | None = None,
    sample_weight: Column | None = None,
    by: Column | Sequence[Column] = (),
    positive: Any = None,
    negative: Any = None,
    nulls: Literal["raise", "drop"] = "raise",
    thresholds: Sequence[float] | None = None,
    domain: Domain = "probability",
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    calibration_bins: int = 10,
    metrics: Sequence[str | Metric] | None = None,
) -> Accumulator:
    """An accumulator for binary classification.

    Args:
        y_true: the labels: booleans, 0/1, or any values with ``positive=``.
        y_score: the score of the positive class, or a mapping of model names to scores.
        y_pred: predicted labels, which the 2x2 table then counts instead of thresholds.
        sample_weight: weights of rows.
        by: group columns, by name or expression.
        positive: the positive label; every other is negative.
        negative: the negative label; a third is then an error.
        nulls: ``"raise"`` or ``"drop"``.
        thresholds: where a score counts as positive: 0.5, or 0 in the real domain, unless given.
        domain: ``"probability"`` for scores in [0, 1]; ``"real"`` for margins, of which no loss or calibration is kept.
        capacity: most bins of the score histogram: 16,384, or 1,024 for each group where ``by`` is given.
        atoms: scores that many rows share.
        calibration_bins: number of calibration bins.
        metrics: what reports show, instead of the usual ones. All others can still be asked for.

    Raises:
        SpecificationError: where the arguments do not fit together.

    >>> acc = binary(y_true="clicked", y_score="p")
    >>> acc.update({"clicked": [1, 0, 1, 0], "p": [0.9, 0.6, 0.8, 0.1]}).finalize()["roc_auc"].value
    1.0
    """
    if y_score is None and y_pred is None:
        raise SpecificationError("binary needs y_score=, y_pred=, or both.")
    if y_score is None and thresholds is not None:
        raise SpecificationError("thresholds= apply to y_score=, which is not given.")
    if y_pred is not None and thresholds is not None:
        raise SpecificationError("give thresholds= on y_score=, or y_pred=; the 2x2 table counts one of them.")
    grouped = not (isinstance(by, Sequence) and not len(by))
    statistics: list[Statistic] = []
    if y_pred is not None:
        statistics.append(ConfusionCounts(thresholds=()))
    else:
        default = (0.5,) if domain == "probability" else (0.0,)
        statistics.append(ConfusionCounts(default if thresholds is None else tuple(thresholds)))
    shown: list[str] = []
    if y_score is not None:
        capacity = capacity or (CAPACITY_OF_A_GROUP if grouped else CAPACITY)
        statistics.append(ScoreHistogram(capacity, domain, tuple(atoms)))
        shown += RANKING
        if domain == "probability":
            statistics += [ProbabilityLoss(), CalibrationBins(calibration_bins)]
            shown += PROBABILITIES
    return Accumulator(
        *statistics,
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        sample_weight=sample_weight,
        by=by,
        positive=positive,
        negative=negative,
        nulls=nulls,
        metrics=[*VOLUME, *shown, *COUNTS] if metrics is None else metrics,
    )
