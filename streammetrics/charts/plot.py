"""The charts of a report, as its attribute ``plot``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from streammetrics.charts import error_curves, groups, ranking, reliability
from streammetrics.charts.picture import Picture
from streammetrics.charts.series import Drawn
from streammetrics.charts.vega import as_altair
from streammetrics.metrics import Metric

if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.LayerChart | alt.VConcatChart


class Plot:
    """Charts of a report, drawn by Altair (extra ``plot``): ``report.plot.roc()``.

    Each method takes values of group columns, of ``model`` and ``label``, to draw some groups: ``roc(country="DE")``.
    Groups and models that are left lie over one another, the six largest where they are more. Lines have as few points
    as make the same picture at 600 pixels. Charts are saved with ``chart.save("roc.png")``: as HTML or JSON, and as PNG
    or SVG with ``vl-convert-python``, which the extra brings.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> report.plot.roc().title.text  # doctest: +SKIP
    'ROC curve'
    """

    def __init__(self, report: Drawn) -> None:
        self._report = report

    def roc(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """ROC curve with its certified band and operating points.

        Args:
            points: from `Report.operating_point`; those of the thresholds that are counted unless given.
            keys: values of group columns that groups must have.
        """
        return self._drawn(ranking.roc, points=points, **keys)

    def pr(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Precision-recall curve with its certified band and operating points, as `roc`."""
        return self._drawn(ranking.pr, points=points, **keys)

    def det(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Detection error tradeoff on normal deviate axes, as `roc`."""
        return self._drawn(ranking.det, points=points, **keys)

    def gain(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Cumulative gain, as `roc`."""
        return self._drawn(ranking.gain, points=points, **keys)

    def lift(self, *, points: pl.DataFrame | None = None, **keys: Any) -> Chart:
        """Lift, as `roc`."""
        return self._drawn(ranking.lift, points=points, **keys)

    def scores(self, **keys: Any) -> Chart:
        """The distribution of scores, of each class where labels are known."""
        return self._drawn(ranking.scores, **keys)

    def calibration(self, **keys: Any) -> Chart:
        """Reliability curve, and the rows of each bin below; with a confidence, intervals of the rates."""
        return self._drawn(reliability.calibration, **keys)

    def confusion(self, **keys: Any) -> Chart:
        """Confusion matrix of one group, and of one ``threshold=`` where there are several."""
        return self._drawn(reliability.confusion, **keys)

    def error_cdf(self, **keys: Any) -> Chart:
        """Distribution function of the errors, with certified bounds; of several models the better one is named."""
        return self._drawn(error_curves.error_cdf, **keys)

    def rec(self, **keys: Any) -> Chart:
        """The share of rows within each tolerance (REC curve); of several models the better one is named."""
        return self._drawn(error_curves.rec, **keys)

    def errors(self, **keys: Any) -> Chart:
        """Histogram of the errors."""
        return self._drawn(error_curves.errors, **keys)

    def segments(self, metric: str | Metric, by: str | None = None, **keys: Any) -> Chart:
        """A metric of each group as a dot with its interval, the best on top.

        Args:
            metric: what to show.
            by: one group column, over which the others are put together; all of them unless given.
            keys: values of group columns and kept keys, such as ``threshold=0.5``.
        """
        return self._drawn(groups.segments, metric, by, **keys)

    def over_time(
        self, metric: str | Metric, window: str | None = None, by: str | list[str] | None = None, **keys: Any
    ) -> Chart:
        """A metric over time, a line for each segment, with a band for its interval.

        Args:
            metric: what to show.
            window: the group column of dates or times; the only one unless given.
            by: the group columns that make lines, ``[]`` for one line; all unless given.
            keys: values of group columns and kept keys, such as ``threshold=0.5``.
        """
        return self._drawn(groups.over_time, metric, window, by, **keys)

    def _drawn(self, picture: Callable[..., Picture], *arguments: Any, **options: Any) -> Chart:
        return as_altair(picture(self._report, *arguments, **options))

    def __repr__(self) -> str:
        return f"Plot: {', '.join(name for name in vars(Plot) if not name.startswith('_'))}"
