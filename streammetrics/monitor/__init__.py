"""Histories, rules, alarms, late labels, and estimates before labels."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.monitor.before_labels.expectation import assumptions, expectation_tables
    from streammetrics.monitor.history.checks import now, report_breaches
    from streammetrics.monitor.history.store import MetricStore, require_store
    from streammetrics.monitor.history.window import clock, time_of
else:
    __getattr__ = late_names(__name__, __file__)
