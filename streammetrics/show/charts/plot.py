"""The charts of a report, as its attribute ``plot``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from streammetrics.metrics import Metric
from streammetrics.show.charts import error_curves, groups, matrix, ranking, reliability, windows
from streammetrics.show.charts.axes import Spec
from streammetrics.show.charts.forest import forest, limits
from streammetrics.show.charts.marks import as_altair
from streammetrics.show.charts.rates import rates
from streammetrics.show.charts.series import Reports, Together
from streammetrics.show.charts.thresholds import USUAL, thresholds

if TYPE_CHECKING:
    import altair as alt

    from streammetrics.report import Comparison

    Chart: TypeAlias = alt.LayerChart | alt.VConcatChart


class Plot:
    """Charts of a report, drawn by Altair, such as ``report.plot.roc()``. Requires the ``plot`` extra.

    Each method takes values of group columns, of ``model``, and of ``label`` to select groups: ``roc(country="DE")``.
    The selected groups and models are overlaid; of more than six, the largest are shown. Lines have only the points
    that are visible at a width of 600 pixels. Save charts as HTML, JSON, PNG, or SVG, for example with
    ``chart.save("roc.png")``.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> report.plot.roc().title.text  # doctest: +SKIP
    'ROC curve'
    """

    def __init__(self, report: Reports) -> None:
        self._report = report

    def roc(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """ROC curve with its certified band and operating points.

        Args:
            points: Operating points from `Report.operating_point`. Defaults to the thresholds of the report.
            keys: Values of group columns that select groups.
        """
        return self._drawn(ranking.roc, points=points, **keys)

    def pr(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Precision-recall curve with its certified band and operating points. Arguments are as for `roc`."""
        return self._drawn(ranking.pr, points=points, **keys)

    def det(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Detection error tradeoff on normal deviate axes. Arguments are as for `roc`."""
        return self._drawn(ranking.det, points=points, **keys)

    def gain(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Cumulative gain. Arguments are as for `roc`."""
        return self._drawn(ranking.gain, points=points, **keys)

    def lift(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Lift. Arguments are as for `roc`."""
        return self._drawn(ranking.lift, points=points, **keys)

    def thresholds(
        self,
        metrics: str | Metric | Sequence[str | Metric] = USUAL,
        *,
        points: pl.DataFrame | None = None,
        **keys: Any,
    ) -> Chart:
        """Confusion-count metrics over the threshold, with certified bands and operating points.

        Args:
            metrics: Metrics to show, such as ``["recall", "cost(fp=1, fn=10)"]``: several of one group, or one of each
                group. Costs and other metrics with a range other than 0 to 1 have a scale of their own below.
            points: Operating points from `Report.operating_point`. Defaults to the thresholds of the report.
            keys: Values of group columns that select groups.
        """
        return self._drawn(thresholds, metrics, points=points, **keys)

    def scores(self, **keys: Any) -> Chart:
        """Distribution of scores, per class if labels are known."""
        return self._drawn(ranking.scores, **keys)

    def calibration(self, **keys: Any) -> Chart:
        """Reliability curve, and the rows of each bin below. With a confidence level, also intervals of the rates."""
        return self._drawn(reliability.calibration, **keys)

    def quantile_calibration(self, **keys: Any) -> Chart:
        """Reliability curve in bins of about equal size, which shows skewed scores in more detail."""
        return self._drawn(reliability.quantile_calibration, **keys)

    def rates(self, by: str, **keys: Any) -> Chart:
        """Predicted and observed rate of each group, those that certainly differ most first.

        Args:
            by: Group column. The report is rolled up to it.
            keys: Values of group columns, ``model``, and ``label``.
        """
        return self._drawn(rates, by, **keys)

    def confusion(self, **keys: Any) -> Chart:
        """Confusion matrix of one group, and of one ``threshold=`` if there are several."""
        return self._drawn(matrix.confusion, **keys)

    def error_cdf(self, **keys: Any) -> Chart:
        """Distribution function of errors, with certified bounds. Names the two best of several models."""
        return self._drawn(error_curves.error_cdf, **keys)

    def rec(self, **keys: Any) -> Chart:
        """Share of rows within each tolerance (REC curve). Names the two best of several models."""
        return self._drawn(error_curves.rec, **keys)

    def errors(self, **keys: Any) -> Chart:
        """Histogram of the errors."""
        return self._drawn(error_curves.errors, **keys)

    def segments(self, metric: str | Metric, by: str | None = None, **keys: Any) -> Chart:
        """Metric of each group as a dot with its interval, the worst first.

        Args:
            metric: Metric to show.
            by: Group column. The report is rolled up to it. Defaults to all group columns.
            keys: Values of group columns and key columns, such as ``threshold=0.5``.
        """
        return self._drawn(groups.segments, metric, by, **keys)

    def over_time(
        self, metric: str | Metric, window: str | None = None, by: str | list[str] | None = None, **keys: Any
    ) -> Chart:
        """Metric over time, with a line per segment and a band for its interval.

        Args:
            metric: Metric to show.
            window: Name of the time column. Defaults to the only Date or Datetime group column.
            by: Group columns of the lines, or ``[]`` for a single line. Defaults to all.
            keys: Values of group columns and key columns, such as ``threshold=0.5``.
        """
        return self._drawn(windows.over_time, metric, window, by, **keys)

    def _drawn(self, chart: Callable[..., Spec], *arguments: Any, **options: Any) -> Chart:
        return as_altair(chart(self._report, *arguments, **options))

    def __repr__(self) -> str:
        return f"Plot: {', '.join(name for name in vars(Plot) if not name.startswith('_'))}"


class ComparisonPlot(Plot):
    """Charts of a comparison, such as ``comparison.plot.forest()``: those of `Plot`, with both sides, and differences.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"})
    >>> acc = acc.update({"y": [1, 0, 1, 0], "p": [0.8, 0.3, 0.2, 0.1], "q": [0.8, 0.3, 0.4, 0.5]})
    >>> sm.compare(acc, models=("old", "new")).plot.forest().title.text  # doctest: +SKIP
    'new compared with old'
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(Together(dict(zip(comparison.names, (comparison.a, comparison.b), strict=True))))
        self._comparison = comparison

    def forest(self, metric: str | Metric | None = None) -> Chart:
        """Differences with their intervals, grey if they are not significant.

        Args:
            metric: Metric to show in each group. Defaults to six metrics of all rows, each on an axis of its own.
        """
        return as_altair(forest(self._comparison, metric))


class VerdictsPlot:
    """The chart of the verdicts of a check. Requires the ``plot`` extra.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0] * 50, "p": [0.8, 0.3] * 50}).finalize()
    >>> report.check("brier_score <= 0.1").plot.limits().title.text  # doctest: +SKIP
    'Distance from each limit'
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def limits(self) -> Chart:
        """Distance of each value from its limit, with its interval: one right of the line holds."""
        return as_altair(limits(self._frame))
