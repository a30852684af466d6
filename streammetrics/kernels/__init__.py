"""The loops over rows, each written twice: in numpy, which defines it, and compiled, which is faster on many rows.

Which of the two runs is decided here, and nowhere else.
"""

from streammetrics.kernels import classes, errors
from streammetrics.kernels import numpy as definition
from streammetrics.kernels.choice import fastest
from streammetrics.kernels.numpy import CLIP, NOTHING, Codes, Counts, Extent, Floats

count_bins = fastest(definition.count_bins)
count_outcomes = fastest(definition.count_outcomes)
count_ranks = fastest(classes.count_ranks)
differences = fastest(definition.differences)
extent = fastest(definition.extent)
lattice_keys = fastest(definition.lattice_keys)
likeliest = fastest(classes.likeliest)
nearest = fastest(definition.nearest)
number = fastest(definition.number)
row_sums = classes.row_sums  # sorting takes most of it, which is compiled already
sum_calibration = fastest(definition.sum_calibration)
sum_class_losses = fastest(classes.sum_class_losses)
sum_errors = fastest(errors.sum_errors)
sum_losses = fastest(definition.sum_losses)

__all__ = [
    "CLIP",
    "NOTHING",
    "Codes",
    "Counts",
    "Extent",
    "Floats",
    "count_bins",
    "count_outcomes",
    "count_ranks",
    "differences",
    "extent",
    "lattice_keys",
    "likeliest",
    "nearest",
    "number",
    "row_sums",
    "sum_calibration",
    "sum_class_losses",
    "sum_errors",
    "sum_losses",
]
