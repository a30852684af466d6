"""The function that estimates metrics before labels arrive, and what it requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from streammetrics.accumulator import Accumulator
from streammetrics.base import as_float, publish, require_free, shown, text
from streammetrics.data import several
from streammetrics.errors import Argument, MetricError, SpecificationError
from streammetrics.metrics import Metric, upper_level
from streammetrics.monitor.before_labels.expectation import KNOWN, OWN, Expectation, ExpectMethod
from streammetrics.monitor.before_labels.groups import require_sample
from streammetrics.reading import PAIRED
from streammetrics.report import Report


def expect(
    scores: Accumulator | Report,
    reference: Accumulator | Report,
    *,
    odds: float = 1.0,
    metrics: str | Sequence[str] | None = None,
    confidence: float | None = None,
    method: ExpectMethod = "calibration",
) -> Expectation:
    """Estimate the metrics of rows whose labels have not arrived, from rows with labels.

    The positive rate at each score is estimated from the reference by isotonic regression. These rates give the
    expected number of positives in each bin of scores, from which all metrics are computed. ``lower`` and ``upper`` are
    certified under one assumption: at each score, the odds of a positive differ from those of the reference by a factor
    of at most ``odds``. At ``odds=1``, the bounds only account for binning.

    With ``confidence``, ``ci_lower`` and ``ci_upper`` contain the metric of the future labels with that probability if
    the assumption holds. They are wider than the bounds, because they also account for the sampling noise of the labels
    in the reference and of the future labels. They require independent rows without weights.

    With ``method="prediction_powered"``, the reference is a random sample of rows that were labeled, and ``scores`` are
    the remaining rows of each group. The scores then make the metrics of the sample more precise, and these are valid
    even if scores are badly calibrated (Angelopoulos, Duchi & Zrnic 2023). ``ci_lower`` and ``ci_upper`` contain the
    metric of the population from which all rows come with the given probability. Rows can have weights. If both sides
    have the same ``unit``, intervals account for correlated rows, also of units with rows on both sides.

    Args:
        scores: Rows without labels, for example from `predictions`. Labels, if present, are ignored.
        reference: Rows with labels and scores, for example from `binary`, with the same group columns or fewer.
        odds: Largest factor between the odds of a positive in ``scores`` and in ``reference``, at least 1.
        metrics: ``"expected_positives"``, ``"roc_auc"``, ``"average_precision"``, ``"log_loss"``, ``"brier_score"``,
            and at each threshold of ``scores`` ``"accuracy"``, ``"balanced_accuracy"``, ``"precision"``, ``"recall"``,
            ``"specificity"``, and ``"f1"``. Prediction-powered estimates have ``"prevalence"`` instead of
            ``"expected_positives"`` and ``"average_precision"``. Defaults to all.
        confidence: Confidence level, such as 0.95. Defaults to no intervals.
        method: ``"calibration"`` if the positive rate at each score is that of the reference, up to ``odds``, or
            ``"prediction_powered"`` if the reference is a random sample of the same rows.

    Returns:
        An `Expectation` with the estimates of every group.

    Raises:
        ReportError: If scores are missing on either side, the reference has no labels, or the group columns, models, or
            score domains of the two sides do not match.
        MetricError: If a metric is unknown, or requires probabilities or thresholds that ``scores`` does not have.
        SpecificationError: If ``odds`` is below 1 or given for prediction-powered estimates, ``confidence`` is not
            between 0 and 1, or ``method`` is unknown.

    >>> import streammetrics as sm
    >>> january = {"y": [0, 0, 0, 1] * 50 + [0, 1, 1, 1] * 50, "p": [0.25] * 200 + [0.75] * 200}
    >>> reference = sm.binary(y_true="y", y_score="p").update(january)
    >>> february = sm.predictions(y_score="p").update({"p": [0.25] * 30 + [0.75] * 10})
    >>> sm.expect(february, reference, odds=1.5, metrics=["expected_positives", "accuracy", "recall"])
    metric              value  bound
    ──────────────────  ─────  ───────
    expected_positives   15.0  ± 3.2
    accuracy             0.75  ± 0.084
    recall               0.50  ± 0.1
    Scores of at least 0.5 count as positive.
    """
    one, other = (x.finalize() if isinstance(x, Accumulator) else x for x in (scores, reference))
    if not 1 <= as_float(odds) < inf:
        raise SpecificationError(Argument("odds"), f" must be a number of at least 1, got {shown(odds)}.")
    if method not in KNOWN:
        raise SpecificationError(Argument("method"), f" must be {text.few(list(KNOWN))}, got {method!r}.")
    if confidence is not None:
        upper_level(confidence)
    if method == "prediction_powered":
        if odds != 1:
            raise SpecificationError(
                "Prediction-powered estimates do not depend on odds. Remove ", Argument("odds"), "."
            )
        require_sample(other.state, one.state)
    require_free(one.by, OWN)
    require_free(one.by, PAIRED, "a name that estimates before labels use")
    wanted = tuple(KNOWN[method]) if metrics is None else _known(several(metrics), KNOWN[method])
    found = Expectation(one, other, float(odds), wanted, confidence, strict=metrics is not None, method=method)
    assert found.frame is not None  # computed now, so that errors are raised here
    return found


def _known(metrics: Sequence[str], known: Mapping[str, Metric]) -> tuple[str, ...]:
    if unknown := [m for m in metrics if m not in known]:
        raise MetricError(
            f"Metric {unknown[0]!r} cannot be estimated before labels. Available metrics: {', '.join(known)}."
        )
    return tuple(metrics)


publish("streammetrics", expect)
