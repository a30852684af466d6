"""What rows are counted in: sums of cells that all groups have, bins of each group, and small tables added up."""

from streammetrics.counting.bins import Bins
from streammetrics.counting.counter import Counter
from streammetrics.counting.squares import WithSquares
from streammetrics.counting.sums import Sums
from streammetrics.counting.tables import Tables

__all__ = ["Bins", "Counter", "Sums", "Tables", "WithSquares"]
