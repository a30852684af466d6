"""Reports as HTML: a self-contained page, and tables for notebooks."""

from streammetrics.show.pages.comparison import comparison_page
from streammetrics.show.pages.drift import drift_page
from streammetrics.show.pages.notebook import accumulator_html, in_notebook, latest, report_html
from streammetrics.show.pages.page import page
