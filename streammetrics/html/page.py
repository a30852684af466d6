"""A report as one HTML page that needs nothing else: no network and no server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics import charts
from streammetrics.charts import Picture
from streammetrics.errors import MetricError, ReportError
from streammetrics.html.failures import failures
from streammetrics.html.figures import figure
from streammetrics.html.models import compared_models
from streammetrics.html.tables import Row, bounds, groups_table, metrics_table, of_all_labels, said
from streammetrics.metrics import Metric
from streammetrics.text import interval, markup, rows
from streammetrics.version import __version__

if TYPE_CHECKING:
    from streammetrics.report.report import Report

CARDS = 8
LINES = 4  # values on a card
MATRICES = 4
GROUPS = 1000  # rows of the table of groups
VOLUME = ("rows", "dropped")
CELLS = ("actual", "predicted", "count", "tp", "fp", "fn", "tn")
FIRST: tuple[Callable[..., Picture], ...] = (
    *(charts.roc, charts.pr, charts.calibration, charts.scores, charts.error_cdf, charts.rec, charts.errors),
)
LAST: tuple[Callable[..., Picture], ...] = (charts.gain, charts.lift, charts.det)


def page(report: Report, title: str = "Evaluation", interactive: bool = False) -> str:
    """The page: what was seen, numbers with their bounds, charts, where the model fails, and a table of the groups.

    Numbers and charts at the top are of all rows together, of each model; the table has every group.

    Args:
        report: the report.
        title: of the page.
        interactive: Whether charts have tooltips and can be moved and zoomed. Adds about 1 MB of script to the page.

    Raises:
        SpecificationError: If the ``plot`` extra is not installed.
    """
    models = [c for c in report.by if c == "model"]
    total = report if report.by == models else report.rollup(*models)
    scripts = "\n".join([charts.script(), _resource("charts.js")] * interactive + [_resource("page.js")])
    digest = base64.b64encode(hashlib.sha256(scripts.encode()).digest()).decode()
    return Template(_resource("page.html")).substitute(
        title=markup(title),
        style=_resource("page.css"),
        script=scripts,
        digest=digest,
        lead=_lead(report, total, models),
        cards=_cards(total, models),
        charts="\n".join(_figures(report, total, interactive)),
        groups=compared_models(total) + failures(report, models) + _groups(report, models),
        numbers=_numbers(total),
        bounded=_bounded(report),
        version=__version__,
    )


def _resource(name: str) -> str:
    return (files("streammetrics.html") / name).read_text(encoding="utf-8")


def _lead(report: Report, total: Report, models: list[str]) -> str:
    """How many rows were seen, in how many groups, and how many were left out and why."""
    rows, dropped = (int(total.rows(name)["value"].max() or 0) for name in VOLUME)  # type: ignore[arg-type]
    by = [c for c in report.by if c not in models]
    several = total.frame.select(models).n_unique() if models else 1
    parts = [f"<strong>{rows:,}</strong> rows evaluated"]
    if several > 1:
        parts.append(f"<strong>{several}</strong> models")
    if by:
        groups = report.frame.select(by).n_unique()
        parts.append(f"<strong>{groups:,}</strong> groups by {markup(', '.join(by))}")
    if dropped:
        why = "a null or NaN in a column that is needed, or a weight of zero"
        parts.append(f"<strong>{dropped:,}</strong> rows left out ({dropped / (rows + dropped):.2%}) for {why}")
    else:
        parts.append("no rows left out")
    return "".join(f"<li>{part}</li>" for part in parts)


def _cards(total: Report, models: list[str]) -> str:
    """The first metrics, each with its bounds."""
    frame, made = total.frame, []
    confidence = f"{total.confidence * 100:g} % interval" if total.confidence else ""
    for metric in _listed(total):
        own = frame.filter(pl.col("metric") == metric.name)
        if metric.name in VOLUME or ("label" in own.columns and own["label"].count()):
            continue
        if not own["value"].count() or own.height > LINES * max(1, len(models)):
            continue
        keys = [c for c in (*models, "threshold") if c in own.columns and own[c].drop_nulls().n_unique() > 1]
        made.append(_card(metric, [_value(row, keys, confidence) for row in rows(own)]))
    return "".join(made[:CARDS])


def _card(metric: Metric, values: list[str]) -> str:
    better = {"high": "higher is better", "low": "lower is better"}.get(metric.better or "", "")
    return (
        f'<section class="card"><h3>{markup(metric.name)}</h3>{"".join(values)}'
        f'<p class="what">{_prose(metric.summary)}</p><p class="better">{better}</p></section>'
    )


def _value(row: Row, keys: list[str], confidence: str) -> str:
    """A value with the words of what it is of, its certified bounds and its interval."""
    of = ", ".join(str(row[k]) for k in keys if row[k] is not None)
    name = f'<span class="of">{markup(of)}</span> ' if of else ""
    exact = row["lower"] == row["upper"]
    certain = "exact" if exact else f"certified {bounds(row)}"
    sampled = interval(row.get("ci_lower"), row.get("ci_upper"))
    told = [certain if row["value"] is not None else row["note"] or "undefined"]
    told += [f"{confidence} {sampled}"] if sampled else []
    lines = "".join(f'<span class="sure">{markup(line)}</span>' for line in told)
    return f'<p class="value">{name}<b>{said(row)}</b>{lines}</p>'


def _prose(summary: str) -> str:
    """The first sentence of a docstring as HTML."""
    return markup(summary.replace("``", "").replace("`", ""))


def _listed(report: Report) -> list[Metric]:
    names = report.frame["metric"].unique(maintain_order=True)
    return [report.find(name) for name in names]


def _figures(report: Report, total: Report, interactive: bool) -> Iterator[str]:
    """Every chart that can be drawn of what was kept."""
    for number, picture in enumerate(_pictures(report, total)):
        yield figure(picture, f"c{number}", interactive)


def _pictures(report: Report, total: Report) -> Iterator[Picture]:
    makers: list[Callable[[], Picture]] = [partial(chart, total) for chart in FIRST]
    makers += [partial(charts.confusion, total, **keys) for keys in _matrices(total)]
    if (metric := _headline(total)) is not None:
        windows = charts.window_of(report)
        segments = [c for c in report.by if c not in windows]
        makers += [partial(charts.over_time, report, metric, c, by=[]) for c in windows]
        makers += [
            partial(charts.over_time, report, metric, c, by=s) for c in windows for s in segments if s != "model"
        ]
        makers += [partial(charts.segments, report, metric, s) for s in segments]
    makers += [partial(chart, total) for chart in LAST]
    for make in makers:
        try:
            picture = make()
        except (MetricError, ReportError):  # of what is not kept there is no chart
            continue
        if not picture.empty:
            yield picture


def _matrices(total: Report) -> list[dict[str, Any]]:
    """The keys of the confusion matrices to draw."""
    for read in (total.confusion_matrix, total.confusion_counts):
        try:
            frame = read()
        except MetricError:
            continue
        keys = frame.select(pl.exclude(CELLS)).unique(maintain_order=True).head(MATRICES).to_dicts()
        return [{k: v for k, v in row.items() if v is not None} for row in keys] or [{}]
    return []


def _headline(total: Report) -> Metric | None:
    """The first metric that is better high or low, of all labels and at one threshold."""
    frame = total.frame
    for metric in _listed(total):
        rows = frame.filter(pl.col("metric") == metric.name, pl.col("value").is_not_null())
        alone = rows.height == rows.select(total.by).n_unique() if total.by else rows.height == 1
        if metric.better is not None and alone:
            return metric
    return None


def _groups(report: Report, models: list[str]) -> str:
    """The table of the groups, with the field that filters it."""
    if report.by == models:
        return ""
    frame = of_all_labels(report.frame)
    groups = report.rows("rows").select(*report.by, "value")
    note = ""
    if groups.height > GROUPS:
        largest = groups.with_row_index("place").sort("value", descending=True).head(GROUPS).sort("place")
        frame = frame.join(largest.select(report.by), on=report.by, how="semi", nulls_equal=True, maintain_order="left")
        note = f" The {GROUPS:,} with most rows of {groups.height:,} are listed."
    made = groups_table(frame, report.by, "Metrics of each group", sortable=True)
    below = "± is the certified bound of a value; one without is exact."
    if report.confidence:
        below = "Below a value stands its confidence interval, or ± its certified bound where it has none."
    return (
        f'<section><h2 id="groups">Groups</h2><p>{below}{note} '
        "Press the head of a column to sort by it.</p>"
        f"{_filtered(made, 'groups', 'Show groups with')}</section>"
    )


def _numbers(total: Report) -> str:
    """All metrics of all rows, with how each is bounded and what it is."""
    meaning = {m.name: m.summary.replace("`", "") for m in _listed(total)}
    made = metrics_table(total.frame.head(GROUPS), meaning, "Metrics of all rows", sortable=True)
    return _filtered(made, "numbers", "Show metrics with")


def _filtered(made: str, name: str, label: str) -> str:
    """A table in a box that it can be scrolled in, under a field that filters it."""
    what = label.split()[1]
    return (
        f'<div class="filter" hidden><label for="f-{name}">{label}</label> <input id="f-{name}" type="search" '
        f'autocomplete="off"> <output for="f-{name}" aria-live="polite"></output></div>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="table of {what}">{made}</div>'
    )


def _bounded(report: Report) -> str:
    """What the words on bounds mean."""
    points = [
        "<b>Exact</b>: the value is that of the rows seen, nothing was rounded into bins.",
        "<b>Certified bounds</b>: rows were counted in fine bins; whatever their order within a bin, the value of the "
        "rows seen lies between these bounds. This is proven, not estimated.",
    ]
    if report.confidence:
        points.append(
            "<b>Interval</b>: what other rows like these would give, with a confidence of "
            f"{report.confidence * 100:g} %. Metrics without a sound interval have none."
        )
    points.append("<b>–</b>: the value is undefined, and the note says why.")
    return "".join(f"<li>{point}</li>" for point in points)
