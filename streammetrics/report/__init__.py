"""Reports: estimates, frames, curves, and the comparison of two reports."""
