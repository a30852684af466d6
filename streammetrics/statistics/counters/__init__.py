"""Counters of rows by group: sums in fixed cells, histogram bins, and small merged tables."""
