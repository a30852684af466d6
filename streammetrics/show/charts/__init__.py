"""Charts of reports: each function takes a report, or several as `Together`, and returns Vega-Lite as a dictionary.

`Report.plot` makes charts of Altair of them, and `as_svg` draws them for a page.
"""

from streammetrics.show.charts.error_curves import error_cdf, errors, rec
from streammetrics.show.charts.forest import forest, limits
from streammetrics.show.charts.groups import MOST_GROUPS, caterpillar, segments
from streammetrics.show.charts.marks import is_empty, values
from streammetrics.show.charts.matrix import confusion, confusion_in_words
from streammetrics.show.charts.ranking import det, gain, lift, pr, roc, scores
from streammetrics.show.charts.rates import rates, stated
from streammetrics.show.charts.reliability import calibration, quantile_calibration
from streammetrics.show.charts.series import Together
from streammetrics.show.charts.svg import as_svg, description_of, page_spec, scripts
from streammetrics.show.charts.thresholds import thresholds
from streammetrics.show.charts.windows import each_over_time, over_time, window_of
