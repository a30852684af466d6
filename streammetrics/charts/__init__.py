"""Charts of reports, described as data and drawn by Vega-Lite.

Each function takes a report, or several as `Together`, and returns a `Picture`. `as_altair` converts it to a chart;
`Report.plot` does both.
"""

from streammetrics.charts.error_curves import error_cdf, errors, rec
from streammetrics.charts.forest import forest, limits
from streammetrics.charts.groups import caterpillar, segments
from streammetrics.charts.matrix import confusion
from streammetrics.charts.picture import Axis, Layer, Picture
from streammetrics.charts.plot import ComparisonPlot, Plot, VerdictsPlot
from streammetrics.charts.ranking import det, gain, lift, pr, roc, scores
from streammetrics.charts.reliability import calibration, quantile_calibration
from streammetrics.charts.svg import as_svg, described, for_page, scripts
from streammetrics.charts.thresholds import thresholds
from streammetrics.charts.together import Together
from streammetrics.charts.vega import as_altair
from streammetrics.charts.windows import each_over_time, over_time, window_of

__all__ = [
    "Axis",
    "ComparisonPlot",
    "Layer",
    "Picture",
    "Plot",
    "Together",
    "VerdictsPlot",
    "as_altair",
    "as_svg",
    "calibration",
    "caterpillar",
    "confusion",
    "described",
    "det",
    "each_over_time",
    "error_cdf",
    "errors",
    "for_page",
    "forest",
    "gain",
    "lift",
    "limits",
    "over_time",
    "pr",
    "quantile_calibration",
    "rec",
    "roc",
    "scores",
    "scripts",
    "segments",
    "thresholds",
    "window_of",
]
