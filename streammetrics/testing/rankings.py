"""Every ranking that a small score histogram may stand for: all orders and ties of the rows inside its bins."""

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
    """A few bins, exact and coarse, that hide some orders but few enough to try them all."""
    random = np.random.default_rng(seed)
    while True:
        shifts = random.choice([0, COARSE], random.integers(1, 5))
        bins = [(shift, *random.integers(0, 4, 2).tolist()) for shift in shifts.tolist()]
        if 1 < prod(len(_rankings_of(*bin)) for bin in bins) <= most:
            return bins


def table_of(bins: list[Bin]) -> pl.DataFrame:
    """The table of a score histogram."""
    return pl.DataFrame(bins, schema={"shift": pl.UInt8, "neg": pl.Float64, "pos": pl.Float64}, orient="row")


def all_rankings(bins: list[Bin]) -> pl.DataFrame:
    """Every ranking that bins may stand for, each an exact table, told apart by ``ranking``.

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
    """Every sequence of ties that so many rows of each class can form, ascending."""
    if neg == pos == 0:
        yield ()
    for tie in product(range(neg + 1), range(pos + 1)):
        if tie != (0, 0):
            yield from ((tie, *rest) for rest in _orders(neg - tie[0], pos - tie[1]))
