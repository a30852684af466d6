"""From a state to estimates with bounds and intervals, curves, distributions, and segments."""
