"""Estimates before labels arrive, of all groups: as a frame, one by one, and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import LIMITS, VALUE, matching, publish, require_free, text
from streammetrics.errors import MetricError, ReportError
from streammetrics.metrics import Metric, upper_level
from streammetrics.monitor.before_labels.calibration import calibrated, needed
from streammetrics.monitor.before_labels.estimates import Row
from streammetrics.monitor.before_labels.filled import METRICS
from streammetrics.monitor.before_labels.prediction_powered import METRICS as POWERED
from streammetrics.monitor.before_labels.prediction_powered import powered
from streammetrics.report import Estimate, Report, estimate_of
from streammetrics.show import Table, as_text, report_tables, terminal_width, with_notes

ExpectMethod: TypeAlias = Literal["calibration", "prediction_powered"]

KNOWN: dict[ExpectMethod, Mapping[str, Metric]] = {"calibration": METRICS, "prediction_powered": POWERED}
NEEDED = ("value", "expected", "needed_odds")
OWN = ("threshold", "metric", "note", *VALUE, *LIMITS, *NEEDED)


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
        level = None if self.confidence is None else upper_level(self.confidence)
        sides = self.scores, self.reference, self._metrics
        if self.method == "calibration":
            rows = calibrated(*sides, self.odds, level, strict=self.strict)
        else:
            rows = powered(*sides, level, strict=self.strict)
        return _frame(self.scores, rows, (*VALUE, *(LIMITS if level else ()), "note"))

    @property
    def _metrics(self) -> dict[str, Metric]:
        return {name: KNOWN[self.method][name] for name in self.metrics}

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
    if not by or found.confidence is not None or found.odds == 1:
        return with_notes(report_tables(found.frame, by, width), *assumptions(found))
    shown = report_tables(found.frame.with_columns(ci_lower="lower", ci_upper="upper"), by, width)
    return with_notes(shown, f"In brackets: bounds if odds differ by a factor of at most {found.odds:g}.")


def assumptions(found: Expectation) -> list[str]:
    """Return a sentence that says when estimates are right, if this is not a matter of odds."""
    return ["The labeled rows must be a random sample of all rows."] * (found.method == "prediction_powered")


def _frame(report: Report, rows: Iterator[Row], columns: Sequence[str]) -> pl.DataFrame:
    data = [(*group.keys, *reversed(one), *(found.get(c) for c in columns)) for group, one, found in rows]
    types = {"threshold": pl.Float64(), "metric": pl.String()} | dict.fromkeys(columns, pl.Float64())
    texts = {"note": pl.String()} if "note" in columns else {}
    return pl.DataFrame(data, schema={**report.state.keys.schema, **types, **texts}, orient="row")


publish("streammetrics", Expectation)
