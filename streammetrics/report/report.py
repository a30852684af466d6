"""Reports and comparisons, with all that users do with them: estimates, checks, charts, pages, and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from streammetrics.base import of_labels_once, only, write_file
from streammetrics.data import LABEL, several
from streammetrics.metrics import Margins, Metric, with_defaults
from streammetrics.reading import (
    Differences,
    Finding,
    Readings,
    best,
    findings_of_sides,
    gaps,
    of_models,
    pairs_of,
    require_models,
    worst,
)
from streammetrics.reading import fairness as fairness_gaps
from streammetrics.reading import findings as findings_of_report
from streammetrics.reading import slices as slices_of_report
from streammetrics.report.comparisons import comparison_tables
from streammetrics.report.estimate import Estimate, estimate_of
from streammetrics.report.gate import check_sides
from streammetrics.report.nested import as_json
from streammetrics.report.verdicts import Verdicts, check
from streammetrics.show import as_text, report_tables, terminal_width
from streammetrics.statistics import PairedOutcomes

if TYPE_CHECKING:
    from streammetrics.show import ComparisonPlot, Plot

FEW = 3  # metrics that are computed alone


class Report(Readings):
    """Metrics of an accumulator: a tidy frame, single estimates, and curves.

    ``report["roc_auc"]`` and `get` return an `Estimate`, and `frame` contains all of them. `curve` and
    `operating_point` use the histograms. Metrics that are not shown are computed on demand.

    A report behaves like a dictionary of its metrics: iteration returns the names of those shown, ``dict(report)``
    their estimates, and ``in`` tests whether a metric is available. With groups or several thresholds, a name has
    more than one estimate. ``report[name]`` and ``dict(report)`` then raise a `ReportError` with the keys for `get`.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> report["roc_auc"]
    Estimate(value=1.0, lower=1.0, upper=1.0)
    >>> report.get("recall", threshold=0.5).value
    0.5
    >>> "recall" in report, "mse" in report, list(report)[:3]
    (True, False, ['rows', 'dropped', 'roc_auc'])
    """

    def __getitem__(self, metric: str | Metric) -> Estimate:
        if len(self._alone) >= FEW:  # all together take less time, as for dict(report)
            self.frame  # noqa: B018
        return self.get(metric)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, (str, Metric)) and self.readable(metric)

    def keys(self) -> list[str]:
        """Return the names of the metrics shown.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.keys()[:3]
        ['rows', 'dropped', 'roc_auc']
        """
        return [metric.name for metric in self.metrics]

    def items(self) -> list[tuple[str, Estimate]]:
        """Return the names of the metrics shown, with their estimates.

        Raises:
            ReportError: If a metric has more than one estimate.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> report.showing("rows").items()
        [('rows', Estimate(value=3.0, lower=3.0, upper=3.0))]
        """
        return [(name, self[name]) for name in self]

    def get(self, metric: str | Metric, **keys: Any) -> Estimate:
        """Return the estimate of a metric by name, alias or with options: ``get("fbeta(beta=2)", country="DE")``.

        With a score histogram, ``threshold=`` can be any number (see `rows`). Metrics of the labels alone, such as
        ``"prevalence"``, need none.

        Args:
            metric: Metric to return.
            keys: Values of group columns and key columns that select one row. Times can be ISO 8601 strings.

        Raises:
            MetricError: If the metric is unknown or not available.
            ReportError: If the keys do not select exactly one row.
        """
        return estimate_of(self._row(metric, keys))

    def _row(self, metric: str | Metric, keys: dict[str, Any]) -> pl.DataFrame:
        rows = self.rows(metric, **keys)
        own = {LABEL: keys[LABEL]} if LABEL in keys and len(keys) > 1 else {}
        rows = rows if "threshold" in keys else of_labels_once(rows)
        return only(metric, rows, keys, lambda: self.rows(metric, **own))

    worst: Final = worst
    best: Final = best
    gaps: Final = gaps
    fairness: Final = fairness_gaps
    slices: Final = slices_of_report
    findings: Final = findings_of_report

    def check(
        self,
        requirements: str | Sequence[str],
        *,
        confidence: float | None = 0.95,
        open: Literal["fail", "pass"] = "pass",
        min_rows: int = 1,
        **keys: Any,
    ) -> Verdicts:
        """Check requirements such as ``"roc_auc >= 0.8"`` in every group.

        A requirement holds if the certified bounds and the confidence interval, widened by them, lie on the required
        side of its limit: it holds for new rows of the same population. It is breached if they lie on the other side,
        and otherwise open (inconclusive). Requirements on undefined metrics never pass.

        Args:
            requirements: One requirement, or several.
            confidence: Confidence level of each endpoint of the intervals, between 0.5 and 1, as in `Rule`. Metrics
                without intervals are decided by their bounds, unless a class has too few rows for one. With ``None``,
                bounds decide all metrics: the verdicts apply to the evaluated rows.
            open: ``"pass"`` or ``"fail"``: result of an open requirement, and of a group with too few rows.
            min_rows: Minimum number of rows of a group.
            keys: Values of group columns and key columns that select rows, such as ``model="new"``.

        Returns:
            `Verdicts` with the verdict on every requirement in every group.

        Raises:
            MetricError: If a requirement is invalid or its metric is unknown.
            ReportError: If a key is not a column of the frame.
            SpecificationError: If ``confidence``, ``open``, or ``min_rows`` is invalid.

        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
        >>> report.check(["recall >= 0.1", "recall >= 0.4"])
        rule           where          value  bound  interval      verdict
        ─────────────  ─────────────  ─────  ─────  ────────────  ────────────────────────────────
        recall >= 0.1  threshold 0.5   0.50  exact  0.12 to 0.88  holds
        recall >= 0.4  threshold 0.5   0.50  exact  0.12 to 0.88  open: about 72 rows would decide
        Undecided, allowed: 1 of 2
        >>> report.check("recall >= 0.8", confidence=None).hold
        False
        """
        return check(self, several(requirements), confidence, open, min_rows, **keys)

    def compare(
        self,
        a: str,
        b: str,
        *,
        metrics: Sequence[str | Metric] | None = None,
        confidence: float | None = 0.95,
    ) -> Comparison:
        """Compare two models of the report, in each group of the other columns.

        Args:
            a: Name of a model.
            b: Name of the other model.
            metrics: Metrics to compare. Defaults to those shown.
            confidence: Confidence level for intervals of the differences. They are paired: computed from statistics of
                both models on the same rows, or from the folds of a ``unit``. With None, ``better`` follows from the
                certified bounds only.

        Raises:
            ReportError: If the report has no such model.
            MetricError: If a metric is unknown or not available.
            SpecificationError: If ``confidence`` is not between 0 and 1.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"})
        >>> report = acc.update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.2], "q": [0.8, 0.3, 0.4]}).finalize()
        >>> report.compare("old", "new").frame.filter(metric="roc_auc").select("a", "b", "note").row(0)
        (0.5, 1.0, 'new on these rows; no confidence interval')
        """
        report = self if metrics is None else self.showing(metrics)
        return of_models(Comparison, report, a, b, confidence)

    def flip_rate(self, a: str, b: str, *, confidence: float = 0.95) -> pl.DataFrame:
        """Return how often the decisions of two models differ, in each group of the other columns.

        Only rows predicted by both models count. Intervals are those of a proportion, or from a delete-one-fold
        jackknife with ``unit=``. Weighted rows have none.

        Args:
            a: Name of a model.
            b: Name of the other model.
            confidence: Confidence level of the intervals.

        Returns:
            The group columns, ``threshold`` (null for predicted labels), ``rows``, ``flips`` (rows with different
            decisions), ``value`` (their share of the rows), ``ci_lower``, and ``ci_upper``.

        Raises:
            ReportError: If the report has no such model.
            MetricError: If there are no statistics of the pair.
            SpecificationError: If ``confidence`` is not between 0 and 1.

        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"})
        >>> report = acc.update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.2], "q": [0.8, 0.3, 0.6]}).finalize()
        >>> report.flip_rate("old", "new").select("threshold", "rows", "flips").row(0)
        (0.5, 3, 1)
        """
        from streammetrics.reading import flip_rates  # when it is needed

        require_models(self.state, a, b)
        outcomes = self._kept(PairedOutcomes)
        pairs = pairs_of(self.state if self.folds is None else self.folds, a, b)
        return flip_rates(pairs, outcomes, (a, b), confidence)

    @property
    def plot(self) -> Plot:
        """Charts, such as ``report.plot.roc()``. Requires the ``plot`` extra."""
        from streammetrics.show import Plot  # when it is needed

        return Plot(self)

    def save_html(
        self,
        path: str | Path,
        title: str = "Evaluation",
        interactive: bool = False,
        source: str | None = None,
        fairness: str | None = None,
    ) -> None:
        """Write the report as one self-contained HTML page.

        It shows the evaluated data, metrics with bounds and confidence intervals, slices in which the model fails,
        curves, calibration, decisions at each threshold, segments, and all numbers.

        Args:
            path: File to write.
            title: Title of the page.
            interactive: Whether charts have tooltips, panning, and zooming. Adds about 1 MB of script.
            source: Description of the evaluated data. Defaults to none.
            fairness: Group column whose values are compared for fairness. Defaults to none.

        Raises:
            SpecificationError: If the ``plot`` extra is not installed.
            ReportError: If ``fairness`` is not a group column.
            MetricError: If no fairness criterion can be computed from the state.
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}).finalize()
        >>> with TemporaryDirectory() as directory:
        ...     report.save_html(f"{directory}/report.html", title="Clicks")
        """
        from streammetrics.show import page  # when it is needed

        write_file(path, page(self, title, interactive, source, fairness).encode())

    def save_metrics(self, path: str | Path) -> None:
        """Write the report as one JSON object, for DVC and other experiment trackers.

        Groups are keys such as ``"country=DE"``. They contain metrics, which contain ``value``, ``lower``, ``upper``,
        and, with a confidence level, ``ci_lower`` and ``ci_upper``. Undefined and infinite numbers are omitted.

        Raises:
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> import json
        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.8, 0.3]}).finalize(["roc_auc"])
        >>> with TemporaryDirectory() as directory:
        ...     report.save_metrics(f"{directory}/metrics.json")
        ...     json.loads(Path(directory, "metrics.json").read_text())
        {'roc_auc': {'value': 1.0, 'lower': 1.0, 'upper': 1.0}}
        """
        write_file(path, as_json(self.frame, self.by).encode())

    def log_to_mlflow(self, run_id: str | None = None, *, step: int | None = None) -> None:
        """Log the report to an MLflow run.

        Metrics are logged for all rows together, per model: the value as ``roc_auc``, its bounds as ``roc_auc.lower``
        and ``roc_auc.upper``, and, with a confidence level, ``roc_auc.ci_lower`` and ``roc_auc.ci_upper``. The
        artifacts are ``streammetrics/metrics.csv``, with all groups, and ``streammetrics/report.html``, the page of
        `save_html`. Characters that MLflow does not allow in names become underscores.

        Args:
            run_id: ID of the run. Defaults to the active run, or a new one.
            step: Step of the metrics, such as the epoch.

        Raises:
            SpecificationError: If the ``mlflow`` extra is not installed.
            ReportError: If two metrics would have the same name.
        """
        from streammetrics.report.mlflow import log  # when it is needed

        log(self, run_id, step)

    def _repr_html_(self) -> str:
        from streammetrics.show import report_html  # when it is needed

        return report_html(self)

    def __str__(self) -> str:
        more = "Read all of them in the frame, or the worst with worst()."
        width = terminal_width()
        return as_text(*report_tables(self.frame, self.by, width, with_defaults(self.metrics), more), width=width)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Comparison(Differences):
    """Differences between two reports, a and b, whose ``names`` are in its text and on its page.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> sm.compare(a, b, metrics="accuracy", confidence=None).frame.select("a", "b", "better").row(0)
    (0.5, 1.0, 'b')
    """

    a: Report
    b: Report

    def findings(self) -> list[Finding]:
        """Return what stands out: first which side is better by `primary`, then the others by severity and by code.

        Groups and other metrics by which the other side is better are decided by intervals that allow for their number.
        If both sides are equally good, at most 5% of comparisons at a confidence level of 95% have such a finding.

        Returns:
            A list of `Finding`, whose values are differences.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update(rows)
        >>> print(sm.compare(acc, models=("old", "new"), metrics="accuracy").findings()[0])
        new is better: accuracy is 0.50 higher (0.43 to 0.57), 1.00 against 0.50.
        """
        return findings_of_sides(self)

    def check(
        self,
        *,
        not_worse: Margins = (),
        better: Margins = (),
        confidence: float | None = 0.95,
        open: Literal["fail", "pass"] = "fail",
        min_rows: int = 1,
        segments: str | float | None = None,
        **keys: Any,
    ) -> Verdicts:
        """Check in every group whether b, a candidate, is not worse than a by more than a margin, or better.

        A requirement holds if the certified bounds and the confidence interval of the difference, widened by them, lie
        on the required side of the margin. It is breached if they lie on the other side, and otherwise open
        (inconclusive). A difference without an interval is open. The side whose value is nearer to the best one is
        better, for metrics such as ``bias``.

        If one of the requirements is not met in one of the groups, all hold with a probability of at most
        ``1 - confidence`` (intersection-union test, Berger 1982).

        Args:
            not_worse: Metrics that may worsen by a margin, such as ``{"roc_auc": 0.002, "log_loss": "0.5%"}``.
                Percentages are relative to the value of a. Names alone have a margin of 0.
            better: Metrics that must improve, such as ``["brier_score"]``, or by more than a margin,
                ``{"brier_score": 0.001}``.
            confidence: Confidence level of each endpoint of the intervals, between 0.5 and 1, as in `Report.check`.
                They are wider by the factor 1 + 1/√n, with n rows of the smaller class, since estimates of few rows
                are skewed. With ``None``, bounds decide: the verdicts apply to the evaluated rows.
            open: ``"fail"`` or ``"pass"``: result of an open requirement, and of a group with too few rows.
            min_rows: Minimum number of rows of a group, on each side.
            segments: Acceptable false discovery rate among breached groups of a requirement, such as ``"fdr 5 %"`` or
                0.05. Defaults to a separate verdict for each group.
            keys: Values of group columns and key columns that select rows, such as ``threshold=0.5``.

        Returns:
            `Verdicts` with the verdict on every requirement in every group. ``value`` is the difference b - a, relative
            to a if the margin is, or |b| - |a| for metrics such as ``bias``.

        Raises:
            MetricError: If a margin is invalid, or a metric is unknown or has no preferred direction.
            ReportError: If a key is not a column of the frame.
            SpecificationError: If there are no requirements, or another argument is invalid.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update(rows)
        >>> gate = sm.compare(acc, models=("old", "new")).check(not_worse={"roc_auc": 0.01}, better=["accuracy"])
        >>> gate.hold, gate.frame.select("rule", "verdict").rows()
        (True, [('roc_auc not worse by 0.01', 'holds'), ('accuracy better', 'holds')])
        """
        return check_sides(self, not_worse, better, confidence, open, min_rows, segments, **keys)

    @property
    def plot(self) -> ComparisonPlot:
        """Differences as a forest plot, and charts of both reports in one picture. Requires the ``plot`` extra.

        Raises:
            ReportError: If the group columns differ.
        """
        from streammetrics.show import ComparisonPlot  # when it is needed

        return ComparisonPlot(self)

    def save_html(
        self,
        path: str | Path,
        title: str = "Comparison",
        names: tuple[str, str] | None = None,
        interactive: bool = False,
        check: Verdicts | None = None,
    ) -> None:
        """Write the comparison as one self-contained HTML page.

        It shows the differences of all metrics with bounds and confidence intervals, the groups that differ, and the
        curves of both sides in the same charts. With ``check``, it begins with the verdicts of a gate.

        Args:
            path: File to write.
            title: Title of the page.
            names: Names of both sides, such as ``("January", "May")``. Defaults to the names of the models, or a and b.
            interactive: Whether charts have tooltips, panning, and zooming. Adds about 1 MB of script.
            check: Verdicts of `check`, with which the page then begins.

        Raises:
            SpecificationError: If ``names`` are not two strings, or the ``plot`` extra is not installed.
            ReportError: If both sides have the same name.
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> scores = [0.9, 0.2, 0.4], [0.9, 0.6, 0.4]
        >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": p}) for p in scores)
        >>> with TemporaryDirectory() as directory:
        ...     sm.compare(a, b).save_html(f"{directory}/comparison.html", names=("January", "May"))
        """
        from streammetrics.show import comparison_page  # when it is needed

        names = self.names if names is None else names
        verdicts = None if check is None else (check.frame, check._tables)
        write_file(path, comparison_page(self, names, title, interactive, verdicts).encode())

    def _repr_html_(self) -> str:
        from streammetrics.show import in_notebook  # when it is needed

        more = "Read all of them in the frame."
        return in_notebook(self.findings(), comparison_tables(self, None, more, noted=False))

    def __str__(self) -> str:
        more, width = "Choose them with metrics=, or read all of them in the frame.", terminal_width()
        return as_text(*comparison_tables(self, width, more), width=width)

    def __repr__(self) -> str:
        return str(self)
