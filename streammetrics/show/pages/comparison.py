"""The page of a comparison: differences between two evaluations, such as two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import VOLUME, markup
from streammetrics.data import MODEL
from streammetrics.errors import Argument, ReportError, SpecificationError
from streammetrics.metrics import words
from streammetrics.show import charts
from streammetrics.show.pages import pictures
from streammetrics.show.pages.evaluated import rows_of, weight_of
from streammetrics.show.pages.findings import stands_out
from streammetrics.show.tables.differences import LETTERS, LONG_NAME, differences_table
from streammetrics.show.tables.estimates import only_threshold
from streammetrics.show.tables.html import filtered
from streammetrics.show.tables.page import Section, folded, lead, page_of
from streammetrics.show.tables.table import Table

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

GROUPS = 1000  # rows of the tables of groups
UNJUDGED = "Not judged, because neither higher nor lower values are better"


def comparison_page(
    comparison: Comparison,
    names: tuple[str, str],
    title: str = "Comparison",
    interactive: bool = False,
    verdicts: tuple[pl.DataFrame, Sequence[Table]] | None = None,
) -> str:
    """Return the page: what stands out, differences of metrics and of groups, and the curves of both sides.

    It begins with the frame and the tables of ``verdicts``, if there are any. For the other arguments, see
    `Comparison.save_html`.
    """
    comparison = with_names(comparison, names)
    verdict, found = stands_out(comparison.findings())
    comparison, names = with_short_names(comparison, names)
    sizes = map(size, (comparison.a, comparison.b))
    sections = [
        *_requirements(verdicts, interactive),
        found,
        differences(comparison, "Differences", interactive),
        *_curves(comparison, interactive),
    ]
    scripts = charts.scripts() if interactive else ()
    return page_of(title, verdict, lead(zip(names, sizes, strict=True)), sections, scripts)


def _requirements(verdicts: tuple[pl.DataFrame, Sequence[Table]] | None, interactive: bool) -> Iterator[Section]:
    """Verdicts as a chart and as tables, with the verdict beside the rule, where a narrow screen shows it."""
    if verdicts is not None:
        frame, tables = verdicts
        content = "".join(f"<p>{markup(note)}</p>" for table in tables for note in table.notes)
        content += pictures.figures("limits", [partial(charts.limits, frame)], interactive)
        for table in tables:
            if table.rows:
                rule, *others, verdict = range(len(table.columns))
                content += filtered(replace(table.select([rule, verdict, *others]), notes=[]), "requirements")
        yield Section("requirements", "Requirements", content)


def with_names(comparison: Comparison, names: tuple[str, str]) -> Comparison:
    """Return the comparison with the names of its sides."""
    if not isinstance(names, list | tuple) or [isinstance(name, str) for name in names] != [True, True]:
        raise SpecificationError(Argument("names"), f" must be two strings, got {names!r:.40}.")
    if names[0] == names[1]:
        raise ReportError(f"Both sides have the name {names[0]!r}. Pass two different names.")
    return comparison if comparison.names == tuple(names) else replace(comparison, names=(names[0], names[1]))


def with_short_names(comparison: Comparison, names: tuple[str, str]) -> tuple[Comparison, tuple[str, str]]:
    """Return the comparison with names that fit tables and charts, and names that explain them."""
    if max(map(len, names)) <= LONG_NAME:
        return with_names(comparison, names), names
    return replace(comparison, names=LETTERS), (f"a: {names[0]}", f"b: {names[1]}")


def size(report: Report) -> str:
    """Return the number of rows, which models share, and of groups."""
    size, by = f"<strong>{rows_of(report)}</strong> rows", [c for c in report.by if c != MODEL]
    size += f" in {report.state.keys.n_unique(by):,} groups" if by else ""
    return f"{size}, weighted by {weight_of(report)}" if report.state.weighted else size


def both_sides(comparison: Comparison) -> charts.Together | None:
    """Return all rows of both sides, to draw them in the same charts, if their groups are alike."""
    total = comparison.total
    if comparison.a.by != comparison.b.by:
        return None
    sides = (side.with_confidence(total.confidence) if total.confidence else side for side in (total.a, total.b))
    return charts.Together(dict(zip(total.names, sides, strict=True)))


def _curves(comparison: Comparison, interactive: bool) -> Iterator[Section]:
    if (both := both_sides(comparison)) is not None:
        yield Section("curves", "Curves", pictures.row_of_figures("curve", pictures.curves(both), interactive))


def differences(comparison: Comparison, title: str, interactive: bool) -> Section:
    """Return the differences of the most important metrics and of groups as charts, and all of them folded."""
    total = comparison.total
    frame, (a, b) = total.frame, total.names
    by_interval = f"significant at {(total.confidence or 0) * 100:g}%, bounds included"
    level = by_interval if total.confidence else "proven by the certified bounds"
    undirected = [m.name for m in total.b.metrics if m.better is None and m.name not in VOLUME]
    unjudged = [name for name in undirected if name in frame["metric"]]
    judged = f"“Better” means {level}." + (f" {UNJUDGED}: {', '.join(unjudged)}." if unjudged else "")
    sentences = "".join(f"<p>{markup(sentence)}</p>" for sentence in (judged, *only_threshold(frame)))
    table = differences_table(total._judged, total.names, total.confidence, caption=f"Differences of {b} from {a}")
    forests = [partial(charts.forest, comparison)]
    if comparison.primary is not None and comparison.b.by:
        forests.append(partial(charts.forest, comparison, comparison.primary))
    drawn, listed = pictures.figures("forest", forests, interactive), sentences + filtered(table, "metrics")
    content = drawn + folded("All differences", listed) if drawn else listed
    return Section("differences", title, content + folded("Each group", groups(comparison)))


def groups(comparison: Comparison) -> str:
    """Return the differences of the primary metric in each group, those with a better side first; empty without."""
    by, metric = tuple(comparison.b.by), comparison.primary
    if comparison.total.b.by == comparison.b.by or metric is None:
        return ""
    frame = comparison._judged.filter(metric=metric.name)
    decided = pl.col("better").is_in(LETTERS)
    frame = frame.sort(decided, pl.col("difference").abs(), descending=True, nulls_last=True, maintain_order=True)
    cut = f" The {GROUPS:,} largest of {frame.height:,} differences." if frame.height > GROUPS else ""
    caption = f"Differences of {metric.name} in each group"
    table = differences_table(
        frame.head(GROUPS), comparison.names, comparison.confidence, by, caption, of_one_metric=True
    )
    sentence = f"{words(metric)} by group, significant differences first.{cut}"
    return f"<p>{markup(sentence)}</p>{filtered(table, 'groups')}"
