"""Numbers, values, and names as text."""

from streammetrics.text.cells import FEW, LONGEST, UNSAFE, cell, escaped, few, named, noted, rows, shortened, shown_of
from streammetrics.text.near import did_you_mean, near, near_paths

__all__ = [
    "FEW",
    "LONGEST",
    "UNSAFE",
    "cell",
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
]
