"""Tasks: the statistics of a task, and the metrics that its reports show.

Each function lists its arguments in full, since `help` shows signatures and the command line takes its options from
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Any, Final, Literal

from streammetrics.accumulator import Accumulator
from streammetrics.base import of_percent, publish, shown
from streammetrics.core import Domain
from streammetrics.data import FOLDS, Column, Columns, maps_labels, plain_labels, several
from streammetrics.errors import Argument, Parts, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.statistics import (
    CAPACITY,
    MAX_GROUPS,
    CalibrationBins,
    ClassLoss,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorHistogram,
    ErrorMoments,
    Histogram,
    LabelSets,
    PairedClassLosses,
    PairedErrors,
    PairedLosses,
    PairedMatches,
    PairedOutcomes,
    PairedScores,
    PairHistograms,
    PredictedCounts,
    ProbabilityLoss,
    RankCounts,
    RowFingerprint,
    ScoreHistogram,
    Statistic,
)

CAPACITY_OF_A_GROUP = 4_096
CELLS_OF_FOLDS = 256  # of each fold of units, which only show how many rows differ
MAX_CROSSED = 4  # models; of more, each is paired with the first only

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
CLASSES = ("accuracy", "balanced_accuracy", "majority_accuracy", "kappa", "mcc")
ORDERED = "kappa(weights=quadratic)"  # counts an error by its distance
ERRORS = ("mae", "rmse", "bias", "error_sd", "r2", "explained_variance", "pearson_r", "concordance", "mape", "smape")
ERROR_QUANTILES = ("median_error", "median_absolute_error", "mad", "absolute_error_quantile(q=0.99)")
FAMILIES: dict[str, tuple[str, ...]] = {
    "log": ("msle",),
    "log_cosh": ("log_cosh",),
    "poisson": ("poisson_deviance", "d2_poisson"),
    "gamma": ("gamma_deviance", "d2_gamma"),
    "tweedie": ("tweedie_deviance", "d2_tweedie"),
}
RATIOS = ("precision", "recall", "f1")
MACRO, MICRO = ([f"{name}(average={average})" for name in RATIOS] for average in ("macro", "micro"))
OF_LABELS = (*RATIOS, "positives")
SCORE_OR_LABEL: Final[Parts] = (Argument("y_score"), ", ", Argument("y_pred"), ", or both.")
SCORES = ("mean", "quantile(q=0.05)", "median", "quantile(q=0.95)")


def binary(
    *,
    y_true: Column,
    y_score: Column | Mapping[str, Column] | None = None,
    y_pred: Column | Mapping[str, Column] | None = None,
    sample_weight: Column | None = None,
    count: Column | None = None,
    unit: Column | None = None,
    folds: int = FOLDS,
    by: Column | Sequence[Column] = (),
    positive: Any = None,
    negative: Any = None,
    nulls: Literal["raise", "drop"] = "raise",
    thresholds: Sequence[float] | None = None,
    domain: Domain = "probability",
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    rounding: float | None = None,
    calibration_bins: int = 10,
    pairs: bool = True,
    fingerprint: bool | str | Sequence[str] = False,
    metrics: Sequence[str | Metric] | None = None,
    max_groups: int | None = MAX_GROUPS,
) -> Accumulator:
    """Create an accumulator for binary classification.

    Args:
        y_true: Labels: Boolean, 0/1, or any values with ``positive=``.
        y_score: Score of the positive class, or a mapping of model names to scores.
        y_pred: Predicted labels. Confusion counts then use them instead of thresholds.
        sample_weight: Column of the row weights.
        count: Column of the number of equal rows that each row stands for, as in `GROUP BY` with ``count(*)``.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256. Plans require about
            200 (see `rows_needed`).
        by: Group columns: names or Polars expressions.
        positive: Positive label. All others are negative. One that differs from it only in spaces or capital letters
            raises an error, and so do metrics of rows with several labels of which none is positive.
        negative: Negative label. Any third label then raises an error.
        nulls: ``"raise"`` to reject nulls and NaN, or ``"drop"`` to drop and count such rows.
        thresholds: Decision thresholds on the score. Defaults to 0.5, or 0 in the real domain.
        domain: ``"probability"`` for scores in [0, 1], or ``"real"`` for margins, without losses and calibration.
        capacity: Maximum number of bins of the score histogram, and of cells of a pair of models. Defaults to 16,384,
            or 4,096 per group with ``by``.
        atoms: Scores shared by many rows (point masses).
        rounding: Step to which scores were rounded before, such as 1e-4. Bounds of ranking metrics then include every
            order of rows with equal scores. Scores that are not multiples of it raise an error.
        calibration_bins: Number of calibration bins.
        pairs: Accumulate statistics of pairs of models, which `Report.compare` needs for intervals and
            `Report.flip_rate` for decisions. Of more than four models, each is paired with the first only.
        fingerprint: Column that identifies a row, such as ``"request_id"``, or several; True if none does. Keeps a
            fingerprint, which shows whether two evaluations saw the same rows. See `RowFingerprint`.
        metrics: Metrics shown in reports. Defaults to those of the task. Others stay available by name.
        max_groups: Maximum number of groups. Defaults to 1,000,000; None for no limit. See `Accumulator`.

    Raises:
        SpecificationError: If arguments contradict each other.

    >>> acc = binary(y_true="clicked", y_score="p")
    >>> acc.update({"clicked": [1, 0, 1, 0], "p": [0.9, 0.6, 0.8, 0.1]}).finalize()["roc_auc"].value
    1.0
    """
    if y_score is None and y_pred is None:
        raise SpecificationError("binary requires ", *SCORE_OR_LABEL)
    _require_scores(y_score, rounding=rounding)
    _require_one_decision(y_score, y_pred, thresholds)
    decided = () if y_pred is not None else _thresholds(thresholds, domain)
    statistics: list[Statistic] = [ConfusionCounts(decided)]
    names: list[str] = []
    capacity = _bins(capacity, by, CAPACITY)
    if y_score is not None:
        statistics.append(ScoreHistogram(capacity, domain, several(atoms), rounding))
        names += RANKING
        if domain == "probability":
            statistics += [ProbabilityLoss(), CalibrationBins(calibration_bins)]
            names += PROBABILITIES
    if pairs and (paired := _pairs(y_score, y_pred)):
        statistics.append(PairedOutcomes(decided, paired))
        if y_score is not None and sample_weight is None:
            cells = CAPACITY if unit is None else CELLS_OF_FOLDS
            statistics.append(PairedScores(paired, min(capacity, cells), domain))
            statistics += [PairedLosses(paired)] if domain == "probability" else []
    return _accumulator(
        statistics,
        fingerprint,
        (*VOLUME, *names, *COUNTS),
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        sample_weight=sample_weight,
        count=count,
        unit=unit,
        folds=folds,
        by=by,
        positive=positive,
        negative=negative,
        nulls=nulls,
        metrics=metrics,
        max_groups=max_groups,
    )


def multiclass(
    *,
    y_true: Column,
    y_score: Columns | None = None,
    y_pred: Columns | None = None,
    labels: Sequence[Any] | None = None,
    order: Sequence[Any] = (),
    sample_weight: Column | None = None,
    count: Column | None = None,
    unit: Column | None = None,
    folds: int = FOLDS,
    by: Column | Sequence[Column] = (),
    nulls: Literal["raise", "drop"] = "raise",
    renormalize: bool = False,
    one_vs_one: bool = False,
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    rounding: float | None = None,
    calibration_bins: int = 10,
    pairs: bool = True,
    fingerprint: bool | str | Sequence[str] = False,
    metrics: Sequence[str | Metric] | None = None,
    max_groups: int | None = MAX_GROUPS,
) -> Accumulator:
    """Create an accumulator for multiclass classification.

    The predicted label is ``y_pred``, or the label with the highest probability. Ties go to the first label. Ranking
    metrics are one-vs-rest, and with ``one_vs_one`` also over all pairs of classes.

    Args:
        y_true: Labels of any plain type.
        y_score: A mapping of each label to the column of its probability, or one column of lists with ``labels``. For
            several models, a mapping of their names to either.
        y_pred: Predicted labels, or a mapping of model names to them.
        labels: All labels, in list order. Defaults to the labels of the mapping, or of ``order``.
        order: All labels from lowest to highest, for weighted kappa, which reports then show first. Defaults to the
            sort order of the labels. Categories and enums are sorted as text.
        sample_weight: Column of the row weights.
        count: Column of the number of equal rows that each row stands for, as in `GROUP BY` with ``count(*)``.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256. Plans require about
            200 (see `rows_needed`).
        by: Group columns: names or Polars expressions.
        nulls: ``"raise"`` to reject nulls and NaN, or ``"drop"`` to drop and count such rows.
        renormalize: Divide the probabilities of a row by their sum, instead of rejecting rows whose sum is not 1.
        one_vs_one: Also accumulate histograms of each pair of classes, for ``roc_auc_ovo`` (Hand & Till 2001). Memory
            then grows with the square of the number of classes.
        capacity: Maximum number of bins of the score histogram of a class. Defaults to 4,096; for pairs of
            classes at most 1,024.
        atoms: Probabilities shared by many rows (point masses).
        rounding: Step to which scores were rounded before, such as 1e-4. Bounds of ranking metrics then include every
            order of rows with equal scores. Scores that are not multiples of it raise an error.
        calibration_bins: Number of calibration bins per class.
        pairs: Also accumulate statistics of pairs of models, so that `Report.compare` has paired intervals. With more
            than four models, each is paired with the first only.
        fingerprint: Column that identifies a row, such as ``"request_id"``, or several; True if none does. Keeps a
            fingerprint, which shows whether two evaluations saw the same rows. See `RowFingerprint`.
        metrics: Metrics shown in reports. Defaults to those of the task. Others stay available by name.
        max_groups: Maximum number of groups. Defaults to 1,000,000; None for no limit. See `Accumulator`.

    Raises:
        SpecificationError: If arguments contradict each other.

    >>> acc = multiclass(y_true="animal", y_pred="guess")
    >>> report = acc.update({"animal": ["cat", "dog", "cow"], "guess": ["cat", "dog", "dog"]}).finalize()
    >>> report["accuracy"].value, report.get("recall", label="cow").value
    (0.6666666666666666, 0.0)
    """
    if y_score is None and y_pred is None:
        raise SpecificationError("multiclass requires ", *SCORE_OR_LABEL)
    _require_scores(y_score, rounding=rounding, one_vs_one=one_vs_one or None)
    order = plain_labels(order, "order")
    statistics: list[Statistic] = [ConfusionMatrix(order)]
    of_order = [ORDERED] if len(order) else []
    names: list[str] = []
    if y_score is not None:
        capacity = _bins(capacity, by, CAPACITY // 4)
        bins = ScoreHistogram(capacity, "probability", several(atoms), rounding)
        statistics += [ClassLoss(), RankCounts(), bins, CalibrationBins(calibration_bins)]
        names += ["roc_auc(average=macro)", "roc_auc", "average_precision", "log_loss", "log_loss_skill", "brier_score"]
        if one_vs_one and rounding is not None:
            raise SpecificationError(
                Argument("rounding"), " and ", Argument("one_vs_one"), " cannot be combined. Evaluate with one of them."
            )
        if one_vs_one:
            statistics.append(PairHistograms(min(capacity, PairHistograms.capacity), "probability", several(atoms)))
            names.append("roc_auc_ovo")
    of_labels = maps_labels(y_score, (order or None) if labels is None else labels)
    paired = _pairs(y_pred, None if of_labels else y_score)
    if pairs and sample_weight is None and paired:
        statistics += [PairedMatches(paired), *([PairedClassLosses(paired)] if y_score is not None else [])]
    return _accumulator(
        statistics,
        fingerprint,
        (*VOLUME, *of_order, *CLASSES, *MACRO, *OF_LABELS, *names),
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        labels=labels,
        sample_weight=sample_weight,
        count=count,
        unit=unit,
        folds=folds,
        by=by,
        nulls=nulls,
        renormalize=renormalize,
        metrics=metrics,
        max_groups=max_groups,
    )


def multilabel(
    *,
    y_true: Columns,
    y_score: Columns | None = None,
    y_pred: Columns | None = None,
    labels: Sequence[Any] | None = None,
    sample_weight: Column | None = None,
    count: Column | None = None,
    unit: Column | None = None,
    folds: int = FOLDS,
    by: Column | Sequence[Column] = (),
    nulls: Literal["raise", "drop"] = "raise",
    threshold: float = 0.5,
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    rounding: float | None = None,
    calibration_bins: int = 10,
    fingerprint: bool | str | Sequence[str] = False,
    metrics: Sequence[str | Metric] | None = None,
    max_groups: int | None = MAX_GROUPS,
) -> Accumulator:
    """Create an accumulator for multilabel classification, in which a row can have any number of labels.

    Args:
        y_true: A mapping of each label to a Boolean or 0/1 column, or one column of such lists with ``labels``.
        y_score: Probabilities, as a mapping or a list column. For several models, a mapping of their names to either.
        y_pred: Predicted labels, as a mapping or a list column.
        labels: All labels, in list order. Defaults to the labels of the mapping.
        sample_weight: Column of the row weights.
        count: Column of the number of equal rows that each row stands for, as in `GROUP BY` with ``count(*)``.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256. Plans require about
            200 (see `rows_needed`).
        by: Group columns: names or Polars expressions.
        nulls: ``"raise"`` to reject nulls and NaN, or ``"drop"`` to drop and count such rows.
        threshold: Score at or above which a label is predicted, without ``y_pred``.
        capacity: Maximum number of bins of the score histogram of a label. Defaults to 4,096.
        atoms: Probabilities shared by many rows (point masses).
        rounding: Step to which scores were rounded before, such as 1e-4. Bounds of ranking metrics then include every
            order of rows with equal scores. Scores that are not multiples of it raise an error.
        calibration_bins: Number of calibration bins per label.
        fingerprint: Column that identifies a row, such as ``"request_id"``, or several; True if none does. Keeps a
            fingerprint, which shows whether two evaluations saw the same rows. See `RowFingerprint`.
        metrics: Metrics shown in reports. Defaults to those of the task. Others stay available by name.
        max_groups: Maximum number of groups. Defaults to 1,000,000; None for no limit. See `Accumulator`.

    Raises:
        SpecificationError: If arguments contradict each other.

    >>> acc = multilabel(y_true={"news": "is_news", "sport": "is_sport"}, y_pred={"news": "p_news", "sport": "p_sport"})
    >>> batch = {"is_news": [1, 0], "p_news": [1, 0], "is_sport": [0, 1], "p_sport": [1, 1]}
    >>> report = acc.update(batch).finalize()
    >>> report["subset_accuracy"].value, report["hamming_loss"].value, report.get("precision", label="sport").value
    (0.5, 0.25, 0.5)
    """
    if y_score is None and y_pred is None:
        raise SpecificationError("multilabel requires ", *SCORE_OR_LABEL)
    _require_scores(y_score, rounding=rounding)
    _require_probabilities("threshold", (threshold,))
    statistics: list[Statistic] = [LabelSets(threshold), ConfusionCounts((threshold,) if y_pred is None else ())]
    names: list[str] = []
    if y_score is not None:
        capacity = _bins(capacity, by, CAPACITY // 4)
        bins = ScoreHistogram(capacity, "probability", several(atoms), rounding)
        statistics += [bins, ProbabilityLoss(), CalibrationBins(calibration_bins)]
        names += ["roc_auc(average=macro)", "roc_auc", "average_precision", "log_loss", "ece"]
    sets = ("subset_accuracy", "hamming_loss", "samples_jaccard")
    return _accumulator(
        statistics,
        fingerprint,
        (*VOLUME, *sets, *MICRO, *MACRO, *OF_LABELS, *names),
        y_true=y_true,
        y_pred=y_pred,
        y_score=y_score,
        labels=labels,
        sample_weight=sample_weight,
        count=count,
        unit=unit,
        folds=folds,
        by=by,
        nulls=nulls,
        metrics=metrics,
        max_groups=max_groups,
    )


def regression(
    *,
    y_true: Column,
    y_pred: Column | Mapping[str, Column],
    sample_weight: Column | None = None,
    count: Column | None = None,
    unit: Column | None = None,
    folds: int = FOLDS,
    by: Column | Sequence[Column] = (),
    nulls: Literal["raise", "drop"] = "raise",
    families: Sequence[str] = (),
    power: float = 1.5,
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    pairs: bool = True,
    fingerprint: bool | str | Sequence[str] = False,
    metrics: Sequence[str | Metric] | None = None,
    max_groups: int | None = MAX_GROUPS,
) -> Accumulator:
    """Create an accumulator for regression. Errors are predictions minus true values.

    Args:
        y_true: True values, finite numbers.
        y_pred: Predictions, or a mapping of model names to predictions.
        sample_weight: Column of the row weights.
        count: Column of the number of equal rows that each row stands for, as in `GROUP BY` with ``count(*)``.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256. Plans require about
            200 (see `rows_needed`).
        by: Group columns: names or Polars expressions.
        nulls: ``"raise"`` to reject nulls and NaN, or ``"drop"`` to drop and count such rows.
        families: Additional losses, each of which computes a logarithm or a power per row: ``"log"`` (for MSLE),
            ``"log_cosh"``, ``"poisson"``, ``"gamma"``, ``"tweedie"``.
        power: Power of the Tweedie deviance.
        capacity: Maximum number of bins of the error histogram. Defaults to 16,384, or 4,096 per group with ``by``.
        atoms: Errors shared by many rows (point masses).
        pairs: Accumulate statistics of pairs of models, which `Report.compare` needs for intervals. Of more than four
            models, each is paired with the first only.
        fingerprint: Column that identifies a row, such as ``"request_id"``, or several; True if none does. Keeps a
            fingerprint, which shows whether two evaluations saw the same rows. See `RowFingerprint`.
        metrics: Metrics shown in reports. Defaults to those of the task. Others stay available by name.
        max_groups: Maximum number of groups. Defaults to 1,000,000; None for no limit. See `Accumulator`.

    Raises:
        SpecificationError: If arguments contradict each other.

    >>> acc = regression(y_true="sold", y_pred="forecast")
    >>> report = acc.update({"sold": [3.0, 5.0, 4.0], "forecast": [2.5, 5.0, 5.0]}).finalize()
    >>> report["mae"].value, report["median_absolute_error"].value, report["within(x=0.5)"].value
    (0.5, 0.5, 0.6666666666666666)
    """
    capacity = _bins(capacity, by, CAPACITY)
    families = several(families)
    statistics: list[Statistic] = [ErrorMoments(families, power), ErrorHistogram(capacity, atoms=several(atoms))]
    names = [name for family in families for name in FAMILIES[family]]
    if pairs and sample_weight is None and (paired := _pairs(None, y_pred)):
        statistics.append(PairedErrors(paired))
    return _accumulator(
        statistics,
        fingerprint,
        (*VOLUME, *ERRORS, *ERROR_QUANTILES, *names),
        y_true=y_true,
        y_pred=y_pred,
        sample_weight=sample_weight,
        count=count,
        unit=unit,
        folds=folds,
        by=by,
        nulls=nulls,
        metrics=metrics,
        max_groups=max_groups,
    )


def predictions(
    *,
    y_score: Column | Mapping[str, Column] | None = None,
    y_pred: Column | Mapping[str, Column] | None = None,
    sample_weight: Column | None = None,
    count: Column | None = None,
    unit: Column | None = None,
    folds: int = FOLDS,
    by: Column | Sequence[Column] = (),
    positive: Any = None,
    negative: Any = None,
    nulls: Literal["raise", "drop"] = "drop",
    thresholds: Sequence[float] | None = None,
    domain: Domain = "probability",
    capacity: int | None = None,
    atoms: Sequence[float] = (),
    fingerprint: bool | str | Sequence[str] = False,
    metrics: Sequence[str | Metric] | None = None,
    max_groups: int | None = MAX_GROUPS,
) -> Accumulator:
    """Create an accumulator for predictions without labels: volume, null rate, scores, and predicted positives.

    Rows with a null are dropped and counted, so ``dropped_rate`` is the null rate of each group.

    Args:
        y_score: Score of the positive class, or a mapping of model names to scores. In the real domain, any number.
        y_pred: Predicted labels. Predicted positives are then counted from them, instead of thresholds.
        sample_weight: Column of the row weights.
        count: Column of the number of equal rows that each row stands for, as in `GROUP BY` with ``count(*)``.
        unit: Column that identifies correlated rows, such as a user ID. Confidence intervals account for the
            correlation.
        folds: Number of parts of the units that intervals leave out one at a time, from 5 to 256. Plans require about
            200 (see `rows_needed`).
        by: Group columns: names or Polars expressions, such as a segment and a time window.
        positive: Positive label of ``y_pred``. All others are negative.
        negative: Negative label. Any third label then raises an error.
        nulls: ``"drop"`` to drop and count rows with nulls or NaN, or ``"raise"`` to reject them.
        thresholds: Decision thresholds on the score. Defaults to 0.5, or 0 in the real domain. Pass ``()`` for none.
        domain: ``"probability"`` for scores in [0, 1], or ``"real"`` for margins, forecasts, and other numbers.
        capacity: Maximum number of bins of the histogram. Defaults to 16,384, or 4,096 per group with ``by``.
        atoms: Scores shared by many rows (point masses).
        fingerprint: Column that identifies a row, such as ``"request_id"``, or several; True if none does. Keeps a
            fingerprint, which shows whether two evaluations saw the same rows. See `RowFingerprint`.
        metrics: Metrics shown in reports. Defaults to those of the task. Others stay available by name.
        max_groups: Maximum number of groups. Defaults to 1,000,000; None for no limit. See `Accumulator`.

    Raises:
        SpecificationError: If arguments contradict each other.

    >>> acc = predictions(y_score="p").update({"p": [0.9, 0.6, None, 0.1]})
    >>> report = acc.finalize()
    >>> report["predicted_positive_rate"].value, report["median"].value, report["dropped_rate"].value
    (0.6666666666666666, 0.6, 0.25)
    """
    if y_score is None and y_pred is None:
        raise SpecificationError("predictions requires ", *SCORE_OR_LABEL)
    _require_one_decision(y_score, y_pred, thresholds)
    statistics: list[Statistic] = []
    names = [*VOLUME, "dropped_rate"]
    decided = () if y_pred is not None else _thresholds(thresholds, domain)
    if y_pred is not None or decided:
        statistics.append(PredictedCounts(decided))
        names.append("predicted_positive_rate")
    if y_score is not None:
        capacity = _bins(capacity, by, CAPACITY)
        statistics.append(Histogram(capacity, domain, several(atoms)))
        names += SCORES
    return _accumulator(
        statistics,
        fingerprint,
        names,
        task="binary",
        y_pred=y_pred,
        y_score=y_score,
        sample_weight=sample_weight,
        count=count,
        unit=unit,
        folds=folds,
        by=by,
        positive=positive,
        negative=negative,
        nulls=nulls,
        metrics=metrics,
        max_groups=max_groups,
    )


def _accumulator(
    statistics: Sequence[Statistic], fingerprint: bool | str | Sequence[str], names: Sequence[str], **arguments: Any
) -> Accumulator:
    """An accumulator that shows some metrics, unless the user chose others."""
    if fingerprint is not False:
        statistics = [*statistics, RowFingerprint(() if fingerprint is True else several(fingerprint))]
    accumulator = Accumulator(*statistics, **arguments)
    if accumulator.metrics is None:
        accumulator.metrics = tuple(names)
    return accumulator


def _require_scores(y_score: Any, **options: Any) -> None:
    for name, value in options.items():
        if y_score is None and value is not None:
            raise SpecificationError(Argument(name), " requires ", Argument("y_score"), ".")


def _require_one_decision(y_score: Any, y_pred: Any, thresholds: Sequence[float] | None) -> None:
    _require_scores(y_score, thresholds=thresholds)
    if y_pred is not None and thresholds is not None:
        raise SpecificationError("Pass either ", Argument("thresholds"), " or ", Argument("y_pred"), ", not both.")


def _pairs(*columns: Any) -> tuple[tuple[str, str], ...]:
    models = next((column for column in columns if isinstance(column, Mapping)), {})
    return model_pairs(models) if len(models) > 1 and all(isinstance(name, str) for name in models) else ()


def model_pairs(models: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of models: all, in the order of names; for more than four models, each with the first.

    >>> model_pairs(["new", "old"]), model_pairs("cabde")
    ((('new', 'old'),), (('c', 'a'), ('c', 'b'), ('c', 'd'), ('c', 'e')))
    """
    first, *others = models
    if len(others) < MAX_CROSSED:
        return tuple(combinations(sorted([first, *others]), 2))
    return tuple((first, other) for other in others)


def _thresholds(thresholds: Sequence[float] | None, domain: Domain) -> tuple[float, ...]:
    if thresholds is None:
        return (0.5 if domain == "probability" else 0.0,)
    values = several(thresholds)
    if domain == "probability":
        _require_probabilities("thresholds", values, " Pass ", Argument("domain", "real"), " for other scores.")
    return values


def _require_probabilities(name: str, thresholds: Sequence[float], *advice: str | Argument) -> None:
    """Reject thresholds that are not probabilities, except infinite ones, which come from ROC curves."""
    beyond = [t for t in thresholds if isinstance(t, int | float) and (t < 0 or t > 1) and abs(t) != inf]
    if beyond:
        got = f"got {shown(beyond[0])}.{of_percent(beyond[0])}"
        raise SpecificationError(Argument(name), f" must be between 0 and 1 for probabilities, {got}", *advice)


def _bins(capacity: int | None, by: Column | Sequence[Column], default: int) -> int:
    """Maximum number of bins of a histogram. Defaults to fewer with groups."""
    grouped = not (isinstance(by, Sequence) and not len(by))
    return capacity if capacity is not None else CAPACITY_OF_A_GROUP if grouped else default


publish("streammetrics", binary, multiclass, multilabel, predictions, regression)
