"""The loops over rows, each written twice: in numpy, which defines it, and compiled, which is faster on many rows.

Which of the two runs is decided here, and nowhere else.
"""

from streammetrics.kernels import classes, errors, hash_tables, pairs
from streammetrics.kernels import numpy as definition
from streammetrics.kernels.choice import fastest
from streammetrics.kernels.numpy import CLIP, NOTHING, Codes, Counts, Extent, Floats, Runs

add_runs = definition.add_runs  # the library does it as fast as a loop
arrange = fastest(definition.arrange)
count_bins = fastest(hash_tables.count_bins)
count_outcomes = fastest(definition.count_outcomes)
count_pairs = fastest(pairs.count_pairs)
count_ranks = fastest(classes.count_ranks)
extent = fastest(definition.extent)
interleave = fastest(pairs.interleave)
likeliest = fastest(classes.likeliest)
number = fastest(definition.number)
place_bins = fastest(hash_tables.place_bins)
row_sums = classes.row_sums  # sorting takes most of it, which is compiled already
sum_calibration = fastest(definition.sum_calibration)
sum_class_losses = fastest(classes.sum_class_losses)
sum_error_differences = fastest(pairs.sum_error_differences)
sum_errors = fastest(errors.sum_errors)
sum_loss_differences = fastest(pairs.sum_loss_differences)
sum_losses = fastest(definition.sum_losses)

__all__ = [
    "CLIP",
    "NOTHING",
    "Codes",
    "Counts",
    "Extent",
    "Floats",
    "Runs",
    "add_runs",
    "arrange",
    "count_bins",
    "count_outcomes",
    "count_pairs",
    "count_ranks",
    "extent",
    "interleave",
    "likeliest",
    "number",
    "place_bins",
    "row_sums",
    "sum_calibration",
    "sum_class_losses",
    "sum_error_differences",
    "sum_errors",
    "sum_loss_differences",
    "sum_losses",
]
