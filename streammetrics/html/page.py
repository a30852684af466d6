"""A report as one self-contained HTML page, without network or server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from streammetrics import charts
from streammetrics.findings.findings import findings
from streammetrics.html import pictures
from streammetrics.html.calibration import cumulative_error
from streammetrics.html.cards import cards
from streammetrics.html.decision import at_thresholds, best_thresholds, highest_scores, most_confused
from streammetrics.html.evaluated import evaluated
from streammetrics.html.failures import failures
from streammetrics.html.fairness import criteria, metrics_of
from streammetrics.html.findings import findings_list
from streammetrics.html.models import compared_models
from streammetrics.html.numbers import groups, labels, numbers
from streammetrics.present.page import Section, beside, page_of
from streammetrics.reading.readings import Readings
from streammetrics.rows.roles import MODEL


def page(
    report: Readings,
    title: str = "Evaluation",
    interactive: bool = False,
    source: str | None = None,
    fairness: str | None = None,
) -> str:
    """Return the page: evaluated data, metrics, slices in which the model fails, charts, decisions, and segments.

    Numbers and charts cover all rows of each model; segments, time charts, and the table show every group. For the
    arguments, see `Report.save_html`.
    """
    total = of_all_rows(report)
    sections = _sections(report, total, fairness, interactive)
    return page_of(title, evaluated(report, total, source), sections, charts.scripts() if interactive else ())


def of_all_rows(report: Readings) -> Readings:
    """The report of all rows together, of each model."""
    models = [column for column in report.by if column == MODEL]
    return report if report.by == models else report.rollup(*models)


def _sections(report: Readings, total: Readings, over: str | None, interactive: bool) -> Iterator[Section]:
    """Sections, from the most important to all numbers."""
    draw = partial(pictures.figures, interactive=interactive)
    yield Section("findings", "What stands out", findings_list(findings(report)))
    drawn = draw("segment", pictures.segments(report, total), narrow=True)
    by_model = {*report.by} - {*charts.window_of(report)} == {MODEL}
    yield Section("models", "Models compared", compared_models(total, interactive) + (drawn if by_model else ""))
    yield Section("results", "Overall", cards(total))
    yield Section("labels", "Labels", labels(total))
    yield Section("failures", "Where it fails", failures(report, total.by))
    if over is not None:
        fair = criteria(report, over) + draw("fair", metrics_of(report, over))
        yield Section("fairness", "Fairness", fair)
    listed = "" if report.by == total.by or report.frame.is_empty() else groups(report)
    yield Section("groups", "Groups", ("" if by_model else drawn) + listed)
    timed = draw("time", pictures.over_time(report, total)) + pictures.each_over_time(report, total, interactive)
    yield Section("time", "Over time", timed)
    yield Section("curves", "Curves", draw("curve", pictures.curves(total)))
    if calibrated := draw("calibration", pictures.calibration(total)):
        calibrated = cumulative_error(total) + calibrated
    yield Section("calibration", "Calibration", calibrated)
    counted = beside(draw("matrix", pictures.matrices(total)), most_confused(total) or at_thresholds(total))
    if found := highest_scores(total):
        found = beside(draw("choice", [partial(pictures.choices, total)], columns=pictures.COLUMNS), found)
    yield Section("decision", "Decisions", counted + found + best_thresholds(total))
    yield Section("all", "All numbers", numbers(total))
