"""Kernels for pairs of models, compiled: the functions of ``pairs.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streammetrics.kernels.compiled import _key, _log, _minus, any_order, exact, fold_of
from streammetrics.kernels.lattice import Keys, Lattice
from streammetrics.kernels.numpy import BLOCK, CLIP, Counts, Floats, Labels, Runs
from streammetrics.kernels.pairs import DROPPED, SIDE, SPREAD


def interleave(one: Floats, other: Floats, lattice: Lattice, out: Keys) -> None:
    """3 ns."""
    _interleave(one, other, fold_of(lattice), out)


def count_pairs(
    label: Labels, one: NDArray[np.bool_], other: NDArray[np.bool_], weight: Floats | None, runs: Runs, out: Counts
) -> None:
    """1 ns."""
    _count_pairs(label, one.view(np.uint8), other.view(np.uint8), weight, runs, out)


@exact
def _spread(bits):
    for step, mask in SPREAD:
        bits = (bits | bits << step) & mask
    return bits


@exact
def _interleave(one, other, fold, out):
    for i in range(len(out)):
        a, b = _key(one[i], fold) >> DROPPED, _key(other[i], fold) >> DROPPED
        if fold is None:
            a, b = (a + (1 << SIDE)) >> 1, (b + (1 << SIDE)) >> 1
        out[i] = _spread(a) << 1 | _spread(b)


@exact
def _count_pairs(label, one, other, weight, runs, out):
    for run in range(len(runs.groups)):
        cells = out[runs.groups[run]]
        for i in range(runs.starts[run], runs.starts[run + 1]):
            cells[one[i] << 2 | other[i] << 1 | label[i]] += 1 if weight is None else weight[i]


@exact
def sum_loss_differences(
    label: Labels, one: Floats, other: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """2 ns."""
    for run in range(len(runs.groups)):
        cells, last = out[runs.groups[run]], runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):  # short blocks, so that sums lose few digits
            rows = slice(start, min(start + BLOCK, last))
            _add_loss_differences(label[rows], one[rows], other[rows], None if weight is None else weight[rows], cells)


@any_order
def _add_loss_differences(label, one, other, weight, out):
    a0 = a1 = b0 = b1 = c0 = c1 = 0.0
    for i in range(len(label)):
        a, b, y = one[i], other[i], np.float64(label[i])
        rest = 1.0 - y
        ratio = abs((_clipped(a) - rest) / (_clipped(b) - rest))
        log_loss, brier = _log(ratio), _minus(b, a) * (a + b - 2.0 * y)
        w0 = rest if weight is None else rest * weight[i]
        w1 = y if weight is None else y * weight[i]
        a0, a1 = a0 + w0, a1 + w1
        b0, b1 = b0 + w0 * log_loss * log_loss, b1 + w1 * log_loss * log_loss
        c0, c1 = c0 + w0 * brier * brier, c1 + w1 * brier * brier
    for label, sums in enumerate(((a0, b0, c0), (a1, b1, c1))):
        for term in range(3):
            out[label, term] += sums[term]


@exact
def _clipped(score):
    return min(max(score, CLIP), 1.0 - CLIP)


@exact
def sum_error_differences(
    actual: Floats, one: Floats, other: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """1.5 ns."""
    for run in range(len(runs.groups)):
        cells, last = out[runs.groups[run]], runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):
            rows = slice(start, min(start + BLOCK, last))
            part = None if weight is None else weight[rows]
            _add_error_differences(actual[rows], one[rows], other[rows], part, cells)


@any_order
def _add_error_differences(actual, one, other, weight, out):
    rows = signed = absolute = square = percentage = 0.0
    for i in range(len(actual)):
        y = actual[i]
        a, b = _minus(one[i], y), _minus(other[i], y)
        w = 1.0 if weight is None else weight[i]
        d, e = _minus(b, a), _minus(abs(b), abs(a))
        f, g = d * (a + b), e / y
        rows, signed, absolute = rows + w, signed + w * d * d, absolute + w * e * e
        square, percentage = square + w * f * f, percentage + w * g * g
    sums = (rows, signed, absolute, square, percentage)
    for term in range(5):
        out[term] += sums[term]
