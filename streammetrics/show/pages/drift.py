"""The page of a drift: distributions of the current rows against a reference, and what changed with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.reading import Finding
from streammetrics.show import charts
from streammetrics.show.pages import pictures
from streammetrics.show.pages.comparison import (
    GROUPS,
    both_sides,
    differences,
    groups,
    size,
    with_names,
    with_short_names,
)
from streammetrics.show.pages.findings import findings_list, headline, stands_out
from streammetrics.show.tables.drift import measures_table
from streammetrics.show.tables.html import filtered, scrolled
from streammetrics.show.tables.page import Section, folded, lead, page_of

if TYPE_CHECKING:
    from streammetrics.report import Comparison

ROLLING = "the period before each window"
MEASURES = {
    "psi": "population stability index. By convention, 0.1 and 0.25 are limits of small and large drift.",
    "js": "Jensen-Shannon divergence, from 0 to 1.",
    "ks": "largest difference of the distribution functions.",
    "wasserstein": "area between the distribution functions, in the units of the values.",
}


def drift_page(
    metrics: Comparison,
    names: tuple[str, str],
    title: str,
    interactive: bool,
    findings: Sequence[Finding],
    total: pl.DataFrame | None,
    every: pl.DataFrame,
) -> str:
    """Return the page: what stands out, the measures of drift, distributions, and changes of metrics.

    For the arguments, see `Drift.save_html`. ``total`` has the measures of all rows, and ``every`` those of each group.
    Without the former, the reference is rolling, and only groups are shown.
    """
    by = metrics.b.by
    metrics, names = with_short_names(with_names(metrics, names), names)
    measures, scripts = _measures(total, every, metrics.confidence, by), charts.scripts() if interactive else ()
    if total is None:
        verdict, found = stands_out(findings)
        sections = [
            found,
            Section("drift", "Drift of distributions", measures),
            Section("groups", "Groups", groups(metrics)),
        ]
        return page_of(title, verdict, lead(zip(names, (ROLLING, size(metrics.b)), strict=True)), sections, scripts)
    changes = f"<h2>What changed</h2>{findings_list(findings)}"
    both = both_sides(metrics)
    drawn = list(pictures.distributions(both)) if both is not None else []
    picture = pictures.figures("first", drawn[:1], interactive, columns=2)
    others = pictures.row_of_figures("distributions", drawn[1:], interactive)
    sections = [
        differences(metrics, "Changes of metrics", interactive),
        Section("drift", "Drift of distributions", folded("Measures", measures) + folded("More charts", others)),
    ]
    facts = lead(zip(names, map(size, (metrics.a, metrics.b)), strict=True))
    card = f'<section class="card" aria-label="What changed">{changes}</section>'
    first = f'<div class="first" id="findings">{card}{picture}</div>'
    return page_of(title, headline(findings), facts, sections, scripts, first)


def _measures(total: pl.DataFrame | None, every: pl.DataFrame, confidence: float | None, by: Sequence[str]) -> str:
    """The measures of drift of all rows together, if there are any, and of each group, the largest first."""
    first = every["measure"][0] if every.height else None
    names = [first] if total is None else [*MEASURES]
    content = f"<p>{' '.join(f'<b>{name}</b>: {MEASURES[name]}' for name in names if name in MEASURES)}</p>"
    if total is not None:
        models = [c for c in by if c in total.columns]
        table = measures_table(total, confidence, models, "Drift of distributions")
        content += scrolled(table, "drift of all rows", sortable=True)
        if total.height == every.height:
            return content
    largest = every.filter(measure=first).sort("value", descending=True, nulls_last=True).head(GROUPS)
    listed = filtered(measures_table(largest, confidence, by, "Drift of each group"), "drift")
    return f'{content}<h3 class="over">Each group, {first}</h3>{listed}'
