"""Reports: estimates, frames, curves, and the comparison of two reports."""

from streammetrics.report.estimate import Estimate
from streammetrics.report.report import Comparison, Report
from streammetrics.system.public import publish

publish("streammetrics", Comparison, Estimate, Report)
