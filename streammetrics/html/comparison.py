"""The page of a comparison: differences between two evaluations, such as a reference and the current rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import polars as pl

from streammetrics import charts
from streammetrics.errors import ReportError, SpecificationError
from streammetrics.findings.sides import findings_of_sides
from streammetrics.frame import VOLUME
from streammetrics.html import pictures
from streammetrics.html.evaluated import rows_of, weight_of
from streammetrics.html.findings import findings_list
from streammetrics.metrics.words import words
from streammetrics.present.differences import differences_table
from streammetrics.present.drift import measures_table
from streammetrics.present.estimates import only_threshold
from streammetrics.present.html import filtered, scrolled
from streammetrics.present.page import Section, lead, page_of
from streammetrics.reading.differences import Differences
from streammetrics.reading.readings import Readings
from streammetrics.text.markup import markup

GROUPS = 1000  # rows of the tables of groups
LONG, LETTERS = 20, ("a", "b")  # characters of a name in tables and charts, and what stands for longer ones
ROLLING = "the period before each window"
MEASURES = {
    "psi": "population stability index. Below 0.1 counts as stable, above 0.25 as shifted.",
    "js": "Jensen-Shannon divergence, from 0 to 1.",
    "ks": "largest difference of the distribution functions.",
    "wasserstein": "area between the distribution functions, in the units of the values.",
}
UNJUDGED = "Not judged, because neither higher nor lower values are better"


def comparison_page(
    comparison: Differences,
    names: tuple[str, str],
    title: str = "Comparison",
    interactive: bool = False,
    moved: tuple[pl.DataFrame | None, pl.DataFrame] | None = None,
) -> str:
    """Return the page: differences of metrics, drift of distributions, groups that differ, and the curves of both.

    For the arguments, see `Comparison.save_html`. ``moved`` is the drift of all rows, and the drift of each group.
    Without the former, the reference is rolling, and only groups are shown.

    Raises:
        SpecificationError: If ``names`` are not two strings, or the ``plot`` extra is not installed.
        ReportError: If both sides have the same name.
    """
    if not isinstance(names, list | tuple) or [isinstance(name, str) for name in names] != [True, True]:
        raise SpecificationError(f"names= must be two strings, got {names!r:.40}.")
    if names[0] == names[1]:
        raise ReportError(f"Both sides have the name {names[0]!r}. Pass two different names.")
    comparison = replace(comparison, names=(names[0], names[1]))
    total = comparison.total
    found = findings_list(findings_of_sides(comparison)) if _is_whole(moved) else ""
    sizes = _size(comparison.a, total.a) if _is_whole(moved) else ROLLING, _size(comparison.b, total.b)
    if max(map(len, names)) > LONG:
        comparison = replace(comparison, names=LETTERS)
        names = (f"a: {names[0]}", f"b: {names[1]}")
    sections = [Section("findings", "What stands out", found), *_sections(comparison, interactive, moved)]
    return page_of(title, lead(zip(names, sizes, strict=True)), sections, charts.scripts() if interactive else ())


def _is_whole(moved: tuple[pl.DataFrame | None, pl.DataFrame] | None) -> bool:
    """Whether the rows of both sides can be compared as a whole."""
    return moved is None or moved[0] is not None


def _size(report: Readings, total: Readings) -> str:
    """The number of rows, which models share, and of groups."""
    size, groups = f"<strong>{rows_of(total)}</strong> rows", report.state.keys.drop(total.by)
    size += f" in {groups.n_unique():,} groups" if groups.width else ""
    return f"{size}, weighted by {weight_of(report)}" if report.state.weighted else size


def _sections(
    comparison: Differences, interactive: bool, moved: tuple[pl.DataFrame | None, pl.DataFrame] | None
) -> Iterator[Section]:
    total, whole = comparison.total, _is_whole(moved)
    if whole:
        drawn = pictures.figures("forest", _forests(comparison), interactive)
        yield Section("differences", "Differences", drawn + _differences(total))
    if moved is not None:
        yield Section("drift", "Drift of distributions", _drift(*moved, comparison.b.by))
    yield Section("groups", "Groups", _groups(comparison, total))
    if whole and comparison.a.by == comparison.b.by:
        sides = (side.with_confidence(total.confidence) if total.confidence else side for side in (total.a, total.b))
        both = charts.Together(dict(zip(total.names, sides, strict=True)))
        for identity, heading, makers in (
            ("curves", "Curves", pictures.curves(both)),
            ("calibration", "Calibration", pictures.calibration(both)),
        ):
            yield Section(identity, heading, pictures.figures(identity, makers, interactive))


def _forests(comparison: Differences) -> Iterator[pictures.Maker]:
    """Differences of all metrics, and of the primary one in each group."""
    yield partial(charts.forest, comparison)
    if comparison.primary is not None and comparison.b.by:
        yield partial(charts.forest, comparison, comparison.primary)


def _differences(total: Differences) -> str:
    """The differences of all rows together, of each model."""
    frame, (a, b) = total.frame, total.names
    by_interval = f"significant at {(total.confidence or 0) * 100:g}%, bounds included"
    level = by_interval if total.confidence else "proven by the certified bounds"
    undirected = [m.name for m in total.b.metrics if m.better is None and m.name not in VOLUME]
    unjudged = [name for name in undirected if name in frame["metric"]]
    judged = f"“Better” means {level}." + (f" {UNJUDGED}: {', '.join(unjudged)}." if unjudged else "")
    said = "".join(f"<p>{markup(sentence)}</p>" for sentence in (judged, *only_threshold(frame)))
    return said + filtered(differences_table(frame, total.names, caption=f"Differences of {b} from {a}"), "metrics")


def _groups(comparison: Differences, total: Differences) -> str:
    """The differences of the primary metric in each group, those with a better side first."""
    by, metric = tuple(comparison.b.by), comparison.primary
    if total.b.by == comparison.b.by or metric is None:
        return ""
    frame = comparison.frame.filter(metric=metric.name)
    size = pl.col("difference").abs()
    decided = pl.col("better").is_in(comparison.names)
    frame = frame.sort(decided, size, descending=True, nulls_last=True, maintain_order=True)
    cut = f" The {GROUPS:,} largest of {frame.height:,} differences." if frame.height > GROUPS else ""
    caption = f"Differences of {metric.name} in each group"
    made = differences_table(frame.head(GROUPS), comparison.names, by, caption, of_one_metric=True)
    said = f"{words(metric)} by group, significant differences first.{cut}"
    return f"<p>{markup(said)}</p>{filtered(made, 'groups')}"


def _drift(total: pl.DataFrame | None, groups: pl.DataFrame, by: list[str]) -> str:
    """The measures of drift of all rows together, if there are any, and of each group, the largest first."""
    first = groups["measure"][0] if groups.height else None
    shown = [first] if total is None else [*MEASURES]
    told = f"<p>{' '.join(f'<b>{name}</b>: {MEASURES[name]}' for name in shown if name in MEASURES)}</p>"
    models = [] if total is None else [c for c in by if c in total.columns]
    made = (
        ""
        if total is None
        else scrolled(measures_table(total, models, "Drift of distributions"), "drift of all rows", sortable=True)
    )
    if total is not None and total.height == groups.height:
        return f"{told}{made}"
    largest = groups.filter(measure=first).sort("value", descending=True, nulls_last=True).head(GROUPS)
    listed = filtered(measures_table(largest, by, "Drift of each group"), "drift")
    return f'{told}{made}<h3 class="over">Each group, {first}</h3>{listed}'
