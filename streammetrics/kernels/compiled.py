"""Kernels compiled by numba: the functions of ``numpy.py`` and ``errors.py`` as single loops that release the GIL.

Loops are compiled once for each combination of argument types and cached on disk. Counts equal those of the numpy
functions bit for bit, and sums agree within 1e-12.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from streammetrics.kernels import errors
from streammetrics.kernels import numpy as definition
from streammetrics.kernels.lattice import MAGNITUDE, ONE, Lattice
from streammetrics.kernels.numpy import (
    BLOCK,
    CLIP,
    FEW,
    SHORT,
    Codes,
    Counts,
    Extent,
    Floats,
    Labels,
    Ladder,
    Order,
    Runs,
    Scores,
)

# fastmath=False is explicit, because a function without it inherits the setting of its first caller
exact: Final = njit(cache=True, nogil=True, error_model="numpy", fastmath=False)
fused: Final = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
any_order: Final = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})

FEWEST_BITS = 13  # log2 of the initial size of the hash table, which is at most half full
NARROW = 1 << 16  # range of integers that are looked up in an array
HASH_HIGH, HASH_LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd, with well mixed bits
LANES = 2  # number of alternating sums, a power of two, so that a row does not wait for the previous one
SQRT_HALF = np.sqrt(0.5).view(np.int64)
LN2 = 0.6931471803691238  # rounded, so that its product with an exponent is exact
LN2_REST = 1.9082149292705877e-10


def extent(values: NDArray[np.number]) -> Extent:
    """0.2 ns."""
    if values.dtype != np.float64:
        return definition.extent(values)
    ends = np.array(_extent(values.view(np.int64)))
    low, high = (ends ^ ((ends >> 63) & MAGNITUDE)).view(np.float64).tolist()
    return (low, high) if low == low and high == high else (np.nan, np.nan)


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """1 ns for integers in a narrow range, 1.5 ns for few other values, 40 ns if nearly all values are distinct."""
    high: NDArray[np.integer]
    low: NDArray[np.integer]
    codes = np.empty(len(column), dtype=np.intp)
    if column.dtype == pl.String:  # 16 bytes per string: its location, or the string itself if it is short
        views = column.to_arrow(compat_level=pl.CompatLevel.newest())
        words = np.frombuffer(views.buffers()[1], dtype=np.int64).reshape(-1, 2)[views.offset :][: len(views)]
        high, low = words[:, 0], words[:, 1]
    else:
        high = low = definition.as_integers(column)
        lowest, highest = (int(low.min()), int(low.max())) if len(low) else (0, 0)
        if highest - lowest < NARROW:
            return codes, _number_narrow(low, lowest, np.full(highest - lowest + 1, -1, np.int32), codes)
    first = _number(high, low, FEWEST_BITS, codes)
    if first is None:  # too many distinct values
        first = _number(high, low, len(high).bit_length() + 1, codes)
    return codes, first


def arrange(codes: Codes, groups: int) -> tuple[Order | None, Runs]:
    """1.2 ns if the order is kept, 3 ns for few groups, 10 ns for many groups. A counting sort."""
    changes = _changes(codes)
    if groups <= 1 or (changes + 1) * SHORT <= len(codes) or groups * SHORT > len(codes):
        return definition.arrange(codes, groups)
    order, starts = np.empty(len(codes), dtype=np.int32), np.zeros(groups + 1, dtype=np.intp)
    _arrange(codes, order, starts)
    found = np.flatnonzero(starts[1:] > starts[:-1])
    return order, Runs(np.append(starts[found], len(codes)), found)


def take(values: NDArray[Any], order: Order | None) -> NDArray[Any]:
    """1 ns."""
    if order is None:
        return values
    taken = np.empty_like(values)
    _take(values, order, taken)
    return taken


def count_outcomes(
    label: Labels, score: Scores, thresholds: Floats, weight: Floats | None, runs: Runs, out: Counts
) -> None:
    """0.3 ns for one threshold, 2 ns for several."""
    ladder = Ladder.of(thresholds)
    if len(thresholds) == 1 and weight is None and out.dtype == np.int64:
        _count_outcomes_once(label, score, thresholds[0], runs, out)
    elif ladder.most > FEW:
        definition.count_outcomes(label, score, thresholds, weight, runs, out)
    else:
        _count_outcomes(label, score, ladder, weight, runs, out)


def sum_errors(
    actual: Floats,
    predicted: Floats,
    runs: Runs,
    groups: int,
    weight: Floats | None,
    families: tuple[str, ...] = (),
    power: float = 1.5,
) -> Floats:
    """2.5 ns. Families cost the same as in numpy."""
    reference, sums = np.zeros((groups, 2)), np.zeros((groups, errors.TERMS))
    _find_means(actual, predicted, weight, runs, reference)
    bits = errors.no_extremes(groups).T.copy().view(np.int64)
    keys = bits ^ ((bits >> 63) & MAGNITUDE)
    _sum_errors(actual, predicted, weight, runs, reference, sums, keys)
    extremes = (keys ^ ((keys >> 63) & MAGNITUDE)).view(np.float64)
    moments = errors.centred(reference.T, sums.T, extremes.T)
    means = moments[:, errors.MOMENTS.index("actual_mean")]
    return np.hstack([moments, errors.sum_families(actual, predicted, runs, weight, means, families, power)])


def fold_of(lattice: Lattice) -> np.int64 | None:
    """The key of 1 for probabilities, which are mirrored at 0.5, else None.

    Loops are compiled separately for both cases, which makes them twice as fast.
    """
    return ONE if lattice.domain == "probability" else None


@exact
def _key(value, fold):
    bits = np.float64(value + 0.0).view(np.int64)
    if fold is None:
        return bits ^ ((bits >> 63) & MAGNITUDE)
    return fold - np.float64(1.0 - value).view(np.int64) if value > 0.5 else bits  # a conditional move


@exact
def _extent(bits):
    low = high = bits[0] ^ ((bits[0] >> 63) & MAGNITUDE)
    for i in range(len(bits)):
        key = bits[i] ^ ((bits[i] >> 63) & MAGNITUDE)  # keys of NaN lie beyond the keys of infinities
        low, high = min(low, key), max(high, key)
    return low, high


@exact
def _changes(codes):
    changes = 0
    for i in range(1, len(codes)):
        changes += codes[i] != codes[i - 1]
    return changes


@exact
def _arrange(codes, order, starts):
    for code in codes:
        starts[code + 1] += 1
    for group in range(1, len(starts)):
        starts[group] += starts[group - 1]
    places = starts[:-1].copy()
    for row in range(len(codes)):
        code = np.uint64(codes[np.uint64(row)])
        place = places[code]
        order[np.uint64(place)] = row
        places[code] = place + 1


@exact
def _take(values, order, taken):
    for place in range(len(order)):
        taken[np.uint64(place)] = values[np.uint64(order[np.uint64(place)])]


@exact
def _number_narrow(values, lowest, numbers, codes):
    first, found = np.empty(len(numbers), np.intp), 0
    for i in range(len(values)):
        place = np.uint64(np.int64(values[i]) - lowest)
        if numbers[place] < 0:
            numbers[place], first[found] = found, i
            found += 1
        codes[i] = numbers[place]
    return first[:found].copy()


@exact
def _number(high, low, bits, codes):
    """Number the values, and return one row per number, or None if more than half of the slots are occupied."""
    size, shift = 1 << bits, np.uint64(64 - bits)
    last, most = np.uint64(size - 1), min(size // 2, len(high))
    numbers, highs, lows = np.full(size, -1, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    first, found = np.empty(most, np.intp), 0
    for i in range(len(high)):
        a, b = high[i], low[i]
        mixed = (np.uint64(a) ^ (np.uint64(b) * HASH_LOW)) * HASH_HIGH
        slot = mixed >> shift
        while numbers[slot] >= 0 and (highs[numbers[slot]] != a or lows[numbers[slot]] != b):
            slot = (slot + np.uint64(1)) & last
        if numbers[slot] < 0:
            if found == most:
                return None
            numbers[slot], highs[found], lows[found], first[found] = found, a, b, i
            found += 1
        codes[i] = numbers[slot]
    return first[:found].copy()


@exact
def _count_outcomes_once(label, score, threshold, runs, out):
    for run in range(len(runs.groups)):
        rows = slice(runs.starts[run], runs.starts[run + 1])
        predicted, positives, tp = _count_reached(label[rows], score[rows], threshold)
        cells = out[runs.groups[run]]
        cells[0, 0] += rows.stop - rows.start - positives - predicted + tp
        cells[0, 1] += positives - tp
        cells[1, 0] += predicted - tp
        cells[1, 1] += tp


@exact
def _count_reached(label, score, threshold):
    """Count the rows that reach a threshold, the positives, and the positives that reach it."""
    predicted = positives = tp = 0
    for i in range(len(label)):
        reached = score[i] >= threshold
        predicted += reached
        positives += label[i]
        tp += reached & label[i]
    return predicted, positives, tp


@exact
def _count_outcomes(label, score, ladder, weight, runs, out):
    last = len(ladder.below) - 2
    for run in range(len(runs.groups)):
        cells = out[runs.groups[run]]
        for i in range(runs.starts[run], runs.starts[run + 1]):
            place = (score[i] - ladder.origin) * ladder.scale if last else 0.0
            rank = ladder.below[int(min(max(place, 0.0), last))]
            for _ in range(ladder.most):
                rank += ladder.thresholds[rank] <= score[i]
            cells[rank, label[i]] += 1 if weight is None else weight[i]


@fused
def _log(x):
    """Natural logarithm within one ulp: ``x = m 2**k`` with m near 1, and ``log(m) = 2 artanh(s)`` as a series in s."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - SQRT_HALF) >> 52
    s = np.int64(bits - (exponent << 52)).view(np.float64)
    s = (s - 1.0) / (s + 1.0)
    z = s * s
    series = 1 / 23
    for odd in (21, 19, 17, 15, 13, 11, 9, 7, 5, 3):
        series = series * z + 1 / odd
    k = np.float64(exponent)
    return k * LN2 + (k * LN2_REST + 2.0 * s * z * series + 2.0 * s)


@fused
def _log_loss(score, label):
    return -_log(abs(min(max(score, CLIP), 1.0 - CLIP) - (1.0 - label)))


@exact
def _minus(a, b):
    """A difference that ``any_order`` cannot reorder: ``(sum + a) - b`` loses more digits than ``sum + (a - b)``."""
    return a - b


@exact
def sum_losses(label: Labels, score: Floats, weight: Floats | None, runs: Runs, out: Floats) -> None:
    """1.7 ns."""
    for run in range(len(runs.groups)):
        cells, last = out[runs.groups[run]], runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):  # short blocks, so that sums lose few digits
            rows = slice(start, min(start + BLOCK, last))
            _sum_losses_of_block(label[rows], score[rows], None if weight is None else weight[rows], cells)


@any_order
def _sum_losses_of_block(label, score, weight, out):
    a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = e0 = e1 = 0.0
    for i in range(len(label)):
        x, y = score[i], np.float64(label[i])
        other = 1.0 - y
        log_loss, error = _log_loss(x, y), _minus(x, y)
        brier = error * error
        w0 = other if weight is None else other * weight[i]
        w1 = y if weight is None else y * weight[i]
        l0, l1, r0, r1 = w0 * log_loss, w1 * log_loss, w0 * brier, w1 * brier
        a0, a1 = a0 + w0, a1 + w1
        b0, b1 = b0 + l0, b1 + l1
        c0, c1 = c0 + l0 * log_loss, c1 + l1 * log_loss
        d0, d1 = d0 + r0, d1 + r1
        e0, e1 = e0 + r0 * brier, e1 + r1 * brier
    for label, sums in enumerate(((a0, b0, c0, d0, e0), (a1, b1, c1, d1, e1))):
        for term in range(5):
            out[label, term] += sums[term]


@exact
def sum_calibration(
    label: Labels, score: Floats, edges: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """2 ns."""
    bins = len(edges) - 1
    sums = np.zeros((LANES, bins, 2, 3))
    for run in range(len(runs.groups)):
        group, last = runs.groups[run], runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):
            rows = slice(start, min(start + BLOCK, last))
            few = last - start < 16 * bins
            lanes = out[group : group + 1] if few else sums
            _add_to_calibration(label[rows], score[rows], edges, None if weight is None else weight[rows], lanes)
            if not few:
                for lane in range(LANES):
                    out[group] += sums[lane]
                sums[:] = 0.0


@exact
def _add_to_calibration(label, score, edges, weight, lanes):
    bins, last = len(edges) - 1, np.uint64(len(lanes) - 1)
    for i in range(len(label)):
        x = score[i]
        bin = np.uint64(x * bins)  # off by one at most, corrected with the edges
        bin -= np.uint64((x > 0.0) & (x <= edges[bin]))
        bin += np.uint64(x > edges[bin + np.uint64(1)])
        w = 1.0 if weight is None else weight[i]
        terms = lanes[np.uint64(i) & last, bin, label[i]]
        terms[0] += w
        terms[1] += w * x
        terms[2] += w * x * x


@exact
def _error(y, p):
    """Error, its positive and negative parts, its share of the true value, and its share of the sum of both values."""
    error = p - y
    over, under = 0.0 if error < 0.0 else error, 0.0 if error > 0.0 else error
    percentage = abs(error / y)
    symmetric = 1.0 if percentage == np.inf else percentage / (1.0 + abs(1.0 + error / y))
    return error, over, under, percentage, 0.0 if error == 0.0 else symmetric


@exact
def _find_means(actual, predicted, weight, runs, means):
    """Compute the means of true values and predictions of each group."""
    totals = np.zeros(len(means))
    for run in range(len(runs.groups)):
        group, rows = runs.groups[run], slice(runs.starts[run], runs.starts[run + 1])
        y, p, count = _add_values(actual[rows], predicted[rows], None if weight is None else weight[rows])
        means[group, 0] += y
        means[group, 1] += p
        totals[group] += count
    for group in range(len(means)):
        if totals[group] > 0:
            means[group] /= totals[group]


@any_order
def _add_values(actual, predicted, weight):
    y = p = count = 0.0
    for i in range(len(actual)):
        w = 1.0 if weight is None else weight[i]
        y, p, count = y + w * actual[i], p + w * predicted[i], count + w
    return y, p, count


@exact
def _sum_errors(actual, predicted, weight, runs, means, sums, keys):
    """Sum the terms of each group. Extremes are compared as integer keys, which is faster than floats with NaN."""
    for run in range(len(runs.groups)):
        group, last = runs.groups[run], runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):
            rows = slice(start, min(start + BLOCK, last))
            of_rows = None if weight is None else weight[rows]
            found = _sum_errors_of_block(
                actual[rows], predicted[rows], of_rows, means[group, 0], means[group, 1], sums[group]
            )
            for extreme in range(5):
                key = keys[group, extreme]
                keys[group, extreme] = min(key, found[extreme]) if extreme < 2 else max(key, found[extreme])


@any_order
def _sum_errors_of_block(actual, predicted, weight, y0, p0, sums):
    a = b = c = d = e = f = g = h = i = j = k = q = r = s = t = u = v = x = z = o = 0.0
    low = high = _key(actual[0], None)
    lowest = highest = _key(predicted[0], None)
    largest, e0 = np.int64(0), p0 - y0
    m30 = m21 = m12 = m03 = m40 = m31 = m22 = m13 = m04 = 0.0
    for row in range(len(actual)):
        y, p = actual[row], predicted[row]
        error, over, under, percentage, symmetric = _error(y, p)
        dy, dp, square = _minus(y, y0), _minus(p, p0), error * error
        w = 1.0 if weight is None else weight[row]
        a, b, c = a + w, b + w * dy, c + w * dp
        d, e, f = d + w * dy * dy, e + w * dp * dp, f + w * dy * dp
        g, h, i, j = g + w * over, h + w * under, i + w * square, j + w * square * square
        k, q = k + w * abs(y), q + w * percentage
        ratio = percentage * percentage
        r, s, z, o = r + w * ratio, s + w * symmetric, z + w * ratio * ratio, o + w * symmetric * symmetric
        t, u, v, x = t + w * over * over, u + w * under * under, v + w * y * y, x + w * abs(error * y)
        de = _minus(error, e0)
        yy, ye, ee, y_weight, e_weight = dy * dy, dy * de, de * de, w * dy, w * de
        m30, m21, m12, m03 = m30 + y_weight * yy, m21 + e_weight * yy, m12 + y_weight * ee, m03 + e_weight * ee
        m40, m31, m22 = m40 + w * yy * yy, m31 + w * yy * ye, m22 + w * yy * ee
        m13, m04 = m13 + w * ye * ee, m04 + w * ee * ee
        one, other = _key(y, None), _key(p, None)
        low, high = min(low, one), max(high, one)
        lowest, highest = min(lowest, other), max(highest, other)
        largest = max(largest, _key(abs(error), None))
    block = (a, b, c, d, e, f, g, h, i, j, k, q, r, s, t, u, v, x, z, o, m30, m21, m12, m03, m40, m31, m22, m13, m04)
    for term in range(len(sums)):
        sums[term] += block[term]
    return low, lowest, high, highest, largest
