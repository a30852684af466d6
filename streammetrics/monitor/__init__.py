"""Histories, rules, alarms, late labels, and estimates before labels."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.monitor.before_labels.expectation import assumptions as assumptions
    from streammetrics.monitor.before_labels.expectation import expectation_tables as expectation_tables
    from streammetrics.monitor.history.checks import tell as tell
    from streammetrics.monitor.history.ruled import now as now
    from streammetrics.monitor.history.store import MetricStore as MetricStore
    from streammetrics.monitor.history.store import history_of as history_of
    from streammetrics.monitor.history.windows import clock as clock
    from streammetrics.monitor.history.windows import time_of as time_of
else:
    __getattr__ = late_names(__name__, __file__)
