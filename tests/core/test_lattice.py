"""Keys keep the order of floats, bins hold what they say, and no bin spans an atom."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streammetrics.core.lattice import MAX_SHIFT, Lattice, bit_length, limit_shifts, merge_levels, shortest_decimal

PROBABILITY, REAL = Lattice("probability"), Lattice("real")
ATOMS = (0.05, 0.3, 1 - 2**-53)
LATTICES = [PROBABILITY, REAL, Lattice("probability", ATOMS), Lattice("real", (-1.0, 5e-324, 1e308))]
TINY, HUGE = 5e-324, 1.7976931348623157e308
POWERS = [2.0**e for e in (-1074, -1073, -1023, -1022, -1021, -54, -53, -52, -2, -1)]
SPECIAL = sorted(
    {0.0, 1.0, 0.3, 1 - 2**-52, 1 - 2**-53, *ATOMS}
    | {x for p in POWERS for x in (p, math.nextafter(p, 0), math.nextafter(p, 1), 1 - p)}
)
SPECIAL_REAL = sorted(
    {*SPECIAL, *(-x for x in SPECIAL if x), math.inf, -math.inf, HUGE, -HUGE}
    | {s * math.nextafter(2.0**e, d) for e in (1, 52, 53, 1023) for d in (0, math.inf) for s in (-1, 1)}
)
probabilities = st.sampled_from(SPECIAL) | st.floats(0, 1) | st.floats(0, 1).map(lambda p: 1 - p)
reals = st.sampled_from(SPECIAL_REAL) | st.floats(allow_nan=False)


def values_of(lattice):
    return st.lists(probabilities if lattice.domain == "probability" else reals, min_size=1, max_size=40)


def specials(lattice):
    return np.array(SPECIAL if lattice.domain == "probability" else SPECIAL_REAL)


def bins_of(lattice, values, shift):
    """Bin and shift of each value when a shift is asked for."""
    keys = lattice.keys(np.asarray(values, dtype=np.float64))
    shifts = limit_shifts(keys, np.full(len(keys), shift), lattice.atom_keys)
    return keys >> shifts, shifts


@settings(max_examples=40)
@given(data=st.data(), lattice=st.sampled_from(LATTICES))
def test_keys_have_the_order_of_values_and_give_them_back(lattice, data):
    """There is one zero, without a sign."""
    values = np.array(data.draw(values_of(lattice)))
    keys = lattice.keys(values)
    for compare in (np.less, np.equal):
        assert np.array_equal(compare.outer(keys, keys), compare.outer(values, values))
    assert np.array_equal(lattice.values(keys), values)
    values = specials(lattice)
    assert (np.diff(values) > 0).all()
    assert (np.diff(lattice.keys(values)) > 0).all()
    assert np.array_equal(lattice.values(lattice.keys(values)), values)
    assert lattice.keys(np.array([-0.0, 0.0])).tolist() == [0, 0]


def test_folding_is_exact_up_to_one():
    """Above one half the key is the mirror image of that of 1 - p, which is exact."""
    steps = np.concatenate([np.arange(1, 5000), 2 ** np.arange(13, 52), 2 ** np.arange(13, 52) - 1])
    p = 1 - steps * 2.0**-53
    mirrored = PROBABILITY.keys(steps * 2.0**-53)
    assert np.array_equal(PROBABILITY.keys(p), PROBABILITY.keys(np.array([1.0])) - mirrored)
    assert np.array_equal(PROBABILITY.values(PROBABILITY.keys(p)), p)
    assert len(np.unique(PROBABILITY.keys(p))) == len(np.unique(p))


def test_real_keys_are_the_bits():
    for value in SPECIAL_REAL:
        bits = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
        key = int(REAL.keys(np.array([value]))[0])
        assert key == bits if value >= 0 else key == -bits - 1


@settings(max_examples=40)
@given(data=st.data(), lattice=st.sampled_from(LATTICES), shift=st.integers(0, MAX_SHIFT))
def test_a_bin_reaches_from_its_lowest_to_its_highest_float(lattice, data, shift):
    values = np.array(data.draw(values_of(lattice)))
    bins, shifts = bins_of(lattice, values, shift)
    low, high = lattice.lowest(bins, shifts), lattice.highest(bins, shifts)
    assert (low <= values).all()
    assert (values <= high).all()
    for edge, outside in ((low, -np.inf), (high, np.inf)):
        assert np.array_equal(lattice.keys(edge) >> shifts, bins)
        with np.errstate(over="ignore"):
            beyond = np.nextafter(edge, outside)
        if lattice.domain == "probability":
            beyond = beyond.clip(0, 1)
        assert ((lattice.keys(beyond) >> shifts != bins) | (beyond == edge)).all()
    for threshold, start in zip(low, bins << shifts, strict=True):
        assert np.array_equal(values >= threshold, (bins << shifts) >= start)


@settings(max_examples=40)
@given(data=st.data(), lattice=st.sampled_from(LATTICES))
def test_number_of_bins_follows_from_merge_levels(lattice, data):
    values = np.unique(data.draw(values_of(lattice)))
    levels = merge_levels(lattice.keys(values), lattice.atom_keys)
    for shift in range(MAX_SHIFT + 1):
        bins, shifts = bins_of(lattice, values, shift)
        count = len(set(zip(bins.tolist(), shifts.tolist(), strict=True)))
        assert count == 1 + (levels > shift).sum()


@settings(max_examples=40)
@given(data=st.data(), lattice=st.sampled_from(LATTICES), shift=st.integers(0, MAX_SHIFT))
def test_no_bin_spans_an_atom(lattice, data, shift):
    ends = [0.0, 1.0] if lattice.domain == "probability" else [-math.inf, 0.0, math.inf]
    atoms = np.array([*lattice.atoms, *ends])
    near = [math.nextafter(a, d) for a in atoms for d in (0.0, 0.5, 1.0)]
    values = np.array([*atoms, *near, *data.draw(values_of(lattice))])
    bins, shifts = bins_of(lattice, values, shift)
    assert (shifts[: len(atoms)] == 0).all()
    low, high = lattice.lowest(bins, shifts), lattice.highest(bins, shifts)
    spanned = (low[:, None] <= atoms) & (atoms <= high[:, None])
    assert not spanned[~np.isin(values, atoms)].any()
    assert lattice.holds(bins, shifts).all()


@pytest.mark.whole
@pytest.mark.parametrize("lattice", LATTICES)
def test_bins_are_as_wide_as_atoms_allow(lattice):
    """One shift more and the bin would hold an atom."""
    values = specials(lattice)
    _, shifts = bins_of(lattice, values, MAX_SHIFT)
    keys = lattice.keys(values)
    assert not lattice.holds(keys >> (shifts + 1), shifts + 1).any()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("bin", "shift"), [(-1, 0), (0, 1), (0, 62), (2**63 - 1, 0), (1, 63), (3, 62), (5, 64), (5, 200), (-1, 62)]
)
def test_bins_off_the_line_are_told(bin, shift):
    assert not PROBABILITY.holds(np.array([bin]), np.array([shift], dtype=np.uint8)).any()


@given(
    st.integers(-(2**63), 2**63 - 1) | st.integers(0, 62).flatmap(lambda e: st.sampled_from([2**e - 1, 2**e, 2**e + 1]))
)
def test_bit_length(key):
    assert bit_length(np.array([key])).tolist() == [(key % 2**64).bit_length()]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("low", "high", "text"), [(0.049998, 0.050003, "0.05"), (0.3, 0.3, "0.3"), (-HUGE, HUGE, "0"), (1.0, 1.0, "1")]
)
def test_shortest_decimal(low, high, text):
    assert shortest_decimal(low, high) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_shortest_decimal_of_one_value_is_that_value(value):
    assert float(shortest_decimal(value, value)) == value
