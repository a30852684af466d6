"""The order of rows by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Codes, Order, Runs

SHORT = 6  # minimum average rows of a run; with shorter runs, sorting costs more than it saves


def arrange(codes: Codes, groups: int) -> tuple[Order | None, Codes, Codes]:
    """The order that sorts rows by group, or None to keep the order of rows, and the starts and groups of the `Runs`.

    The order is kept if rows already form long runs. It is also kept, with each row as its own run, if there are so
    many groups that sorted runs would be short.

    >>> arrange(np.array([1, 0] * 6), 2)
    (array([ 1,  3,  5,  7,  9, 11,  0,  2,  4,  6,  8, 10], dtype=int32), array([ 0,  6, 12]), array([0, 1]))
    """
    rows, runs = len(codes), Runs.of(codes)
    if groups <= 1 or len(runs.groups) * SHORT <= rows:
        return None, *runs
    if groups * SHORT > rows:
        return None, np.arange(rows + 1), codes
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return order, *Runs.of(codes[order])


def take(values: NDArray[Any], order: Order) -> NDArray[Any]:
    """The values in the order that `arrange` returned."""
    return values[order]
