"""Rows of two models: joint decisions, joint keys of both scores, and differences of losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.classes import own_scores
from streammetrics.core.definition.runs import Codes, Counts, Floats, Labels, Runs
from streammetrics.core.definition.sums import add_values, clipped, log
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
SIXTEENTH = 1 / 16  # of a difference of log losses, so that sums of its powers are not too large


def interleave(one: Floats, other: Floats, probability: bool, out: Keys) -> None:
    """Write a joint key for each pair of values, with interleaved bits (Morton 1966).

    Pairs whose keys have the same prefix lie in one rectangle of the plane, so bins of keys are cells of the plane.
    """
    out[:] = _spread(_prefixes(one, probability)) << 1 | _spread(_prefixes(other, probability))


def sides(keys: Keys) -> tuple[Keys, Keys]:
    """Split joint keys into the bits of each value."""
    return _gathered(keys >> 1), _gathered(keys)


def count_pairs(
    label: Labels,
    one: Sequence[NDArray[np.bool_]],
    other: Sequence[NDArray[np.bool_]],
    weight: Counts | None,
    runs: Runs,
    out: Counts,
) -> None:
    """Count rows by both decisions and the label, at each threshold: ``out`` is (groups, thresholds, 8)."""
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        np.add.at(out[:, i], (runs.codes(), a * 4 + b * 2 + label), 1 if weight is None else weight)


def sum_loss_differences(
    label: Labels, one: Floats, other: Floats, weight: Counts | None, runs: Runs, out: Counts
) -> None:
    """Sum powers of differences of log and Brier losses by label: ``out`` is (groups, 2, cell)."""
    negative = 1.0 - label
    ratio = np.abs((clipped(one) - negative) / (clipped(other) - negative))
    brier = (other - one) * (one + other - 2.0 * label)
    add_values(out, runs.codes() * 2 + label, [*powers(log(ratio), SIXTEENTH), *powers(brier)], weight)


def sum_class_loss_differences(
    truth: Codes,
    one: Sequence[Floats],
    other: Sequence[Floats],
    weight: Counts | None,
    runs: Runs,
    out: Counts,
) -> None:
    """Sum powers of differences of log and Brier losses by class: ``out`` is (groups, classes, cell)."""
    ratio = clipped(own_scores(truth, one)) / clipped(own_scores(truth, other))
    brier = np.zeros(len(truth))
    for i, (p, q) in enumerate(zip(one, other, strict=True)):
        brier += (q - p) * (p + q - 2.0 * (truth == i))
    add_values(out, runs.codes() * len(one) + truth, [*powers(log(ratio), SIXTEENTH), *powers(brier)], weight)


def sum_error_differences(
    actual: Floats, one: Floats, other: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Sum weight and powers of differences of losses in floats, as losses have no limit: ``out`` is (groups, 13).

    The losses are the error, the absolute error, the squared error, and the absolute percentage error.
    """
    with np.errstate(all="ignore"):
        a, b = one - actual, other - actual
        absolute = np.abs(b) - np.abs(a)
        values = (b - a, absolute, (b - a) * (a + b), absolute / np.abs(actual))
        add_values(out, runs.codes(), [power for value in values for power in powers(value)], weight)


def powers(difference: Floats, share: float = 1.0) -> list[Floats]:
    """The square of a difference, and the cube and the fourth power of a share of it."""
    part = difference * share
    squared = np.square(part)
    return [np.square(difference), squared * part, np.square(squared)]


def _prefixes(values: Floats, probability: bool) -> Keys:
    """The highest bits of the keys of values, as integers from 0."""
    keys = Lattice("probability" if probability else "real").keys(values)
    keys >>= DROPPED
    if not probability:  # keys have a sign bit, so the last bit is dropped
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
