"""The comparison of two reports, with all that users do with it: differences, checks, charts, and pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from streammetrics import show
from streammetrics.base import LIMITS, VOLUME, publish, require_free, text, visible, write_file
from streammetrics.data import MODEL
from streammetrics.errors import ReportError
from streammetrics.metrics import EVERYWHERE, Margins, Metric, smallest_difference, upper_level
from streammetrics.reading import (
    Finding,
    SameRows,
    findings_of_comparison,
    warning,
    with_better_side,
)
from streammetrics.report.gate import check_margins
from streammetrics.report.report import Report
from streammetrics.report.verdicts import Verdicts
from streammetrics.show import as_text, comparison_tables, terminal_width, with_names

COLUMNS = ("a", "b", "difference", "better", "status", "note")
POWER = 0.8


@dataclass(frozen=True)
class Comparison:
    """Differences between two reports, a and b, whose ``names`` are in its text and on its page.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> sm.compare(a, b, metrics="accuracy", confidence=None).frame.select("a", "b", "better").row(0)
    (0.5, 1.0, 'b')
    """

    a: Report
    b: Report
    confidence: float | None = None
    independent: bool = False
    same_rows: SameRows | None = None
    names: tuple[str, str] = ("a", "b")

    def __post_init__(self) -> None:
        if not set(self.a.by) <= set(self.b.by):
            both = f"{text.few(self.a.by) or 'none'} and {text.few(self.b.by) or 'none'}"
            raise ReportError(f"The group columns differ: {both}. Roll both up to the same ones.")
        if "equal" in self.names:  # which `better` can be, too
            object.__setattr__(self, "names", tuple(map(repr, self.names)))
        require_free([*self.a.by, *self.b.by], COLUMNS, "a name that comparisons use")
        if self.confidence is not None:
            upper_level(self.confidence)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Differences of all metrics that both reports show, for all groups of either report.

        Columns: group columns, key columns such as ``threshold``, metric, ``a``, ``b``, ``difference`` (b - a),
        ``lower`` and ``upper`` (certified bounds of the difference), ``better``, and ``status``. ``better`` is the name
        of a side if the bounds prove it, ``"equal"`` if both are proven equal, else null. Differences of at most 1e-12,
        relative to the values, count as rounding. If a side is named ``equal``, its name is in quotes.

        With a confidence level, ``ci_lower`` and ``ci_upper`` are the confidence interval of the difference, or null if
        there is no valid one. ``better`` then also requires that the interval, widened by the bounds, excludes 0. If it
        does not, or if there is no interval, ``note`` gives the side that is better on these rows, or the reason why a
        value is undefined, in words, and ``status`` says so as a code: ``"not_significant"``,
        ``"not_significant_with_bounds"``, ``"no_interval"``, ``"few_effective_rows"``, or
        ``"few_effective_rows_differ"`` if a side is ahead but not better; ``"undefined_a"``, ``"undefined_b"``,
        ``"one_side"`` (the other has no such rows), or ``"infinite"`` (on both sides) without a difference; otherwise
        ``"exact"`` or ``"bounded"``. Of metrics such as ``bias``, the side nearer to the best value is better: the
        interval of ``|b| - |a|`` decides.

        Raises:
            ColumnError: If a group column has different types.
        """
        frame = visible(with_names(self._judged, self.names))
        return frame.select(pl.exclude("better", "status", "note"), "better", "status", *{"note"} & {*frame.columns})

    @cached_property
    def _judged(self) -> pl.DataFrame:
        return with_better_side(self)

    @cached_property
    def note(self) -> str | None:
        """A warning if the evaluations have no group in common, or cannot have confidence intervals; otherwise None.

        Without ``independent``, different rows are also a reason. The warning includes the fix.
        """
        return warning(self)

    @cached_property
    def total(self) -> Comparison:
        """The comparison of all groups together. Models stay separate."""
        return self.rollup() if {*self.a.by, *self.b.by} - {MODEL} else self

    def rollup(self, *columns: str) -> Comparison:
        """Return the comparison by fewer group columns, as if the rows had been grouped by these only.

        Models stay separate.

        Raises:
            ReportError: If a column is not a group column.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(rows)
        >>> sm.compare(acc, acc, metrics="rows").rollup().frame["a"].to_list()
        [3.0]
        """
        a, b = self.a.rollup(*(c for c in columns if c in self.a.by)), self.b.rollup(*columns)
        same_rows = self.same_rows
        if same_rows is not None:
            same_rows = SameRows.of(a.state, b.state, same_rows.pairs.for_reports().roll_up(columns), same_rows.names)
        return replace(self, a=a, b=b, same_rows=same_rows)

    @cached_property
    def primary(self) -> Metric | None:
        """The metric by which one side is called better: the first with a preferred direction, and one value."""
        frame, by = self.total.frame.drop_nulls("difference"), self.total.b.by
        for metric in self.a.metrics:
            rows = frame.filter(metric=metric.name)
            has_one_value = rows.height == (rows.n_unique(by) if by else 1)
            if metric.better and metric.name not in VOLUME and rows.height and has_one_value:
                return metric
        return None

    @cached_property
    def detectable(self) -> float | None:
        """The smallest difference of the primary metric that all rows find with a power of 80%.

        It is that of the confidence interval, widened by the certified bounds. None without an interval, or with
        several models.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update(rows)
        >>> round(sm.compare(acc, models=("old", "new"), metrics=["roc_auc"]).detectable, 3)
        0.102
        """
        if self.primary is None or self.confidence is None:
            return None
        rows = self.total.frame.filter(metric=self.primary.name).drop_nulls(["difference", *LIMITS])
        values = rows.rename({"difference": "value"})
        smallest = values.select(smallest_difference(EVERYWHERE, POWER, self.confidence))
        return float(smallest.item()) if smallest.height == 1 else None

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
        return findings_of_comparison(self)

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
        return check_margins(self, not_worse, better, confidence, open, min_rows, segments, **keys)

    @property
    def plot(self) -> show.ComparisonPlot:
        """Differences as a forest plot, and charts of both reports in one picture. Requires the ``plot`` extra.

        Raises:
            ReportError: If the group columns differ.
        """
        return show.ComparisonPlot(self)

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
        names = self.names if names is None else names
        verdicts = None if check is None else (check.frame, check._every())
        write_file(path, show.comparison_page(self, names, title, interactive, verdicts).encode())

    def _repr_html_(self) -> str:
        more = "Read all of them in the frame."
        return show.in_notebook(self.findings(), comparison_tables(self, more, noted=False))

    def __str__(self) -> str:
        more, width = "Choose them with metrics=, or read all of them in the frame.", terminal_width()
        return as_text(*comparison_tables(self, more), width=width)

    def __repr__(self) -> str:
        return str(self)


publish("streammetrics", Comparison)
