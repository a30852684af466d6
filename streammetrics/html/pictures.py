"""Charts of a page, by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics import charts
from streammetrics.charts import Picture
from streammetrics.charts.series import Drawn
from streammetrics.errors import MetricError, ReportError
from streammetrics.metrics import Metric

if TYPE_CHECKING:
    from streammetrics.report.report import Report

Maker = Callable[[], Picture]

MATRICES = 6
CELLS = ("actual", "predicted", "count", "tp", "fp", "fn", "tn")


def drawable(makers: Iterable[Maker]) -> Iterator[Picture]:
    """Charts of the available statistics that are not empty."""
    for make in makers:
        try:
            picture = make()
        except (MetricError, ReportError):
            continue
        if not picture.empty:
            yield picture


def curves(total: Drawn) -> Iterator[Maker]:
    """Return charts of ranking and errors, and distributions per model on a common axis, and per label."""
    yield from (partial(chart, total) for chart in (charts.roc, charts.pr, charts.error_cdf, charts.rec))
    yield from (partial(charts.scores, total, **model, **label) for model in _models(total) for label in _labels(total))
    yield from (partial(charts.errors, total, **model) for model in _models(total))
    yield from (partial(chart, total) for chart in (charts.gain, charts.lift, charts.det))


def calibration(total: Drawn) -> Iterator[Maker]:
    """Return the charts of calibration."""
    yield from (partial(chart, total) for chart in (charts.calibration, charts.quantile_calibration))


def matrices(total: Report) -> Iterator[Maker]:
    """Return the confusion matrices per model, label, and threshold."""
    for read in (total.confusion_matrix, total.confusion_counts):
        try:
            frame = read()
        except MetricError:
            continue
        for row in frame.select(pl.exclude(CELLS)).unique(maintain_order=True).head(MATRICES).to_dicts() or [{}]:
            yield partial(charts.confusion, total, **{k: v for k, v in row.items() if v is not None})
        return


def segments(report: Report, total: Report) -> Iterator[Maker]:
    """Return charts of the first metric by segment; for many segments, first a chart of all."""
    if (metric := headline(total)) is None:
        return
    for column in _segments(report):
        yield partial(charts.caterpillar, report, metric, column)
        yield partial(charts.segments, report, metric, column)


def over_time(report: Report, total: Report) -> Iterator[Maker]:
    """Return charts of the first metric over time: of all rows, and by segment."""
    if (metric := headline(total)) is None:
        return
    for window in charts.window_of(report):
        yield partial(charts.over_time, report, metric, window, by=[])
        yield from (partial(charts.over_time, report, metric, window, by=c) for c in _segments(report) if c != "model")


def headline(total: Report) -> Metric | None:
    """Return the first metric with a preferred direction, of all labels, at one threshold."""
    frame = total.frame
    for metric in total.metrics:
        rows = frame.filter(pl.col("metric") == metric.name, pl.col("value").is_not_null())
        alone = rows.height == (rows.select(total.by).n_unique() if total.by else 1)
        if metric.better is not None and rows.height and alone:
            return metric
    return None


def _models(total: Drawn) -> list[dict[str, Any]]:
    return total.state.keys.select("model").unique(maintain_order=True).to_dicts() if "model" in total.by else [{}]


def _labels(total: Drawn) -> list[dict[str, Any]]:
    """The labels, each with two classes of rows to draw; one chart for all if there are many."""
    labels = total.frame.select("label").unique(maintain_order=True).drop_nulls() if "label" in total.frame else None
    return [{}] if labels is None or not 0 < labels.height <= MATRICES else labels.to_dicts()


def _segments(report: Report) -> list[str]:
    windows = charts.window_of(report)
    return [c for c in report.by if c not in windows]
