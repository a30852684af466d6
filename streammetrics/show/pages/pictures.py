"""Charts of a page, by question: as SVG, or as data for a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import capitalized, markup
from streammetrics.data import MODEL
from streammetrics.errors import MetricError, ReportError
from streammetrics.metrics import Metric, words
from streammetrics.show import charts
from streammetrics.show.charts import as_svg, description_of, is_empty, page_spec, values
from streammetrics.show.charts.axes import Spec
from streammetrics.show.charts.importance import COUNTS
from streammetrics.show.charts.series import WHICH, Reports
from streammetrics.show.charts.svg import WIDTH
from streammetrics.show.tables.page import embedded, folded

if TYPE_CHECKING:
    from streammetrics.report import Report

Maker = Callable[[], Spec]

COLUMNS = 3
WIDTHS = (1040, 480, WIDTH)  # pixels of a plot that is alone, one of two, and one of three in a row
NARROW = 220  # of the window of a phone
MATRICES = 6
BANDS = 3  # in one chart
DROPPED = "dropped_rate"
CELLS = ("actual", "predicted", "count", "tp", "fp", "fn", "tn")


def figures(name: str, makers: Iterable[Maker], interactive: bool, columns: int | None = None) -> str:
    """Return charts side by side, with numbered identities, by default in rows that they fill; empty without charts.

    Charts of statistics that the report does not have are left out. Those wider than the window of a phone are also
    drawn for it.
    """
    return _side_by_side(name, _drawable(makers), interactive, columns)


def row_of_figures(name: str, makers: Iterable[Maker], interactive: bool, more: str = "") -> str:
    """Return the first charts in a row, and others folded, after ``more`` about them; empty without charts."""
    drawable = _drawable(makers)
    first = _side_by_side(name, drawable[:COLUMNS], interactive)
    others = _side_by_side(f"{name}more", drawable[COLUMNS:], interactive)
    return first and first + folded("More", more + others)


def _side_by_side(name: str, drawable: Sequence[Spec], interactive: bool, columns: int | None = None) -> str:
    columns = columns or (2 if len(drawable) == 4 else min(len(drawable), COLUMNS))
    parts = []
    for i, chart in enumerate(drawable):
        title, how = chart["title"], chart["description"]
        heading = f"<h3>{markup(title['text'])}</h3>"
        heading += f'<p class="sub">{markup(title["subtitle"])}</p>' if "subtitle" in title else ""
        drawn = _drawn(chart, f"{name}{i}", interactive, WIDTHS[columns - 1])
        if columns < COLUMNS and not interactive:  # the style sheet shows one of both
            small = as_svg(chart, f"{name}{i}n", NARROW)
            drawn = f'<div class="in-wide">{drawn}</div><div class="in-narrow">{small}</div>'
        caption = f'<p class="how">{markup(how)}</p>' if how else ""
        parts.append(f"<figure><figcaption>{heading}</figcaption>{drawn}{caption}</figure>")
    content = "\n".join(parts)
    return f'<div class="charts of{columns}">{content}</div>' if parts else ""


def _drawable(makers: Iterable[Maker]) -> list[Spec]:
    drawable = list[Spec]()
    for make in makers:
        with suppress(MetricError, ReportError):
            drawable.append(make())
    return [chart for chart in drawable if not is_empty(chart)]


def _drawn(chart: Spec, identity: str, interactive: bool, width: int = WIDTH) -> str:
    """The chart as SVG, or as JSON for a script, which cannot end its element."""
    if not interactive:
        return as_svg(chart, identity, width)
    named = f'role="img" aria-label="{markup(chart["title"]["text"])}"'
    content = embedded(page_spec(chart, explore=True, width=width))
    return f'<div class="vega" {named}></div><script type="application/json">{content}</script>'


def curves(total: Reports) -> Iterator[Maker]:
    """Return charts of ranking, errors, and calibration, and of the distributions of each model, report, and label."""
    yield from (partial(chart, total) for chart in (charts.roc, charts.pr, charts.rec))
    calibration = _calibration(total)
    yield from calibration[:1]
    yield from distributions(total)
    yield from calibration[1:]


def distributions(total: Reports) -> Iterator[Maker]:
    """Return charts of scores and errors, per model and per label; of several reports, first in the same chart."""
    models = total.state.keys.select(MODEL).unique(maintain_order=True).to_dicts() if MODEL in total.by else [{}]
    reports: list[dict[str, Any]] = [{}]
    labels: list[dict[str, Any]] = [{}]
    if isinstance(total, charts.Together):
        with suppress(MetricError):
            if "negatives" in total.curve("scores").columns:
                reports += [{WHICH: name} for name in total.reports]
    if "label" in total.frame:
        several = total.frame.select("label").unique(maintain_order=True).drop_nulls().to_dicts()
        labels = several if 0 < len(several) <= MATRICES else labels  # one chart for all if there are many
    sides = [model | report for report in reports for model in models]
    yield from (partial(charts.scores, total, **side, **label) for side in sides for label in labels)
    yield from (partial(charts.errors, total, **model) for model in models)


def _calibration(total: Reports) -> list[Maker]:
    """The charts of calibration: first in bins of equal size, then others unless each series has a single one."""
    drawn = _drawable(partial(chart, total) for chart in (charts.quantile_calibration, charts.calibration))
    bins = [values(chart, "dot") for chart in drawn]
    if len(drawn) == 2 and len(bins[1]) == len({row["series"] for row in bins[1]}) < len(bins[0]):
        drawn.pop()
    return [partial(dict, chart) for chart in drawn]


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


def segments(report: Report, metric: Metric) -> Iterator[Maker]:
    """Return charts of a metric by segment; for many segments, first a chart of all."""
    for column in _segments(report):
        yield partial(charts.caterpillar, report, metric, column)
        yield partial(charts.segments, report, metric, column)


def over_time(report: Report, metric: Metric) -> Iterator[Maker]:
    """Return charts of a metric over time: of all rows, and by segment if they have few lines."""
    for window in charts.window_of(report):
        yield partial(charts.over_time, report, metric, window, by=[])
    for window, column in _timed(report, crowded=False):
        yield partial(charts.over_time, report, metric, window, by=column)


def each_over_time(report: Report, metric: Metric, interactive: bool) -> str:
    """Return charts of a metric over time for each segment, if one chart would have many lines."""
    parts = list[str]()
    for window, column in _timed(report, crowded=True):
        with suppress(MetricError, ReportError):
            drawn = charts.each_over_time(report, metric, window, column)
            title = f"{words(metric)} over time by {column}"
            parts.append(small_multiples(title, drawn, f"time{len(parts)}of", interactive))
    return "".join(parts)


def small_multiples(title: str, drawn: Mapping[str, Spec], identity: str, interactive: bool) -> str:
    """Charts with names below a title, a subtitle, and a caption, which are the same for all."""
    charts = {name: chart for name, chart in drawn.items() if not is_empty(chart)}
    if not charts:
        return ""
    level = "h4" if title else "h3"
    cards = (
        f"<figure><figcaption><{level}>{markup(name)}</{level}></figcaption>"
        f"{_drawn(chart, f'{identity}{i}', interactive)}</figure>"
        for i, (name, chart) in enumerate(charts.items())
    )
    description = description_of(next(iter(charts.values())))
    over = f'<h3 class="over">{markup(title)}</h3>' if title else ""
    head = f'{over}<p class="sub">{markup(capitalized(description))}</p>'
    return f'{head}<div class="charts of{COLUMNS}">{"".join(cards)}</div>'


def _timed(report: Report, crowded: bool) -> Iterator[tuple[str, str]]:
    """Windows with group columns that have more lines than bands are visible in a chart, or as few."""
    models = [MODEL] if MODEL in report.by else []
    for window in charts.window_of(report):
        for column in _segments(report):
            if column != MODEL and (report.state.keys.n_unique([column, *models]) > BANDS) == crowded:
                yield window, column


def main_metric(total: Report) -> Metric | None:
    """Return the first metric with a preferred direction, of all labels, at one threshold.

    Without one, the first that is not a count. The share of dropped rows is skipped if no rows are dropped.
    """
    models = pl.struct(total.by).n_unique() if total.by else 1
    sizes = total.frame.drop_nulls("value").group_by("metric").agg(is_single=pl.len() == models)
    single = set(sizes.filter("is_single")["metric"])
    metrics = [m for m in total.metrics if m.name in single - {*COUNTS} and not is_undropped(total, m)]
    return next((metric for metric in metrics if metric.better is not None), metrics[0] if metrics else None)


def is_undropped(report: Report, metric: Metric) -> bool:
    """Whether a metric is the share of dropped rows of a report without any."""
    return metric.name == DROPPED and not report.rows(metric)["value"].sum()


def _segments(report: Report) -> list[str]:
    windows = charts.window_of(report)
    return sorted((c for c in report.by if c not in windows), key=lambda c: c != MODEL)  # whose chart is low
