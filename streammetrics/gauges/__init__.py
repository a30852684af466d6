"""Reports as gauges of monitoring systems: `samples.py` has their names, labels, and values."""
