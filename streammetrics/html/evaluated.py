"""Description of the evaluated data and the specification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streammetrics import charts
from streammetrics.decimals import percentage
from streammetrics.html.sections import lead
from streammetrics.markup import markup
from streammetrics.reading.one_class import of_one_class
from streammetrics.text import written

if TYPE_CHECKING:
    from streammetrics.report.report import Report


def evaluated(report: Report, total: Report, source: str | None) -> str:
    """Return a warning if a class has no rows, facts on the evaluated data, and the specification to unfold."""
    return f"{_warning(total)}{lead(_facts(report, total, source))}{_specification(report)}"


def rows_of(total: Report, count: str = "rows") -> int:
    """Return the number of rows of a report of all rows, or another count of them: the largest of any model."""
    return int(total.rows(count)["value"].max() or 0)  # type: ignore[arg-type]


def _warning(total: Report) -> str:
    said = of_one_class(total)
    if said is None:
        return ""
    said = f"{said}. Metrics that compare positives with negatives are undefined."
    return f'<p class="warning"><strong>Warning:</strong> {said}</p>'


def _facts(report: Report, total: Report, source: str | None) -> Iterator[tuple[str, str]]:
    rows, dropped = rows_of(total), rows_of(total, "dropped")
    by = [c for c in report.by if c not in total.by]
    yield "Rows evaluated", f"<strong>{rows:,}</strong>"
    if source:
        yield "Source", markup(source)
    if total.state.groups.height > 1:
        yield "Models", f"<strong>{total.state.groups.height}</strong>"
    for window in charts.window_of(report):
        times = written(report.state.keys[window].drop_nulls().unique().sort())
        if len(times):
            yield "Time", " to ".join(markup(t) for t in dict.fromkeys((times[0], times[-1])))
    if by:
        yield "Groups", f"<strong>{report.frame.select(by).n_unique():,}</strong> by {markup(', '.join(by))}"
    if dropped:
        share = dropped / (rows + dropped)
        yield "Rows dropped", f"<strong>{dropped:,}</strong> ({percentage(share)}): null or NaN, or a weight of zero"
    else:
        yield "Rows dropped", "none"


def _specification(report: Report) -> str:
    """Statistics, groups, and confidence level."""
    kept = [*map(repr, report.state.statistics)]
    kept += [f"by {', '.join(report.by)}"] if report.by else []
    kept += [f"confidence level {report.confidence:g}"] if report.confidence else []
    kept += [f"unit {report.unit}"] if report.unit else []
    items = "".join(f"<li><code>{markup(text)}</code></li>" for text in kept)
    return f"<details><summary>Specification</summary><ul>{items}</ul></details>"
