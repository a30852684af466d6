"""Counters of rows by group: sums in fixed cells, histogram bins, and small merged tables."""

from streammetrics.counting.bins import Bins
from streammetrics.counting.counter import Counter
from streammetrics.counting.squares import WithSquares
from streammetrics.counting.sums import Sums
from streammetrics.counting.tables import Tables

__all__ = ["Bins", "Counter", "Sums", "Tables", "WithSquares"]
