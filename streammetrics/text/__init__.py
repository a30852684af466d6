"""Numbers, values, and names as text."""

from streammetrics.text.cells import FEW, LONGEST, UNSAFE, cell, escaped, few, named, noted, rows, shown_of, uncut
from streammetrics.text.lengths import LONGEST_CELL, LONGEST_SENTENCE, cut, shortened
from streammetrics.text.near import did_you_mean, near, near_paths

__all__ = [
    "FEW",
    "LONGEST",
    "LONGEST_CELL",
    "LONGEST_SENTENCE",
    "UNSAFE",
    "cell",
    "cut",
    "did_you_mean",
    "escaped",
    "few",
    "named",
    "near",
    "near_paths",
    "noted",
    "rows",
    "shortened",
    "shown_of",
    "uncut",
]
