"""Numbers of distinct values, in the order of their first rows, and the range of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import NOTHING, Codes, Extent


def extent(values: NDArray[np.number]) -> Extent:
    """The smallest and the largest value, both NaN if any value is NaN: 1 dimension, integers or floats."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


def number_integers(values: NDArray[np.integer]) -> tuple[Codes, Codes]:
    """The number of each value, and the first row of each number.

    >>> number_integers(np.array([7, 3, 7]))
    (array([0, 1, 0]), array([0, 1]))
    """
    return _number(values)


def number_views(parts: Sequence[NDArray[np.int64]]) -> tuple[Codes, Codes]:
    """The number of each value of 16 bytes, given as two integers, and the first row of each number.

    Each part has the shape (rows, 2).

    >>> number_views([np.array([[7, 1], [7, 2]]), np.array([[7, 1]])])
    (array([0, 1, 0]), array([0, 1]))
    """
    return _number(np.concatenate([np.empty((0, 2), np.int64), *parts]).view("i8,i8").reshape(-1))


def _number(values: NDArray[Any]) -> tuple[Codes, Codes]:
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[place], first[order]
