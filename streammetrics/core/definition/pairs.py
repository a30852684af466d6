"""Kernels for pairs of models on the same rows, in numpy: joint keys of both scores, and differences of losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import CLIP, Codes, Counts, Floats, Labels, Runs, add_each, blocks
from streammetrics.core.lattice import Keys, Lattice

SIDE = 31  # bits of each score in a joint key
DROPPED = 32  # lowest bits of the key of a score, which are dropped: six digits remain
SPREAD = tuple(
    (np.int64(step), np.int64(mask))
    for step, mask in (
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    )
)
OUTCOMES = 8  # combinations of both decisions and the label


def interleave(one: Floats, other: Floats, lattice: Lattice, out: Keys) -> None:
    """Write a joint key for each pair of values, with interleaved bits (Morton 1966); 20 ns.

    Pairs whose keys have the same prefix lie in one rectangle of the plane, so bins of keys are cells of the plane.
    """
    for block in blocks(len(one)):
        own = out[block]
        own[:] = _spread(_prefixes(one[block], lattice))
        own <<= 1
        own |= _spread(_prefixes(other[block], lattice))


def sides(keys: Keys) -> tuple[Keys, Keys]:
    """Split joint keys into the bits of each value."""
    return _gathered(keys >> 1), _gathered(keys)


def count_pairs(
    label: Labels, one: NDArray[np.bool_], other: NDArray[np.bool_], weight: Floats | None, runs: Runs, out: Counts
) -> None:
    """Count rows by both decisions and the label: ``out`` is (groups, 8); 4 ns."""
    for block, group in runs.blocks():
        cells = one[block].view(np.uint8) << 2
        cells |= other[block].view(np.uint8) << 1
        cells |= label[block]
        own = None if weight is None else weight[block]
        if isinstance(group, int):
            out[group] += np.bincount(cells, own, minlength=OUTCOMES).astype(out.dtype)
        elif len(out) < len(cells):
            sums = np.bincount(group * OUTCOMES + cells, own, minlength=out.size)
            out += sums.reshape(out.shape).astype(out.dtype)
        else:
            np.add.at(out, (group, cells), 1 if own is None else own)


def sum_loss_differences(
    label: Labels, one: Floats, other: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Sum weight and squared differences of log and Brier losses by label: ``out`` is (groups, 2, 3); 14 ns."""
    for block, group in runs.blocks():
        own, values = label[block], np.empty((3, block.stop - block.start))
        rest = 1.0 - own
        a, b = one[block], other[block]
        values[0] = 1.0 if weight is None else weight[block]
        ratio = np.abs((_clipped(a) - rest) / (_clipped(b) - rest))
        np.square(np.log(ratio), out=values[1])
        np.square((b - a) * (a + b - 2.0 * own), out=values[2])
        if weight is not None:
            values[1:] *= values[0]
        if isinstance(group, int):
            out[group] += np.stack([rest, own]) @ values.T
        else:
            add_each(out, group * 2 + own, values)


def sum_class_loss_differences(
    truth: Codes,
    one: Sequence[Floats],
    other: Sequence[Floats],
    weight: Floats | None,
    runs: Runs,
    out: Floats,
) -> None:
    """Sum weight and squared differences of log and Brier losses by class: ``out`` is (groups, classes, 3)."""
    for block, group in runs.blocks():
        true = truth[block]
        a, b, brier = np.zeros((3, len(true)))
        for i, (p, q) in enumerate(zip(one, other, strict=True)):
            hit, p, q = true == i, p[block], q[block]
            np.copyto(a, p, where=hit)
            np.copyto(b, q, where=hit)
            brier += (q - p) * (p + q - 2.0 * hit)
        values = np.ones((3, len(true))) if weight is None else np.repeat(weight[np.newaxis, block], 3, axis=0)
        values[1] *= np.square(np.log(_clipped(a) / _clipped(b)))
        values[2] *= np.square(brier)
        add_each(out, group * len(one) + true, values)


def sum_error_differences(
    actual: Floats, one: Floats, other: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Sum weight and squared differences of losses: ``out`` is (groups, 5); 10 ns.

    The losses are the error, the absolute error, the squared error, and the absolute percentage error.
    """
    for block, group in runs.blocks():
        y, values = actual[block], np.empty((5, block.stop - block.start))
        with np.errstate(all="ignore"):
            a, b = one[block] - y, other[block] - y
            values[0] = 1.0 if weight is None else weight[block]
            absolute = np.abs(b) - np.abs(a)
            np.square(b - a, out=values[1])
            np.square(absolute, out=values[2])
            np.square((b - a) * (a + b), out=values[3])
            np.square(absolute / y, out=values[4])
            if weight is not None:
                values[1:] *= values[0]
            if isinstance(group, int):
                out[group] += values.sum(axis=1)
            else:
                add_each(out, group, values)


def _clipped(score: Floats) -> Floats:
    return np.minimum(np.maximum(score, CLIP), 1.0 - CLIP)


def _prefixes(values: Floats, lattice: Lattice) -> Keys:
    """The highest bits of the keys of values, as integers from 0."""
    keys = lattice.keys(values)
    keys >>= DROPPED
    if lattice.domain == "real":  # keys have a sign bit, so the last bit is dropped
        keys += 1 << SIDE
        keys >>= 1
    return keys


def _spread(bits: Keys) -> Keys:
    """Insert a 0 before each bit of integers, in place."""
    for step, mask in SPREAD:
        bits |= bits << step
        bits &= mask
    return bits


def _gathered(keys: Keys) -> Keys:
    """Extract every other bit."""
    bits = keys & SPREAD[-1][1]
    for (step, _), (_, mask) in zip(SPREAD[::-1], [*SPREAD[-2::-1], (0, np.int64(0xFFFF_FFFF))], strict=True):
        bits |= bits >> step
        bits &= mask
    return bits
