"""Rows in the order of their groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Codes, Runs

SHORT = 6  # minimum average rows of a run; with shorter runs, sorting costs more than it saves


def arrange(
    codes: Codes, groups: int, columns: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]] | None, Codes, Codes]:
    """Sort the rows of columns by group, and return the columns, and the starts and groups of the `Runs`.

    The columns are None if rows stay in their order: if they already form long runs, or, with each row as its own run,
    if there are so many groups that sorted runs would be short. Columns are Boolean, or have values of 1 or 8 bytes.

    >>> columns, *runs = arrange(np.array([1, 0] * 6), 2, [np.arange(12)])
    >>> columns[0].tolist(), Runs(*runs).starts.tolist()
    ([1, 3, 5, 7, 9, 11, 0, 2, 4, 6, 8, 10], [0, 6, 12])
    """
    rows, runs = len(codes), Runs.of(codes)
    if groups <= 1 or len(runs.groups) * SHORT <= rows:
        return None, *runs
    if groups * SHORT > rows:
        return None, np.arange(rows + 1), codes
    order = np.argsort(codes, kind="stable")
    return [column[order] for column in columns], *Runs.of(codes[order])
