"""Numbers, values, and reports as text for a terminal."""

from streammetrics.text.cells import FEW, LONGEST, UNSAFE, cell, escaped, few, named, rows, shown_of
from streammetrics.text.comparisons import differences, drifts, noted, slices
from streammetrics.text.lines import PIPED, filled, plain, terminal_width
from streammetrics.text.near import did_you_mean, near, near_paths
from streammetrics.text.reports import only_threshold, render
from streammetrics.text.verdicts import findings, on_these_rows, ranges, rule, undecided, verdict

__all__ = [
    "FEW",
    "LONGEST",
    "PIPED",
    "UNSAFE",
    "cell",
    "did_you_mean",
    "differences",
    "drifts",
    "escaped",
    "few",
    "filled",
    "findings",
    "named",
    "near",
    "near_paths",
    "noted",
    "on_these_rows",
    "only_threshold",
    "plain",
    "ranges",
    "render",
    "rows",
    "rule",
    "shown_of",
    "slices",
    "terminal_width",
    "undecided",
    "verdict",
]
