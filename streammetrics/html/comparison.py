"""The page of a comparison: differences between two evaluations, such as a reference and the current rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from streammetrics import charts
from streammetrics.errors import ReportError, SpecificationError
from streammetrics.html import pictures
from streammetrics.html.cards import VOLUME
from streammetrics.html.differences import sides
from streammetrics.html.evaluated import rows_of, weight_of
from streammetrics.present.differences import differences_table
from streammetrics.present.drift import measures_table
from streammetrics.present.estimates import only_threshold
from streammetrics.present.html import filtered, scrolled
from streammetrics.present.page import Section, lead, page_of
from streammetrics.reading.differences import Differences
from streammetrics.reading.readings import Readings
from streammetrics.rows.roles import MODEL
from streammetrics.text.markup import markup

GROUPS = 1000  # rows of the tables of groups
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
    sizes = _size(comparison.a, total.a) if _is_whole(moved) else ROLLING, _size(comparison.b, total.b)
    sections = _sections(comparison, names, interactive, moved)
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
    comparison: Differences,
    names: tuple[str, str],
    interactive: bool,
    moved: tuple[pl.DataFrame | None, pl.DataFrame] | None,
) -> Iterator[Section]:
    total, whole = comparison.total, _is_whole(moved)
    if whole:
        yield Section("differences", "Differences", _differences(total, names))
    if moved is not None:
        yield Section("drift", "Drift of distributions", _drift(*moved, comparison.b.by))
    yield Section("groups", "Groups", _groups(comparison, total, names))
    if whole and comparison.a.by == comparison.b.by:
        sides = (side.with_confidence(total.confidence) if total.confidence else side for side in (total.a, total.b))
        both = charts.Together(dict(zip(names, sides, strict=True)))
        for identity, heading, makers in (
            ("curves", "Curves", pictures.curves(both)),
            ("calibration", "Calibration", pictures.calibration(both)),
        ):
            yield Section(identity, heading, pictures.figures(identity, makers, interactive))


def _differences(total: Differences, names: tuple[str, str]) -> str:
    """The differences of all rows together, and the metrics that are better on each side, of each model."""
    frame, (a, b) = total.frame, names
    if total.b.by:
        parts = frame.partition_by(total.b.by, maintain_order=True)
        found = [f"Model {markup(str(own[MODEL][0]))}: {sides(own.drop(MODEL), names)}" for own in parts]
    else:
        found = [sides(frame, names)]
    by_interval = f"significant at {(total.confidence or 0) * 100:g}%, bounds included"
    level = by_interval if total.confidence else "proven by the certified bounds"
    undirected = [m.name for m in total.b.metrics if m.better is None and m.name not in VOLUME]
    unjudged = [name for name in undirected if name in frame["metric"]]
    judged = f"“Better” means {level}" + (f". {UNJUDGED}: {markup(', '.join(unjudged))}" if unjudged else "")
    said = "".join(f"<p>{sentence}.</p>" for sentence in (*found, judged))
    note = "".join(f"<p>{markup(sentence)}</p>" for sentence in (*only_threshold(frame), total.note) if sentence)
    return said + note + filtered(differences_table(frame, names, caption=f"Differences of {b} from {a}"), "metrics")


def _groups(comparison: Differences, total: Differences, names: tuple[str, str]) -> str:
    """The differences of the first metric in each group, those with a better side first."""
    by = tuple(comparison.b.by)
    metric = pictures.headline(total.b)
    if total.b.by == comparison.b.by or metric is None:
        return ""
    frame = comparison.frame.filter(metric=metric.name)
    size = pl.col("difference").abs()
    decided = pl.col("better").is_in(names)
    frame = frame.sort(decided, size, descending=True, nulls_last=True, maintain_order=True)
    cut = f" The {GROUPS:,} largest of {frame.height:,} differences." if frame.height > GROUPS else ""
    caption = f"Differences of {metric.name} in each group"
    made = differences_table(frame.head(GROUPS), names, by, caption, of_one_metric=True)
    return f"<p>{markup(metric.name)} by group, significant differences first.{cut}</p>{filtered(made, 'groups')}"


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
