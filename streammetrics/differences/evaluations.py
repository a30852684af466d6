"""Comparison of two evaluations, given as accumulators or as reports."""

from __future__ import annotations

from collections.abc import Sequence

from streammetrics.accumulator import Accumulator
from streammetrics.errors import ReportError, SpecificationError
from streammetrics.metrics import Metric
from streammetrics.report.report import Comparison, Report
from streammetrics.system.public import publish


def compare(
    a: Accumulator | Report,
    b: Accumulator | Report | None = None,
    *,
    models: tuple[str, str] | None = None,
    metrics: Sequence[str | Metric] | None = None,
    confidence: float | None = 0.95,
    independent: bool = False,
) -> Comparison:
    """Compare two evaluations, such as two models on the same rows or one model on two days.

    Confidence intervals of the differences depend on how the rows are related. Intervals of two ``models`` of one
    accumulator are paired, unless the models dropped different rows. The same holds if both sides have the same
    ``unit`` and the same number of rows in each fold. Otherwise there are intervals only for ``independent`` rows.
    Without an interval, neither side is called better, and the note names the side that is better on these rows.

    Args:
        a: An accumulator, or a report.
        b: Another one, with the same group columns or more. With more, ``a`` is compared with each group of ``b``.
        models: Names of two models of ``a``, to compare instead of ``a`` and ``b``. See `Report.compare`.
        metrics: Metrics to compare. Defaults to those that both sides show.
        confidence: Confidence level of the intervals. With None, ``better`` follows from the certified bounds only.
        independent: True if the two evaluations have independent rows, such as different users on different days. False
            for two models on the same rows.

    Returns:
        A `Comparison` with the difference of every metric in every group.

    Raises:
        ReportError: If the group columns differ, or one has the name of a column of the comparison.
        MetricError: If a metric is unknown, or not available on both sides.
        SpecificationError: If ``confidence`` is not between 0 and 1, or not exactly one of ``b`` and ``models`` is
            given, or two ``models`` are called ``independent``.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> compare(a, b).frame.filter(metric="roc_auc").select("a", "b", "difference", "better", "note").row(0)
    (0.75, 1.0, 0.25, None, 'b on these rows; no confidence interval')
    """
    if (b is None) == (models is None):
        raise SpecificationError("Pass either b or models=, not both.")
    one = _report(a, metrics)
    if models is not None and independent:
        raise SpecificationError("independent= does not apply to two models of one state: their rows are the same.")
    if b is not None:
        return Comparison(one, _report(b, metrics), confidence, independent)
    first, second = models or ("", "")
    return one.compare(first, second, confidence=confidence)


def _report(given: Accumulator | Report, metrics: Sequence[str | Metric] | None) -> Report:
    if not isinstance(given, (Accumulator, Report)):
        raise ReportError(f"Only accumulators and reports can be compared, got {type(given).__name__}.")
    report = given if isinstance(given, Report) else given.finalize(metrics)
    return report if metrics is None else report.showing(metrics)


publish("streammetrics", compare)
