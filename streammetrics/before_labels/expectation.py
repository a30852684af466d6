"""Estimates of metrics before labels arrive, with bounds under an assumption, and confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan, nan
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics import text
from streammetrics.accumulator import Accumulator
from streammetrics.before_labels.estimates import Numbers, available, estimates, needed_odds
from streammetrics.before_labels.filled import METRICS, Wanted, bounded, is_readable, read, read_off
from streammetrics.before_labels.groups import Group, groups, labels_of, require_sample
from streammetrics.before_labels.prediction_powered import METRICS as POWERED
from streammetrics.before_labels.prediction_powered import powered
from streammetrics.errors import MetricError, ReportError, SpecificationError
from streammetrics.frame import LIMITS, VALUE, noted
from streammetrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.keys import matching, require_free
from streammetrics.metrics import Metric
from streammetrics.present.estimates import report_tables, with_notes
from streammetrics.present.table import Table
from streammetrics.present.terminal import as_text, terminal_width
from streammetrics.reading.distributions import PAIRED
from streammetrics.report.estimate import Estimate, estimate_of
from streammetrics.report.report import Report
from streammetrics.rows.roles import several
from streammetrics.system.public import publish

ExpectMethod: TypeAlias = Literal["calibration", "prediction_powered"]

KNOWN: dict[str, Mapping[str, Metric]] = {"calibration": METRICS, "prediction_powered": POWERED}
NEEDED = ("value", "expected", "needed_odds")
OWN = ("threshold", "metric", "note", *VALUE, *LIMITS, *NEEDED)


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
    metric of the population from which all rows come with the given probability.

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
    if not 1 <= odds < inf:
        raise SpecificationError(f"odds= must be a number of at least 1, got {odds!r}.")
    if method not in KNOWN:
        raise SpecificationError(f"method= must be {text.few(list(KNOWN))}, got {method!r}.")
    if confidence is not None:
        upper_level(confidence)
    if method == "prediction_powered":
        if odds != 1:
            raise SpecificationError("Prediction-powered estimates do not depend on odds. Remove odds=.")
        require_sample(other.state, one.state)
    require_free(one.by, OWN)
    require_free(one.by, PAIRED, "a name that estimates before labels use")
    wanted = tuple(KNOWN[method]) if metrics is None else _known(several(metrics), KNOWN[method])
    found = Expectation(one, other, float(odds), wanted, confidence, strict=metrics is not None, method=method)
    assert found.frame is not None  # computed now, so that errors are raised here
    return found


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
        """All estimates: group columns, ``threshold``, ``metric``, ``value``, ``lower``, ``upper``, ``note``.

        With a confidence level, ``ci_lower`` and ``ci_upper`` come before ``note``.
        """
        reason = None if self.confidence is None else self._no_interval()
        level = None if self.confidence is None or reason else upper_level(self.confidence)
        rows = [
            (*group.keys, threshold, metric, numbers)
            for group, found in self._estimates(level)
            for (metric, threshold), numbers in found
        ]
        limits = () if self.confidence is None else LIMITS
        frame = _frame(self.scores, rows, (*VALUE, *limits, "note"))
        without = pl.col("value").is_not_null() if reason else pl.lit(False)
        said = pl.when(without).then(pl.lit(f"no interval: {reason}"))
        return frame.with_columns(note=noted("note", said))

    def _estimates(self, level: float | None) -> Iterator[tuple[Group, Iterator[tuple[Wanted, Numbers]]]]:
        if self.method == "calibration":
            for group, values in self._groups(self.scores):
                yield group, estimates(group, values, self.odds, level and normal_quantile(level))
            return
        metrics = {name: POWERED[name] for name in self.metrics}
        shown = bounded(self.reference.state, [*metrics.values()])
        for block in groups(self.reference.state, self.scores.state):
            wanted = available(metrics, block[0], strict=self.strict)
            for group in block:
                yield group, powered(group, shown, wanted, level)

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
        require_free(report.by, OWN)
        labels_of(report.state, "The scores must have labels for needed_odds")
        metrics = [METRICS[m] for m in self.metrics if is_readable(METRICS[m], report.state.statistics)]
        shown = read_off(report.state, metrics)
        rows: list[tuple[Any, ...]] = []
        for number, (group, values) in enumerate(self._groups(report)):
            for one, estimate in values.items():
                value = float(shown[one][number]) if one in shown else nan
                numbers: Numbers = {} if isnan(value) else {"value": value}
                if numbers and not group.undefined:
                    numbers |= {"expected": estimate, "needed_odds": needed_odds(group, one, value)}
                rows.append((*group.keys, *reversed(one), numbers))
        return _frame(report, rows, NEEDED)

    def _groups(self, report: Report) -> Iterator[tuple[Group, dict[Wanted, float]]]:
        """The groups of a report with their reference and the available metrics at its rates, NaN if undefined."""
        for block in groups(self.reference.state, report.state):
            wanted = available({name: METRICS[name] for name in self.metrics}, block[0], strict=self.strict)
            values = read([(group.bins, (group.rows * group.rates)[None]) for group in block], wanted)
            for number, group in enumerate(block):
                yield group, {one: float(values[one][number]) for one in wanted}

    def _no_interval(self) -> str | None:
        sides = (self.scores, self.reference)
        if any(side.unit is not None for side in sides):
            return "the rows of a unit are correlated"
        return "weights do not give the number of rows" if any(side.state.weighted for side in sides) else None

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
        found = self.frame.filter(pl.col("metric") == metric)
        thresholds = found["threshold"].unique(maintain_order=True).to_list()
        if "threshold" in keys and keys["threshold"] not in thresholds:
            raise ReportError(
                f"Threshold {keys['threshold']!r} was not evaluated for the rows without labels. "
                f"Available thresholds: {text.few(thresholds)}."
            )
        return matching(found, [*self.scores.by, "threshold"], keys)

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
            known = ", ".join([*self.scores.by, "threshold"])
            raise ReportError(f"{metric} has {rows.height} values for these keys. Select one by: {known}.")
        return estimate_of(rows)

    def __getitem__(self, metric: str) -> Estimate:
        return self.get(metric)

    def __str__(self) -> str:
        width = terminal_width()
        return as_text(*expectation_tables(self, width), width=width)

    def __repr__(self) -> str:
        return str(self)


def expectation_tables(found: Expectation, width: int | None) -> list[Table]:
    """Return estimates as tables. Without intervals, the values of groups are followed by the bounds of the odds."""
    by = found.scores.by
    if found.method == "prediction_powered":
        return with_notes(
            report_tables(found.frame, by, width), "The labeled rows must be a random sample of all rows."
        )
    if not by or found.confidence is not None or found.odds == 1:
        return report_tables(found.frame, by, width)
    shown = report_tables(found.frame.with_columns(ci_lower="lower", ci_upper="upper"), by, width)
    return with_notes(shown, f"In brackets: bounds if odds differ by a factor of at most {found.odds:g}.")


def _known(metrics: Sequence[str], known: Mapping[str, Metric]) -> tuple[str, ...]:
    if unknown := [m for m in metrics if m not in known]:
        raise MetricError(
            f"Metric {unknown[0]!r} cannot be estimated before labels. Available metrics: {', '.join(known)}."
        )
    return tuple(metrics)


def _frame(report: Report, rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> pl.DataFrame:
    data = [(*own, *(found.get(c) for c in columns)) for *own, found in rows]
    types = {"threshold": pl.Float64(), "metric": pl.String()} | dict.fromkeys(columns, pl.Float64())
    texts = {"note": pl.String()} if "note" in columns else {}
    return pl.DataFrame(data, schema={**report.state.keys.schema, **types, **texts}, orient="row")


publish("streammetrics", Expectation, expect)
