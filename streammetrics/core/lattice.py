"""The lattice: float64 values as ordered integers, and bins as dyadic intervals of those integers.

A *key* is an int64 whose order is the order of the values. A *bin* at *shift* s is the interval of the ``2**s`` keys k
with ``k >> s == bin``. At shift 0, it is a single value. Bins of all shifts nest, so two histograms can always be
brought to a common resolution, and the pair (shift, bin) identifies a bin.

An *atom* is a value that always has its own bin at shift 0: zero, both infinities (in the probability domain 0 and 1),
and declared atoms. No bin contains an atom and other values, so bins become narrower toward an atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Floats

Domain: TypeAlias = Literal["probability", "real"]
Keys: TypeAlias = NDArray[np.int64]

MAX_SHIFT = 63
MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
ONE_HALF = np.int64(np.float64(0.5).view(np.int64))
ONE = 2 * ONE_HALF


@dataclass(frozen=True)
class Lattice:
    """Bins of float64 values: any except NaN, or probabilities, which are mirrored at 0.5 so that bins are as narrow
    near 1 as near 0.
    """

    domain: Domain
    atoms: tuple[float, ...] = ()

    def keys(self, values: Floats) -> Keys:
        """Ordered integers of values."""
        if self.domain == "real":
            bits = (values + 0.0).view(np.int64)  # adding 0.0 turns -0.0 into 0.0
            return bits ^ ((bits >> 63) & MAGNITUDE)
        # above 0.5, 1 - p is exact and has the finer resolution
        lower = np.minimum(values, 1.0 - values)
        lower += 0.0
        bits = lower.view(np.int64)
        upper = (0.5 - values).view(np.int64) >> 63  # all bits are set above 0.5, else none
        bits += upper
        bits ^= upper
        bits += upper & ONE  # ~(bits - 1) + ONE == ONE - bits
        return bits

    def values(self, keys: Keys) -> Floats:
        """Values of keys that correspond to a float64."""
        if self.domain == "real":
            values: Floats = (keys ^ ((keys >> 63) & MAGNITUDE)).view(np.float64)
            return values
        lower: Floats = np.minimum(keys, ONE - keys).view(np.float64)
        return np.where(keys > ONE_HALF, 1.0 - lower, lower)

    def lowest(self, bins: Keys, shifts: NDArray[np.integer]) -> Floats:
        """Smallest float64 in each bin.

        Above 0.5, not every key corresponds to a float64, so the rounded value can be one float outside of the bin.
        """
        edge = np.maximum(bins << shifts, self.atom_keys[0])
        values = self.values(edge)
        outside = self.keys(values) < edge
        values[outside] = np.nextafter(values[outside], np.inf)
        return values

    def highest(self, bins: Keys, shifts: NDArray[np.integer]) -> Floats:
        """Largest float64 in each bin."""
        edge = np.minimum(((bins + 1) << shifts) - 1, self.atom_keys[-1])
        values = self.values(edge)
        outside = self.keys(values) > edge
        values[outside] = np.nextafter(values[outside], -np.inf)
        return values

    def holds(self, bins: Keys, shifts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each bin is valid: within the domain, and without an atom among other values."""
        in_range = shifts <= MAX_SHIFT
        shifts = np.where(in_range, shifts, 0).astype(np.int64)
        low, high = bins << shifts, ((bins + 1) << shifts) - 1
        on_line = (low >> shifts == bins) & (low <= self.atom_keys[-1]) & (high >= self.atom_keys[0])
        valid: NDArray[np.bool_] = in_range & on_line & ~self.span_atoms(bins, shifts)
        return valid

    def span_atoms(self, bins: Keys, shifts: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each bin contains an atom and other values.

        >>> Lattice("probability").span_atoms(np.array([0, 0, 1]), np.array([0, 40, 40]))
        array([False,  True, False])
        """
        return span_atoms(bins, shifts, self.atom_keys)

    @cached_property
    def atom_keys(self) -> Keys:
        """The keys of all atoms in ascending order, including zero and infinities (or 0 and 1 for probabilities)."""
        ends = (0.0, 1.0) if self.domain == "probability" else (-np.inf, 0.0, np.inf)
        return np.unique(self.keys(np.array([*ends, *self.atoms], dtype=np.float64)))


def span_atoms(bins: Keys, shifts: NDArray[np.integer], atoms: Keys) -> NDArray[np.bool_]:
    """Whether each bin contains the key of an atom and other keys."""
    spanning = np.zeros(len(bins), dtype=np.bool_)
    for key in atoms:
        spanning |= bins == key >> shifts
    return spanning & (shifts > 0)


def limit_shifts(keys: Keys, shifts: NDArray[np.integer], atoms: Keys) -> NDArray[np.int64]:
    """Limit the shifts of keys so that no bin contains an atom and other values."""
    limited = np.array(np.broadcast_to(shifts, keys.shape), dtype=np.int64)
    near = np.flatnonzero(span_atoms(keys >> limited, limited, atoms))
    limited[near] = np.minimum(limited[near], np.maximum(_levels_to_atom(keys[near], atoms) - 1, 0))
    return limited


def merge_levels(keys: Keys, atoms: Keys) -> NDArray[np.int64]:
    """The lowest shift at which neighbors among ascending keys share a bin, 64 if they never do."""
    levels = bit_length(keys[1:] ^ keys[:-1])
    shared = np.minimum(levels, MAX_SHIFT)
    levels[span_atoms(keys[1:] >> shared, shared, atoms)] = 64
    return levels


def _levels_to_atom(keys: Keys, atoms: Keys) -> NDArray[np.int64]:
    """Lowest shift at which a key shares a bin with an atom, 0 for the atom itself.

    The atom with the longest common prefix of bits is one of the two atoms next to the key.
    """
    after = np.searchsorted(atoms, keys)
    above = atoms[np.minimum(after, len(atoms) - 1)]
    below = atoms[np.maximum(after - 1, 0)]
    return np.minimum(bit_length(keys ^ above), bit_length(keys ^ below))


def bit_length(keys: Keys) -> NDArray[np.int64]:
    """Number of bits up to the highest set bit of each integer, read as unsigned."""
    bits = keys.view(np.uint64)
    bits = bits & ~(bits >> np.uint64(1))  # clears a bit, so that the float is not rounded up
    return np.frexp(bits.astype(np.float64))[1].astype(np.int64)


def shortest_decimal(low: float, high: float) -> str:
    """The shortest decimal between two values.

    >>> shortest_decimal(0.049998, 0.050003), shortest_decimal(0.3, 0.3)
    ('0.05', '0.3')
    """
    middle = low if low == high else low / 2 + high / 2
    texts = (f"{middle:.{digits}g}" for digits in range(1, 18))
    return next((text for text in texts if low <= float(text) <= high), repr(middle))
