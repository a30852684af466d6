"""Slices of the rows in which a metric is worse than in the other rows."""

SLICE = "slice"  # column
