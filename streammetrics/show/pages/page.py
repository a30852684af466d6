"""A report as one self-contained HTML page, without network or server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import VOLUME, interval, markup, minus, rows, value_text
from streammetrics.data import MODEL
from streammetrics.reading import Diagnosis
from streammetrics.show import charts
from streammetrics.show.pages import pictures
from streammetrics.show.pages.cards import cards
from streammetrics.show.pages.comparison import with_short_names
from streammetrics.show.pages.decision import is_argmax, most_confused, threshold_counts
from streammetrics.show.pages.evaluated import evaluated
from streammetrics.show.pages.explorer import thresholds_section
from streammetrics.show.pages.failures import failures
from streammetrics.show.pages.fairness import criteria_and_charts
from streammetrics.show.pages.findings import findings_list
from streammetrics.show.pages.numbers import groups, labels, numbers
from streammetrics.show.pages.pictures import figures
from streammetrics.show.pages.summary import is_too_small, summary, verdict
from streammetrics.show.tables.differences import differences_table
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.page import Section, beside, folded, page_of
from streammetrics.statistics import pairs_kept

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

SMALLEST = 0.001  # p-value that is told
NAMES = ("ecce", "expected_ecce", "ecce_p_value")
MOST = 6  # pairs of models
CONFIDENCE = 0.95  # default


def page(
    report: Report,
    title: str = "Evaluation",
    interactive: bool = False,
    source: str | None = None,
    fairness: str | None = None,
) -> str:
    """Return the page: what is wrong and what to do, metrics, slices in which the model fails, charts, and decisions.

    Numbers and charts cover all rows of each model; segments, time charts, and the table show every group. For the
    arguments, see `Report.save_html`.
    """
    total = report.rollup()
    findings, diagnosis = report.findings(), Diagnosis(report)
    first, sections = "", [Section("all", "All numbers", numbers(total))]
    if not is_too_small(total):
        first = summary(report, total, findings, diagnosis, interactive)
        faulty = any(finding.severity != "info" for finding in findings)
        sections = [*_sections(report, total, fairness, interactive, faulty)]
    scripts = charts.scripts() if interactive else ()
    sentence = verdict(total, findings, diagnosis)
    return page_of(title, sentence, evaluated(report, total, source), sections, scripts, first)


def _sections(report: Report, total: Report, over: str | None, interactive: bool, faulty: bool) -> Iterator[Section]:
    """Sections, from the most important to all numbers. Without a fault, curves and decisions are folded."""
    draw = partial(pictures.figures, interactive=interactive)
    drawn = timed = ""
    if (metric := pictures.main_metric(total)) is not None:
        drawn = draw("segment", pictures.segments(report, metric))
        timed = draw("time", pictures.over_time(report, metric)) + pictures.each_over_time(report, metric, interactive)
    by_model = {*report.by} - {*charts.window_of(report)} == {MODEL}
    yield Section("models", "Models compared", compared_models(total, interactive) + (drawn if by_model else ""))
    yield Section("results", "Overall", cards(total))
    yield Section("labels", "Labels", _labels(total, draw) if is_argmax(total) else labels(total))
    yield Section("failures", "Where it fails", failures(report, total.by))
    if over is not None:
        yield Section("fairness", "Fairness", criteria_and_charts(report, over, draw))
    listed = "" if report.by == total.by or report.frame.is_empty() else groups(report)
    if drawn and total.state.keys.height * charts.MOST_GROUPS >= report.state.keys.height:
        listed = folded("Metrics of each group", listed)
    yield Section("groups", "Groups", ("" if by_model else drawn) + listed)
    yield Section("time", "Over time", timed)
    curves = pictures.row_of_figures("curve", pictures.curves(total), interactive, cumulative_error(total))
    several = [Section("curves", "Curves", curves)]
    if not is_argmax(total):
        several.append(thresholds_section(total) or Section("decision", "Decisions", _decisions(total, draw)))
    for section in several:
        yield section if faulty else section._replace(content=folded(section.title, section.content))
    yield Section("all", "All numbers", numbers(total))


def _labels(total: Report, draw: Callable[..., str]) -> str:
    """Confusion matrices beside the metrics of each label, and the confusions of labels in words."""
    return beside(draw("matrix", pictures.matrices(total)), labels(total)) + most_confused(total)


def _decisions(total: Report, draw: Callable[..., str]) -> str:
    """Confusion matrices beside the counts of two classes."""
    return beside(draw("matrix", pictures.matrices(total)), threshold_counts(total))


def cumulative_error(total: Report) -> str:
    """Return a sentence on the cumulative calibration error of each model; empty without scores of two classes."""
    if total.state.labels or not all(map(total.readable, NAMES)):
        return ""
    estimates = {name: {row.get("model"): row for row in rows(total.rows(name))} for name in NAMES}
    sentences = []
    for model, error in estimates["ecce"].items():
        expected, p = estimates["expected_ecce"][model], estimates["ecce_p_value"][model]["value"]
        if error["value"] is None or expected["value"] is None:
            continue
        of = f" of {model}" if model else ""
        limits = interval(error.get("ci_lower"), error.get("ci_upper"), value := value_text(error))
        chance = "" if p is None else f" (p < {SMALLEST})" if p < SMALLEST else f" (p = {p:.2g})"
        ends = f" ({total.confidence or 0:.0%} CI {limits})" if limits else ""
        by_chance = f"Calibrated scores would have about {expected['value']:.2g}{chance}."
        sentences.append(f"Cumulative calibration error{of}: {value}{ends}. {by_chance}")
    return "".join(f"<p>{markup(minus(sentence))}</p>" for sentence in sentences)


def compared_models(total: Report, interactive: bool) -> str:
    """Return what stands out and the differences of each stored pair of models; empty without pairs."""
    names = total.state.keys["model"].unique(maintain_order=True).to_list() if "model" in total.by else []
    stored = {frozenset(pair) for pair in pairs_kept(total.state.statistics)}
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) in stored]
    comparisons = [total.compare(*pair, confidence=total.confidence or CONFIDENCE) for pair in pairs[:MOST]]
    content = "".join(_pair(pair, f"pair{i}", interactive) for i, pair in enumerate(comparisons))
    omitted = f"<p>The first {MOST} of {len(pairs)} pairs of models, all groups together.</p>"
    return omitted * (len(pairs) > MOST) + content


def _pair(comparison: Comparison, identity: str, interactive: bool) -> str:
    """The findings of two models, the chart of their differences, and the table of those with an interval."""
    (a, b), every = comparison.names, comparison._judged
    heading = f'<h3 class="over">{markup(b)} compared with {markup(a)}</h3>'
    frame = every.filter(pl.col("ci_lower").is_not_null())
    if frame.is_empty():
        return f"{heading}<p>{markup(comparison.note)}</p>" if comparison.note else ""
    findings = findings_list(comparison.findings())
    short, names = with_short_names(comparison, (a, b))
    legend = "" if short.names == (a, b) else f"<p>{markup(', '.join(names))}</p>"
    drawn = figures(identity, [partial(charts.forest, short)], interactive, columns=2)
    omitted = [name for name in every["metric"].unique(maintain_order=True) if name not in (*VOLUME, *frame["metric"])]
    note = f"<p>Without a paired interval: {markup(', '.join(omitted))}.</p>" if omitted else ""
    of = f"of {b} from {a}"
    table = differences_table(frame, short.names, comparison.confidence, caption=f"Differences {of}")
    listed = folded("All differences", note + scrolled(table, f"differences {of}", sortable=True))
    return f'{heading}<div class="first"><div>{findings}{legend}</div>{drawn}</div>{listed}'
