"""Values as sentences, tables, charts, and pages."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.show.charts.plot import ComparisonPlot, Plot, VerdictsPlot
    from streammetrics.show.charts.windows import BREACH, timelines
    from streammetrics.show.pages import accumulator_html, comparison_page, drift_page, in_notebook, latest, report_html
    from streammetrics.show.pages.cards import prose
    from streammetrics.show.pages.findings import stands_out
    from streammetrics.show.pages.page import page
    from streammetrics.show.pages.pictures import figures, small_multiples
    from streammetrics.show.tables.differences import comparison_tables, differences_table
    from streammetrics.show.tables.drift import drift_table, measures_table
    from streammetrics.show.tables.estimates import (
        estimate_table,
        metrics_table,
        only_threshold,
        report_tables,
        with_notes,
    )
    from streammetrics.show.tables.findings import as_frame, findings_table, outcomes_of_findings
    from streammetrics.show.tables.github import add_to_summary, commands, inert
    from streammetrics.show.tables.html import filtered
    from streammetrics.show.tables.junit import junit
    from streammetrics.show.tables.markdown import as_markdown
    from streammetrics.show.tables.notes import (
        reason_without_interval,
        with_names,
        with_note,
        with_note_of_gap,
        with_note_of_threshold,
        without_change,
    )
    from streammetrics.show.tables.page import Section, lead, page_of
    from streammetrics.show.tables.slices import slices_table
    from streammetrics.show.tables.table import Cell, Column, Level, Outcome, Table, badness, of_frame
    from streammetrics.show.tables.terminal import PIPED, as_text, terminal_width
    from streammetrics.show.tables.thresholds import thresholds_table
    from streammetrics.show.tables.verdicts import OPEN, every_verdict, outcomes, verdict_tables
else:
    __getattr__ = late_names(__name__, __file__)
