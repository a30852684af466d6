"""Reports as HTML: a self-contained page, and tables for notebooks."""

from streammetrics.html.comparison import comparison_page
from streammetrics.html.drift import drift_page
from streammetrics.html.notebook import accumulator_html, in_notebook, latest, report_html
from streammetrics.html.page import page

__all__ = ["accumulator_html", "comparison_page", "drift_page", "in_notebook", "latest", "page", "report_html"]
