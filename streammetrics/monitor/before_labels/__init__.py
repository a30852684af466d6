"""Estimates of metrics before labels arrive, from scores and from earlier rows with labels."""
