"""Roots by bisection, for limits that have no closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

HALVINGS = 60  # more than a float has digits


def bisected(near: Values, far: Values, within: Callable[[Values], NDArray[np.bool_]]) -> tuple[Values, Values]:
    """Return the last values within a set and the first ones outside of it, on the way from ``near`` to ``far``.

    >>> near, far = bisected(np.array([1.0]), np.array([2.0]), lambda x: x**2 <= 2)
    >>> near.round(6).tolist()
    [1.414214]
    """
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        inside = within(middle)
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return near, far
