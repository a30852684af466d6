"""The lattice: float64 values as ordered integers, and bins as dyadic intervals of those integers.

A *key* is an int64 whose order is the order of the values. A *bin* at *shift* s is the interval of the ``2**s`` keys k
with ``k >> s == bin``; at shift 0 it is a single value. Bins of all shifts nest, so two histograms can always be
brought to a common resolution, and (shift, bin) says everything about a bin.

Zero, both infinities (in the probability domain 0 and 1) and declared atoms keep shift 0, and no bin spans one of them:
around an atom bins are split down to it, each as wide as its distance to the atom allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Domain: TypeAlias = Literal["probability", "real"]
Keys: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]

MAX_SHIFT = 63
MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
ONE_HALF = np.int64(np.float64(0.5).view(np.int64))
ONE = 2 * ONE_HALF


@dataclass(frozen=True)
class Lattice:
    """Bins on the line of float64 values.

    Args:
        domain: ``"real"`` for any value but NaN; ``"probability"`` for values in [0, 1], with the line folded at one
            half so that it is as fine near 1 as near 0.
        atoms: Values that always keep a bin of their own.
    """

    domain: Domain
    atoms: tuple[float, ...] = ()

    def keys(self, values: Values) -> Keys:
        """Ordered integers of values.

        >>> Lattice("real").keys(np.array([-1.0, -0.0, 0.0, 5e-324]))
        array([-4607182418800017409,                    0,                    0,
                                 1])
        """
        if self.domain == "real":
            bits = (values + 0.0).view(np.int64)  # adding 0.0 makes -0.0 the one zero
            return bits ^ ((bits >> 63) & MAGNITUDE)
        # 1 - p is exact above one half, and the smaller of the two is what has fine bits.
        lower = np.minimum(values, 1.0 - values)
        lower += 0.0
        bits = lower.view(np.int64)
        upper = (0.5 - values).view(np.int64) >> 63  # all bits set above one half, else none
        bits += upper
        bits ^= upper
        bits += upper & ONE  # ~(bits - 1) + ONE == ONE - bits
        return bits

    def values(self, keys: Keys) -> Values:
        """Values of keys that stand for a float64.

        >>> lattice = Lattice("probability")
        >>> lattice.values(lattice.keys(np.array([0.0, 0.3, 1 - 2**-53, 1.0])))
        array([0. , 0.3, 1. , 1. ])
        """
        if self.domain == "real":
            values: Values = (keys ^ ((keys >> 63) & MAGNITUDE)).view(np.float64)
            return values
        lower: Values = np.minimum(keys, ONE - keys).view(np.float64)
        return np.where(keys > ONE_HALF, 1.0 - lower, lower)

    def lowest(self, bins: Keys, shifts: NDArray[np.integer]) -> Values:
        """Smallest float64 in each bin.

        Above one half not every key is a float64, so the rounded value may fall out of the bin by one.
        """
        edge = np.maximum(bins << shifts, self._first)
        values = self.values(edge)
        outside = self.keys(values) < edge
        values[outside] = np.nextafter(values[outside], np.inf)
        return values

    def highest(self, bins: Keys, shifts: NDArray[np.integer]) -> Values:
        """Largest float64 in each bin."""
        edge = np.minimum(((bins + 1) << shifts) - 1, self._last)
        values = self.values(edge)
        outside = self.keys(values) > edge
        values[outside] = np.nextafter(values[outside], -np.inf)
        return values

    def holds(self, bins: Keys, shifts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each is a bin of this lattice: on the line, and spanning no atom."""
        in_range = shifts <= MAX_SHIFT
        shifts = np.where(in_range, shifts, 0).astype(np.int64)
        low, high = bins << shifts, ((bins + 1) << shifts) - 1
        on_line = (low >> shifts == bins) & (low <= self._last) & (high >= self._first)
        found: NDArray[np.bool_] = in_range & on_line & ~self.span_atoms(bins, shifts)
        return found

    def span_atoms(self, bins: Keys, shifts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each bin holds an atom and other values.

        >>> Lattice("probability").span_atoms(np.array([0, 0, 1]), np.array([0, 40, 40]))
        array([False,  True, False])
        """
        spanning = np.zeros(len(bins), dtype=np.bool_)
        for key in self.atom_keys:
            spanning |= bins == key >> shifts
        return spanning & (shifts > 0)

    def limit_shifts(self, keys: Keys, shifts: NDArray[np.integer]) -> NDArray[np.int64]:
        """The shifts at which keys are binned when ``shifts`` are asked for: less if a bin would span an atom.

        >>> lattice = Lattice("probability")
        >>> lattice.limit_shifts(np.array([0, 5, 2**60]), np.array([40]))
        array([ 0,  2, 40])
        """
        limited = np.array(np.broadcast_to(shifts, keys.shape), dtype=np.int64)
        near = np.flatnonzero(self.span_atoms(keys >> limited, limited))
        limited[near] = np.minimum(limited[near], np.maximum(self._levels_to_atom(keys[near]) - 1, 0))
        return limited

    def merge_levels(self, keys: Keys) -> NDArray[np.int64]:
        """For neighbours of ascending keys: the lowest shift at which both fall in one bin, 64 if none does."""
        levels = bit_length(keys[1:] ^ keys[:-1])
        shared = np.minimum(levels, MAX_SHIFT)
        levels[self.span_atoms(keys[1:] >> shared, shared)] = 64
        return levels

    def _levels_to_atom(self, keys: Keys) -> NDArray[np.int64]:
        """Lowest shift at which a key shares a bin with an atom, 0 for the atom itself.

        The atom that shares the longest prefix of bits is one of the two neighbours in order.
        """
        after = np.searchsorted(self.atom_keys, keys)
        above = self.atom_keys[np.minimum(after, len(self.atom_keys) - 1)]
        below = self.atom_keys[np.maximum(after - 1, 0)]
        return np.minimum(bit_length(keys ^ above), bit_length(keys ^ below))

    @cached_property
    def atom_keys(self) -> Keys:
        """The keys of all atoms in order, zero and infinities (in the probability domain 0 and 1) among them."""
        ends = (0.0, 1.0) if self.domain == "probability" else (-np.inf, 0.0, np.inf)
        return np.unique(self.keys(np.array([*ends, *self.atoms], dtype=np.float64)))

    @property
    def _first(self) -> int:
        return int(self.atom_keys[0])

    @property
    def _last(self) -> int:
        return int(self.atom_keys[-1])


def bit_length(keys: Keys) -> NDArray[np.int64]:
    """Number of bits up to the highest set one, of int64 read as unsigned.

    >>> bit_length(np.array([0, 1, 255, 2**53 - 1, -1]))
    array([ 0,  1,  8, 53, 64])
    """
    bits = keys.view(np.uint64)
    bits = bits & ~(bits >> np.uint64(1))  # keeps the top bit, and clears the next: no rounding up to a power of two
    return np.frexp(bits.astype(np.float64))[1].astype(np.int64)


def shortest_decimal(low: float, high: float) -> str:
    """The decimal of fewest digits between two values.

    >>> shortest_decimal(0.049998, 0.050003), shortest_decimal(0.3, 0.3)
    ('0.05', '0.3')
    """
    middle = low if low == high else low / 2 + high / 2
    texts = (f"{middle:.{digits}g}" for digits in range(1, 18))
    return next((text for text in texts if low <= float(text) <= high), repr(middle))
