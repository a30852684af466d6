"""Estimates before labels arrive, of all groups: as a frame, one by one, and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import (
    EXPLAINED,
    LIMITS,
    REMARK,
    STATUS,
    VALUE,
    as_float,
    matching,
    publish,
    require_free,
    shown,
    text,
    visible,
)
from streammetrics.data import several
from streammetrics.errors import Argument, MetricError, ReportError, SpecificationError
from streammetrics.metrics import Metric, upper_level
from streammetrics.monitor.before_labels.calibration import calibrated, needed
from streammetrics.monitor.before_labels.estimates import Row
from streammetrics.monitor.before_labels.filled import METRICS
from streammetrics.monitor.before_labels.groups import require_sample
from streammetrics.monitor.before_labels.prediction_powered import METRICS as POWERED
from streammetrics.monitor.before_labels.prediction_powered import powered
from streammetrics.reading import PAIRED
from streammetrics.report import Estimate, Report, estimate_of
from streammetrics.show import Table, as_text, report_tables, terminal_width, with_note, with_notes

ExpectMethod: TypeAlias = Literal["calibration", "prediction_powered"]

METHODS: dict[ExpectMethod, Mapping[str, Metric]] = {"calibration": METRICS, "prediction_powered": POWERED}
NEEDED = ("value", "expected", "needed_odds")
COLUMNS = ("threshold", "metric", "status", "note", *VALUE, *LIMITS, *NEEDED)


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
    if method not in METHODS:
        raise SpecificationError(Argument("method"), f" must be {text.few(list(METHODS))}, got {method!r}.")
    if confidence is not None:
        upper_level(confidence)
    if method == "prediction_powered":
        if odds != 1:
            raise SpecificationError(
                "Prediction-powered estimates do not depend on odds. Remove ", Argument("odds"), "."
            )
        require_sample(other.state, one.state)
    require_free(one.by, COLUMNS)
    require_free(one.by, PAIRED, "a name that estimates before labels use")
    names = tuple(METHODS[method]) if metrics is None else tuple(several(metrics))
    if unknown := [m for m in names if m not in METHODS[method]]:
        raise MetricError(
            f"Metric {unknown[0]!r} cannot be estimated before labels. Available metrics: {', '.join(METHODS[method])}."
        )
    expectation = Expectation(one, other, float(odds), names, confidence, strict=metrics is not None, method=method)
    assert expectation.frame is not None  # computed now, so that errors are raised here
    return expectation


@dataclass(frozen=True, repr=False)
class Expectation:
    """Estimated metrics of rows without labels, returned by `expect`.

    ``found[metric]`` and `get` return an `Estimate`. `frame` contains all estimates.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [0, 0, 0, 1] * 25, "p": [0.1, 0.1, 0.6, 0.6] * 25})
    >>> found = sm.expect(sm.predictions(y_score="p").update({"p": [0.1, 0.6, 0.6]}), acc)
    >>> found["precision"].value
    0.5
    """

    scores: Report
    reference: Report
    odds: float
    metrics: tuple[str, ...]
    confidence: float | None = None
    strict: bool = False
    method: ExpectMethod = "calibration"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All estimates: group columns, ``threshold``, metric, value, lower, upper, status, and note.

        With a confidence level, ``ci_lower`` and ``ci_upper`` come before ``status``, whose codes are those of
        `Report.frame` and ``"no_rows"``, ``"no_rows_in_reference"``, ``"no_positives_in_reference"``,
        ``"no_negatives_in_reference"``, ``"no_predicted_positives"``, ``"no_predicted_positives_in_reference"``, or
        ``"not_in_reference"`` without a value, and ``"dependent_rows"``, ``"few_labeled_rows"``,
        ``"few_labeled_units"``, or ``"other_units"`` without an interval.
        """
        level = None if self.confidence is None else upper_level(self.confidence)
        sides = self.scores, self.reference, self._metrics
        if self.method == "calibration":
            rows = calibrated(*sides, self.odds, level, strict=self.strict)
        else:
            rows = powered(*sides, level, strict=self.strict)
        return visible(with_note(_frame(self.scores, rows, (*VALUE, *(LIMITS if level else ()), STATUS, REMARK))))

    @property
    def _metrics(self) -> dict[str, Metric]:
        return {name: METHODS[self.method][name] for name in self.metrics}

    def needed_odds(self, labeled: Accumulator | Report) -> pl.DataFrame:
        """Return the smallest ``odds`` whose bounds contain the metrics of labeled rows.

        This checks the assumption on rows whose labels have arrived, such as those of the last weeks, against the same
        reference. The result includes the sampling noise of the labels, so small groups need larger odds.

        Args:
            labeled: Rows with labels and scores, with the group columns of the reference or more.

        Returns:
            The group columns, ``threshold``, ``metric``, ``value`` (computed from the labels), ``expected`` (the
            estimate at ``odds=1``), and ``needed_odds``: 1 if the bounds at ``odds=1`` contain the value, infinite if
            no factor up to a million suffices.

        Raises:
            ReportError: As in `expect`.

        >>> import streammetrics as sm
        >>> reference = sm.binary(y_true="y", y_score="p").update({"y": [0, 1] * 50, "p": [0.4] * 100})
        >>> labeled = sm.binary(y_true="y", y_score="p").update({"y": [0, 1, 1], "p": [0.4] * 3})
        >>> found = sm.expect(labeled, reference, metrics="expected_positives").needed_odds(labeled)
        >>> found.select("value", "expected", pl.col("needed_odds").round(6)).row(0)
        (2.0, 1.5, 2.0)
        """
        if self.method != "calibration":
            raise ReportError("Prediction-powered estimates do not depend on odds.")
        report = labeled.finalize() if isinstance(labeled, Accumulator) else labeled
        require_free(report.by, COLUMNS)
        return _frame(report, needed(report, self.reference, self._metrics, strict=self.strict), NEEDED)

    def rows(self, metric: str, **keys: Any) -> pl.DataFrame:
        """Return the rows of `frame` for one metric, for matching groups and thresholds.

        Args:
            metric: Name of the metric.
            keys: Values of group columns, and ``threshold``, that select rows.

        Returns:
            Rows with the columns of `frame`.

        Raises:
            MetricError: If the metric was not estimated.
            ReportError: If a key is not a column of the frame, or the threshold is unknown.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [0, 1] * 50, "p": [0.4] * 100})
        >>> found = sm.expect(sm.predictions(y_score="p").update({"p": [0.4] * 6}), acc)
        >>> found.rows("expected_positives")["value"].to_list()
        [3.0]
        """
        if metric not in self.metrics:
            raise MetricError(f"Metric {metric!r} was not estimated. Estimated metrics: {', '.join(self.metrics)}.")
        rows = self.frame.filter(pl.col("metric") == metric)
        thresholds = rows["threshold"].unique(maintain_order=True).to_list()
        if "threshold" in keys and keys["threshold"] not in thresholds:
            raise ReportError(
                f"Threshold {keys['threshold']!r} was not evaluated for the rows without labels. "
                f"Available thresholds: {text.few(thresholds)}."
            )
        return matching(rows, [*self.scores.by, "threshold"], keys)

    def get(self, metric: str, **keys: Any) -> Estimate:
        """Return the estimate of a metric, such as ``found.get("recall", threshold=0.5, country="DE")``.

        Raises:
            MetricError: If the metric was not estimated.
            ReportError: If no row or more than one row matches, or as in `rows`.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [0, 1] * 50, "p": [0.4] * 100})
        >>> found = sm.expect(sm.predictions(y_score="p").update({"p": [0.4] * 6}), acc)
        >>> found.get("expected_positives").value
        3.0
        """
        rows = self.rows(metric, **keys)
        if rows.height != 1:
            keys_of_rows = ", ".join([*self.scores.by, "threshold"])
            raise ReportError(f"{metric} has {rows.height} values for these keys. Select one by: {keys_of_rows}.")
        return estimate_of(rows, self.confidence)

    def __getitem__(self, metric: str) -> Estimate:
        return self.get(metric)

    def __str__(self) -> str:
        width = terminal_width()
        return as_text(*expectation_tables(self, width), width=width)

    def __repr__(self) -> str:
        return str(self)


def expectation_tables(expectation: Expectation, width: int | None) -> list[Table]:
    """Return estimates as tables. Without intervals, the values of groups are followed by the bounds of the odds."""
    by, frame = expectation.scores.by, expectation.frame
    if not by or expectation.confidence is not None or expectation.odds == 1:
        return with_notes(report_tables(frame, by, width, confidence=expectation.confidence), *assumptions(expectation))
    tables = report_tables(frame.with_columns(ci_lower="lower", ci_upper="upper"), by, width)
    return with_notes(tables, f"In brackets: bounds if odds differ by a factor of at most {expectation.odds:g}.")


def assumptions(expectation: Expectation) -> list[str]:
    """Return a sentence that says when estimates are right, if this is not a matter of odds."""
    is_sample = expectation.method == "prediction_powered"
    return ["The labeled rows must be a random sample of all rows."] if is_sample else []


def _frame(report: Report, rows: Iterator[Row], columns: Sequence[str]) -> pl.DataFrame:
    data = [(*group.keys, *reversed(one), *(numbers.get(c) for c in columns)) for group, one, numbers in rows]
    types = {"threshold": pl.Float64(), "metric": pl.String()} | dict.fromkeys(columns, pl.Float64())
    texts = {name: kind for name, kind in EXPLAINED.items() if name in columns}
    return pl.DataFrame(data, schema={**report.state.keys.schema, **types, **texts}, orient="row")


publish("streammetrics", Expectation, expect)
