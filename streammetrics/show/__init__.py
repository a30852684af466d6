"""Values as sentences, tables, charts, and pages."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.show.charts import ComparisonPlot as ComparisonPlot
    from streammetrics.show.charts import Plot as Plot
    from streammetrics.show.charts import VerdictsPlot as VerdictsPlot
    from streammetrics.show.charts.windows import BREACH as BREACH
    from streammetrics.show.charts.windows import timelines as timelines
    from streammetrics.show.pages import accumulator_html as accumulator_html
    from streammetrics.show.pages import comparison_page as comparison_page
    from streammetrics.show.pages import drift_page as drift_page
    from streammetrics.show.pages import in_notebook as in_notebook
    from streammetrics.show.pages import latest as latest
    from streammetrics.show.pages import report_html as report_html
    from streammetrics.show.pages.cards import prose as prose
    from streammetrics.show.pages.findings import findings_list as findings_list
    from streammetrics.show.pages.page import page as page
    from streammetrics.show.pages.pictures import small_multiples as small_multiples
    from streammetrics.show.tables.differences import comparison_tables as comparison_tables
    from streammetrics.show.tables.differences import differences_table as differences_table
    from streammetrics.show.tables.drift import drift_table as drift_table
    from streammetrics.show.tables.drift import measures_table as measures_table
    from streammetrics.show.tables.estimates import ESTIMATE as ESTIMATE
    from streammetrics.show.tables.estimates import estimate as estimate
    from streammetrics.show.tables.estimates import metrics_table as metrics_table
    from streammetrics.show.tables.estimates import only_threshold as only_threshold
    from streammetrics.show.tables.estimates import report_tables as report_tables
    from streammetrics.show.tables.estimates import with_notes as with_notes
    from streammetrics.show.tables.findings import as_frame as as_frame
    from streammetrics.show.tables.findings import findings_table as findings_table
    from streammetrics.show.tables.findings import outcomes_of_findings as outcomes_of_findings
    from streammetrics.show.tables.github import add_to_summary as add_to_summary
    from streammetrics.show.tables.github import commands as commands
    from streammetrics.show.tables.github import inert as inert
    from streammetrics.show.tables.html import filtered as filtered
    from streammetrics.show.tables.junit import junit as junit
    from streammetrics.show.tables.markdown import as_markdown as as_markdown
    from streammetrics.show.tables.page import Section as Section
    from streammetrics.show.tables.page import lead as lead
    from streammetrics.show.tables.page import page_of as page_of
    from streammetrics.show.tables.slices import slices_table as slices_table
    from streammetrics.show.tables.table import Cell as Cell
    from streammetrics.show.tables.table import Column as Column
    from streammetrics.show.tables.table import Level as Level
    from streammetrics.show.tables.table import Outcome as Outcome
    from streammetrics.show.tables.table import Table as Table
    from streammetrics.show.tables.table import columns as columns
    from streammetrics.show.tables.table import of_frame as of_frame
    from streammetrics.show.tables.terminal import PIPED as PIPED
    from streammetrics.show.tables.terminal import as_text as as_text
    from streammetrics.show.tables.terminal import terminal_width as terminal_width
    from streammetrics.show.tables.thresholds import thresholds_table as thresholds_table
    from streammetrics.show.tables.verdicts import OPEN as OPEN
    from streammetrics.show.tables.verdicts import counts as counts
    from streammetrics.show.tables.verdicts import every_verdict as every_verdict
    from streammetrics.show.tables.verdicts import outcomes as outcomes
    from streammetrics.show.tables.verdicts import verdicts_table as verdicts_table
else:
    __getattr__ = late_names(__name__, __file__)
