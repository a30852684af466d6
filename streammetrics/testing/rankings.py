"""All rankings that a small score histogram can represent: all orders and ties of rows within its bins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from math import prod
from typing import TypeAlias

import numpy as np
import polars as pl

Bin: TypeAlias = tuple[int, int, int]  # shift, and numbers of negatives and positives
Ties: TypeAlias = tuple[tuple[int, int], ...]  # negatives and positives of equal scores, ascending
COARSE = 9  # a shift at which bins hide the order of their rows


def random_bins(seed: int, most: int = 400) -> list[Bin]:
    """Return a few bins, exact and coarse, with few enough orders to try all of them."""
    random = np.random.default_rng(seed)
    while True:
        shifts = random.choice([0, COARSE], random.integers(1, 5))
        bins = [(shift, *random.integers(0, 4, 2).tolist()) for shift in shifts.tolist()]
        if 1 < prod(len(_rankings_of(*bin)) for bin in bins) <= most:
            return bins


def table_of(bins: list[Bin]) -> pl.DataFrame:
    """Return the table of a score histogram."""
    return pl.DataFrame(bins, schema={"shift": pl.UInt8, "neg": pl.Float64, "pos": pl.Float64}, orient="row")


def all_rankings(bins: list[Bin]) -> pl.DataFrame:
    """Return all rankings that bins can represent, as exact tables with the column ``ranking``.

    >>> all_rankings([(9, 1, 1)]).rows()
    [(0, 0.0, 1.0), (0, 1.0, 0.0), (1, 1.0, 0.0), (1, 0.0, 1.0), (2, 1.0, 1.0)]
    """
    rows = [
        (number, *tie)
        for number, ranking in enumerate(product(*(_rankings_of(*bin) for bin in bins)))
        for tie in chain.from_iterable(ranking)
    ]
    return pl.DataFrame(rows, schema={"ranking": pl.UInt32, "neg": pl.Float64, "pos": pl.Float64}, orient="row")


def _rankings_of(shift: int, neg: int, pos: int) -> list[Ties]:
    return list(_orders(neg, pos)) if shift else [((neg, pos),)]


def _orders(neg: int, pos: int) -> Iterator[Ties]:
    """All sequences of ties of this many rows of each class, ascending."""
    if neg == pos == 0:
        yield ()
    for tie in product(range(neg + 1), range(pos + 1)):
        if tie != (0, 0):
            yield from ((tie, *rest) for rest in _orders(neg - tie[0], pos - tie[1]))
