"""Joins scores with labels that arrive at another time, and adds the joined rows to a history."""
