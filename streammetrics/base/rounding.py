"""Rounding errors of floats, and comparison of a number with a level, such as a recall with 0.8, up to them.

Three of ten rows are a share of 0.3, but float64 can give 0.30000000000000004, and a sum of weights depends on the
order of its terms. A number within a relative distance of 1e-12 of a level therefore counts as equal to it. A share of
up to 10**10 rows that truly differs from a level with two decimals is farther away.
"""

from __future__ import annotations

from typing import Any

ROUNDING = 1e-12  # of a level, or of the sum of all weights
SUM_ROUNDING = 1e-9  # of sums in any order; many times the actual one


def at_most(value: Any, level: Any) -> Any:
    """Whether a number, or each value of an expression, is at most the level.

    >>> at_most(0.1 + 0.2, 0.3), at_most(0.3000001, 0.3)
    (True, False)
    """
    return (value <= level) | (value <= level + ROUNDING * abs(level))


def at_least(value: Any, level: Any) -> Any:
    """Whether a number, or each value of an expression, is at least the level.

    >>> at_least(1 - 0.7, 0.3), at_least(0.2999999, 0.3)
    (True, False)
    """
    return (value >= level) | (value >= level - ROUNDING * abs(level))


def below(value: Any, level: Any) -> Any:
    """Whether a number, or each value of an expression, is less than the level.

    >>> below(1 - 0.7, 0.3), below(0.2999999, 0.3)
    (False, True)
    """
    return (value < level) & (value < level - ROUNDING * abs(level))


def above(value: Any, level: Any) -> Any:
    """Whether a number, or each value of an expression, is more than the level.

    >>> above(0.1 + 0.2, 0.3), above(0.3000001, 0.3)
    (False, True)
    """
    return (value > level) & (value > level + ROUNDING * abs(level))
