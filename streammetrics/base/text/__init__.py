"""Numbers, values, and names as text."""

from streammetrics.base.text.cells import (
    FEW,
    LONGEST,
    capitalized,
    cell,
    did_you_mean,
    few,
    named,
    near,
    near_paths,
    rows,
    shown_of,
    uncut,
)
from streammetrics.base.text.values import LONGEST_CELL, shortened
