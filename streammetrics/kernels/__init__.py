"""The loops over rows. The implementation is chosen here, and nowhere else."""

from streammetrics.kernels.numpy import (
    CLIP,
    count_cells,
    count_outcomes,
    lattice_keys,
    pack_cells,
    sum_calibration,
    sum_losses,
)

__all__ = [
    "CLIP",
    "count_cells",
    "count_outcomes",
    "lattice_keys",
    "pack_cells",
    "sum_calibration",
    "sum_losses",
]
