"""Fingerprints of rows, whose sums do not depend on the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Runs, add_runs

Hashes: TypeAlias = NDArray[np.uint64]

SEED = np.uint64(0x243F6A8885A308D3)
SECOND = np.uint64(0x9FB21C651E98DF25)


def mix(x: Hashes) -> Hashes:
    """The first output of SplitMix64 with the seed x (Steele, Lea & Flood 2014), modulo 2**64, in place."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def add_fingerprints(
    truth: Sequence[NDArray[Any]], predicted: Sequence[NDArray[Any]], runs: Runs, out: NDArray[np.int64]
) -> None:
    """Add a hash of each row to the sums of its group, modulo 2**64: ``out`` is (groups, 4).

    The hash h of a row starts with a constant, and becomes ``mix(h ^ word)`` for each column. The word of a value is
    an integer itself, or the bits of a float, with -0.0 as 0.0. The first two sums are of h after the columns of the
    ``truth``, and of ``(h ^ h >> 32) * SECOND``, the other two of the same numbers after those ``predicted``.
    """
    h, sums = np.full(runs.starts[-1], SEED), []
    for columns in (truth, predicted):
        for column in columns:
            h = mix(h ^ _words(column))
        sums += [h, (h ^ (h >> np.uint64(32))) * SECOND]
    add_runs(out, np.stack(sums).view(np.int64), runs)


def _words(column: NDArray[Any]) -> Hashes:
    floats = column.dtype.kind == "f"
    return (column + 0.0).view(np.uint64) if floats else column.astype(np.uint64, copy=False)
