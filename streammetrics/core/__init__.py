"""Loops over rows: from rows, arranged by group, to counts and sums.

Each loop has a definition in numpy, in the folder ``definition``, and a compiled form in C++, in the file of the same
name next to this one. The compiled form is used where it was built. Both return the same numbers.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, ParamSpec, TypeAlias, TypeVar, cast

from streammetrics.base import late_names
from streammetrics.core.definition import (
    arranging,
    bins,
    calibration,
    classes,
    decimals,
    errors,
    fingerprints,
    losses,
    numbering,
    outcomes,
    pairs,
    runs,
    sums,
)
from streammetrics.core.definition.fingerprints import Hashes, mix
from streammetrics.core.definition.runs import CLIP, NOTHING, Codes, Counts, Extent, Floats, Labels, Runs, ranges

P = ParamSpec("P")
T = TypeVar("T")

DEFINITION = "definition"
FORMS = {"avx2": "compiled for AVX2", "baseline": "compiled", DEFINITION: "numpy"}
CHOICE = "STREAMMETRICS_CORE"  # environment variable that forces one of the forms


def _load() -> tuple[ModuleType | None, str]:
    """The compiled loops for this processor. Without any, None and the reason."""
    choice = os.environ.get(CHOICE, "")
    if choice and choice not in FORMS:
        raise ImportError(f"{CHOICE} must be one of {', '.join(FORMS)}, got {choice!r}.")
    if choice == DEFINITION:
        return None, ""
    try:
        baseline = import_module("streammetrics.core._baseline")
        if choice == "baseline" or not baseline.has_avx2():
            return baseline, ""
        return import_module("streammetrics.core._avx2"), ""
    except ImportError as error:
        if choice:
            raise
        return None, str(error)


_loaded: Final[tuple[ModuleType | None, str]] = _load()
compiled: Final[ModuleType | None] = _loaded[0]
form: Final[str] = DEFINITION if compiled is None else compiled.__name__.rpartition("._")[2]


@cache
def warn_if_slow() -> None:
    """Warn once if rows are counted in numpy, unless the user has chosen that."""
    if compiled is None and not os.environ.get(CHOICE):
        warnings.warn(
            f"streammetrics has no compiled loops in this installation ({_loaded[1]}). "
            "Counting in numpy takes several times as long and gives the same results. To compile the loops, install a "
            "C++ compiler such as g++, then reinstall streammetrics with --no-cache. To hide this warning, set the "
            f"environment variable {CHOICE}={DEFINITION}.",
            RuntimeWarning,
            stacklevel=2,
        )


def fastest(definition: Callable[P, T]) -> Callable[P, T]:
    """The compiled function of the same name, if there is one, else the definition."""
    return cast(Callable[P, T], getattr(compiled, definition.__name__, definition))


if TYPE_CHECKING:
    Bins: TypeAlias = bins.Bins
else:
    Bins = fastest(bins.Bins)

add_fingerprints: Final = fastest(fingerprints.add_fingerprints)
add_runs: Final = fastest(runs.add_runs)
add_sums: Final = fastest(sums.add_sums)
arrange: Final = fastest(arranging.arrange)
as_decimals: Final = fastest(decimals.as_decimals)
count_outcomes: Final = fastest(outcomes.count_outcomes)
count_pairs: Final = fastest(pairs.count_pairs)
count_ranks: Final = fastest(classes.count_ranks)
extent: Final = fastest(numbering.extent)
fit: Final = fastest(bins.fit)
interleave: Final = fastest(pairs.interleave)
is_fitted: Final = fastest(bins.is_fitted)
likeliest: Final = fastest(classes.likeliest)
number_integers: Final = fastest(numbering.number_integers)
number_views: Final = fastest(numbering.number_views)
row_sums: Final = fastest(classes.row_sums)
sum_calibration: Final = fastest(calibration.sum_calibration)
sum_class_loss_differences: Final = fastest(pairs.sum_class_loss_differences)
sum_class_losses: Final = fastest(classes.sum_class_losses)
sum_error_differences: Final = fastest(pairs.sum_error_differences)
sum_errors: Final = fastest(errors.sum_errors)
sum_families: Final = fastest(errors.sum_families)
sum_loss_differences: Final = fastest(pairs.sum_loss_differences)
sum_losses: Final = fastest(losses.sum_losses)
sum_values: Final = fastest(errors.sum_values)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.core.definition.pairs import SIDE, sides
    from streammetrics.core.definition.sums import settled
    from streammetrics.core.lattice import Domain, Lattice, shortest_decimal
    from streammetrics.core.moments import (
        FAMILIES,
        HIGHER,
        MOMENTS,
        POWERS,
        error_m2,
        moved_moment,
        null_deviance,
        two_sum,
    )
    from streammetrics.core.row_moments import row_moments
else:
    __getattr__ = late_names(__name__, __file__)
