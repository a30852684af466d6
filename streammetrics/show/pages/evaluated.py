"""Description of the evaluated data and the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import markup, percentage, readable
from streammetrics.show import charts
from streammetrics.show.tables.page import lead
from streammetrics.statistics import ROW, RowFingerprint, fingerprints_of_models

if TYPE_CHECKING:
    from streammetrics.report import Report

COUNT = "{:,.0f}".format


def evaluated(report: Report, total: Report, source: str | None) -> str:
    """Return facts on the evaluated data, and the collapsed specification."""
    return f"{lead(_facts(report, total, source))}{_specification(report)}"


def rows_of(report: Report) -> str:
    """Return the number of rows of all groups, as text: a range if models differ."""
    return _range(report.showing("rows").rollup().frame["value"], COUNT)


def weight_of(report: Report) -> str:
    """Return the column of the weights, as markup."""
    return f"<code>{markup(report.sample_weight or 'weights')}</code>"


def _range(values: pl.Series, form: Callable[[Any], str]) -> str:
    ends = [form(end) for end in (values.min(), values.max()) if end is not None] or [form(0)]
    return " to ".join(dict.fromkeys(ends))


def _facts(report: Report, total: Report, source: str | None) -> Iterator[tuple[str, str]]:
    rows, dropped = (total.rows(count)["value"] for count in ("rows", "dropped"))
    by = [c for c in report.by if c not in total.by]
    yield "Rows evaluated", f"<strong>{_range(rows, COUNT)}</strong>"
    if report.state.weighted:
        yield "Weighted by", f"{weight_of(report)}: metrics are weighted, and counts are sums of weights"
    if source:
        yield "Source", markup(source)
    if total.state.groups.height > 1:
        yield "Models", f"<strong>{total.state.groups.height}</strong>"
    for window in charts.window_of(report):
        times = readable(report.state.keys[window].drop_nulls().unique().sort())
        if len(times):
            yield "Time", " to ".join(markup(t) for t in dict.fromkeys((times[0], times[-1])))
    if by:
        yield "Groups", f"<strong>{report.frame.select(by).n_unique():,}</strong> by {markup(', '.join(by))}"
    if dropped.sum():
        shares = _range(dropped / (rows + dropped), percentage)
        why = "null or NaN, or a weight of zero" if total.state.weighted else "null or NaN"
        yield "Rows dropped", f"<strong>{_range(dropped, COUNT)}</strong> ({shares}): {why}"
    else:
        yield "Rows dropped", "none"
    if total.state.find(RowFingerprint) is not None:
        prints = {columns[ROW] for columns in fingerprints_of_models(total.state).values()}
        yield "Fingerprint of the rows", "<br>".join(f"<code>{each}</code>" for each in sorted(prints))


def _specification(report: Report) -> str:
    """Statistics, groups, and confidence level."""
    parts = [*map(repr, report.state.statistics)]
    parts += [f"by {', '.join(report.by)}"] if report.by else []
    parts += [f"confidence level {report.confidence:g}"] if report.confidence else []
    parts += [f"unit {report.unit}"] if report.unit else []
    items = "".join(f"<li><code>{markup(text)}</code></li>" for text in parts)
    return f"<details><summary>Specification</summary><ul>{items}</ul></details>"
