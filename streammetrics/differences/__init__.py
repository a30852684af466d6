"""Comparison of two evaluations, drift, and distances between distributions."""
