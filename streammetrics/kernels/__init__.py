"""Kernels: the loops over rows.

Most kernels have two implementations with the same name: one in numpy, which is the reference, and one compiled by
numba, which is faster for many rows. Only this module decides which of them is used. Docstrings of compiled functions
only state the CPU time per row, class, or cell; those of numpy functions also describe them.
"""

from typing import Final

from streammetrics.kernels import bins, classes, errors, pairs
from streammetrics.kernels import numpy as definition
from streammetrics.kernels.choice import fastest
from streammetrics.kernels.numpy import CLIP as CLIP
from streammetrics.kernels.numpy import NOTHING as NOTHING
from streammetrics.kernels.numpy import Codes as Codes
from streammetrics.kernels.numpy import Counts as Counts
from streammetrics.kernels.numpy import Extent as Extent
from streammetrics.kernels.numpy import Floats as Floats
from streammetrics.kernels.numpy import Labels as Labels
from streammetrics.kernels.numpy import Runs as Runs
from streammetrics.kernels.numpy import ranges as ranges

add_runs: Final = definition.add_runs  # numpy is as fast as a compiled loop
arrange: Final = fastest(definition.arrange)
count_bins: Final = fastest(bins.count_bins)
count_outcomes: Final = fastest(definition.count_outcomes)
count_pairs: Final = fastest(pairs.count_pairs)
count_ranks: Final = fastest(classes.count_ranks)
extent: Final = fastest(definition.extent)
find_bins: Final = fastest(bins.find_bins)
interleave: Final = fastest(pairs.interleave)
likeliest: Final = fastest(classes.likeliest)
number: Final = fastest(definition.number)
place_bins: Final = fastest(bins.place_bins)
row_sums: Final = classes.row_sums  # most of the time is spent in sorting, which numpy has compiled
sum_bins: Final = bins.sum_bins  # numpy is as fast as a compiled loop
sum_calibration: Final = fastest(definition.sum_calibration)
sum_class_loss_differences: Final = pairs.sum_class_loss_differences  # most of the time is spent in logarithms
sum_class_losses: Final = fastest(classes.sum_class_losses)
sum_error_differences: Final = fastest(pairs.sum_error_differences)
sum_errors: Final = fastest(errors.sum_errors)
sum_loss_differences: Final = fastest(pairs.sum_loss_differences)
sum_losses: Final = fastest(definition.sum_losses)
take: Final = fastest(definition.take)
