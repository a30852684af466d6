"""Loops over rows: from rows, arranged by group, to counts and sums.

Each loop has a definition in numpy, in the folder ``definition``, and a compiled form in C++, in the file of the same
name next to this one. The compiled form is used where it was built. Both return the same numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final, ParamSpec, TypeVar, cast

from streammetrics.core.definition import (
    arranging,
    bins,
    calibration,
    classes,
    errors,
    losses,
    numbering,
    outcomes,
    pairs,
    runs,
    sums,
)
from streammetrics.core.definition.runs import CLIP as CLIP
from streammetrics.core.definition.runs import NOTHING as NOTHING
from streammetrics.core.definition.runs import Codes as Codes
from streammetrics.core.definition.runs import Counts as Counts
from streammetrics.core.definition.runs import Extent as Extent
from streammetrics.core.definition.runs import Floats as Floats
from streammetrics.core.definition.runs import Labels as Labels
from streammetrics.core.definition.runs import Runs as Runs
from streammetrics.core.definition.runs import ranges as ranges

P = ParamSpec("P")
T = TypeVar("T")

DEFINITION = "definition"
CHOICE = "STREAMMETRICS_CORE"  # environment variable that forces one of the forms


def _load() -> ModuleType | None:
    """The compiled loops for this processor, None without any."""
    wanted = os.environ.get(CHOICE, "")
    if wanted == DEFINITION:
        return None
    try:
        baseline = import_module("streammetrics.core._baseline")
        if wanted == "baseline" or not baseline.has_avx2():
            return baseline
        return import_module("streammetrics.core._avx2")
    except ImportError:
        if wanted:
            raise
        return None


compiled: Final = _load()
form: Final = DEFINITION if compiled is None else compiled.__name__.rpartition("._")[2]


def fastest(definition: Callable[P, T]) -> Callable[P, T]:
    """The compiled function of the same name, if there is one, else the definition."""
    return cast(Callable[P, T], getattr(compiled, definition.__name__, definition))


add_runs: Final = fastest(runs.add_runs)
add_sums: Final = fastest(sums.add_sums)
arrange: Final = fastest(arranging.arrange)
count_bins: Final = fastest(bins.count_bins)
count_outcomes: Final = fastest(outcomes.count_outcomes)
count_pairs: Final = fastest(pairs.count_pairs)
count_ranks: Final = fastest(classes.count_ranks)
extent: Final = fastest(numbering.extent)
find_bins: Final = fastest(bins.find_bins)
interleave: Final = fastest(pairs.interleave)
likeliest: Final = fastest(classes.likeliest)
number: Final = fastest(numbering.number)
place_bins: Final = fastest(bins.place_bins)
row_sums: Final = fastest(classes.row_sums)
sum_bins: Final = fastest(bins.sum_bins)
sum_calibration: Final = fastest(calibration.sum_calibration)
sum_class_loss_differences: Final = fastest(pairs.sum_class_loss_differences)
sum_class_losses: Final = fastest(classes.sum_class_losses)
sum_error_differences: Final = fastest(pairs.sum_error_differences)
sum_errors: Final = fastest(errors.sum_errors)
sum_loss_differences: Final = fastest(pairs.sum_loss_differences)
sum_losses: Final = fastest(losses.sum_losses)
take: Final = fastest(arranging.take)
