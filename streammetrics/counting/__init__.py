"""Counters of rows: sums of cells that all groups share, bins of each group, and small merged tables."""

from streammetrics.counting.bins import Bins
from streammetrics.counting.counter import Counter
from streammetrics.counting.squares import WithSquares
from streammetrics.counting.sums import Sums
from streammetrics.counting.tables import Tables

__all__ = ["Bins", "Counter", "Sums", "Tables", "WithSquares"]
