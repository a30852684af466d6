"""Random arguments for every compiled loop, valid and not: ``python tests/core/fuzz.py --seconds 600 --seed 7``.

The results of valid ones are held to the definition. After that, one argument is spoilt: the loop may raise an error,
and must not read or write outside its arrays, which a build with sanitizers notices.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
from loops import LOOPS, Arguments, Rows, agree, arrays, forms, mapped, same

from streammetrics import core
from streammetrics.core import Runs
from streammetrics.core.definition import bins
from streammetrics.core.lattice import Lattice

REFUSED = (ValueError, TypeError, IndexError, OverflowError, MemoryError)
GROUPS = 7
SPECIAL = np.array([0.0, -0.0, 0.5, 1.0, 5e-324, 1 - 2**-53, 1e308, -1e308, np.inf, -np.inf, np.nan])
ANY_FLOAT = {"count_outcomes", "count_ranks", "extent", "interleave", "likeliest"}


def spoilt(name: str, arguments: Arguments, random: np.random.Generator) -> Arguments:
    """The arguments with one array or number that is wrong in one way.

    Floats stay in their range, which is checked before rows are counted, except where they only choose a cell.
    """
    numbers = [i for i, value in enumerate(arguments) if type(value) is int]
    if numbers and random.random() < 0.2:
        place = random.choice(numbers)
        wrong = int(random.choice([-(2**31), -1, 0, 1, arguments[place] - 1]))
        return (*arguments[:place], wrong, *arguments[place + 1 :])
    target = int(random.integers(max(1, sum(1 for _ in arrays(arguments)))))
    seen = -1

    def spoil(array: np.ndarray) -> Any:
        nonlocal seen
        seen += 1
        if seen != target:
            return array
        ways: list[Callable[[], Any]] = [
            lambda: array[:-1],
            lambda: np.concatenate([array, array]),
            lambda: array[..., ::2] if array.ndim else array,
            lambda: array[None],
            lambda: np.ascontiguousarray(array.T[:1]),
            lambda: array.astype(random.choice(["f4", "f8", "i4", "i8", "u1", "?", "u8"])),
            lambda: list(array[:3]),
            lambda: None,
        ]
        if array.size and array.ndim == 1:  # cells may hold anything
            floats = (
                SPECIAL
                if name in ANY_FLOAT
                else [*SPECIAL[np.clip(SPECIAL, array.min(), array.max()) == SPECIAL], array[0]]
            )
            values = {"f": floats, "i": [-(2**63), 2**63 - 1, -1, len(array), 1 << 33], "u": [2, 255], "b": [True]}
            places = random.integers(0, array.size, 3)

            def put() -> np.ndarray:
                copy = array.copy()
                chosen = random.choice(np.array(values[array.dtype.kind], dtype=object))
                limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
                copy.flat[places] = chosen if limits is None else min(max(chosen, limits.min), limits.max)
                return copy

            ways += [put] * len(ways)  # half of all
        with np.errstate(all="ignore"):
            changed = random.choice(np.array(ways, dtype=object))()
        if isinstance(changed, np.ndarray) and random.random() < 0.1:
            changed.flags.writeable = False
        return changed

    return tuple(mapped(spoil, value) for value in arguments)


def accepted(loop: Callable[..., Any], arguments: Arguments) -> bool:
    """Call a loop with what may be wrong: it returns, or raises one of the errors of the boundary."""
    with suppress(*REFUSED):
        loop(*arguments)
        return True
    return False


def drive_bins(form: Any, random: np.random.Generator) -> None:
    """Count, merge, and read the same rows in compiled bins and in their definition, in random steps."""
    sides, weighted, probability = int(random.integers(1, 4)), bool(random.integers(2)), bool(random.integers(2))
    domain = "probability" if probability else "real"
    lattice = Lattice(domain, tuple(random.choice([0.25, 0.3, 0.75, 1e-9], random.integers(0, 3)).tolist()))
    options = int(random.choice([8, 20, 300])), probability, lattice.atom_keys, sides, weighted
    counters = [[kind(*options) for kind in (form.Bins, bins.Bins)] for _ in range(3)]
    for _ in range(random.integers(1, 12)):
        one, other = (counters[i] for i in random.integers(0, len(counters), 2))
        if random.random() < 0.3:
            numbers = random.permutation(GROUPS)
            for own, more in zip(one, other, strict=True):
                own.absorb(more, numbers, GROUPS)
            continue
        height = int(random.choice([0, 1, 5, 100, 3_000]))
        values = random.choice([random.random(height), random.random(height).round(1), random.choice(SPECIAL, height)])
        values = values if probability else np.log(np.abs(values) + 5e-324) ** random.choice([1, 3, 99])
        values = np.clip(np.nan_to_num(values), *((0.0, 1.0) if probability else (-np.inf, np.inf)))
        cuts = np.sort(random.integers(0, height + 1, random.integers(0, 20)))
        runs = Runs(np.concatenate([[0], cuts, [height]]), random.integers(0, GROUPS, len(cuts) + 1))
        side, weight = random.integers(0, sides, height), random.integers(1, 9, height) / 4.0
        for own in one:
            if sides > 2 or random.random() < 0.3:
                own.add_classes(values, side, weight if weighted else None, runs, GROUPS)
            else:
                own.add(values, None if sides == 1 else side.astype("u1"), weight if weighted else None, runs, GROUPS)
        wrong = spoilt("Bins", (values, side.astype("u1"), weight if weighted else None, runs, GROUPS), random)
        with suppress(*REFUSED):
            form.Bins(*options).add(*wrong)
    for one, other in counters:
        assert same(one.cells(), other.cells()), options


def play(random: np.random.Generator) -> None:
    """Call every loop once as it should be, and four times as it should not, and count in bins."""
    for form in forms():
        for name in LOOPS:
            loop = getattr(form, name)
            agree(name, Rows(random), loop)
            arguments = LOOPS[name](Rows(random, int(random.choice([0, 1, 9, 64, 997]))))
            for _ in range(4):
                accepted(loop, spoilt(name, deepcopy(arguments), random))
        drive_bins(form, random)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if core.compiled is None:
        sys.exit("There are no compiled loops in this installation.")
    print(f"seed {options.seed}", flush=True)
    random, rounds = np.random.default_rng(options.seed), 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        play(random)
        rounds += 1
    print(f"{rounds:,} rounds of {len(LOOPS)} loops")


if __name__ == "__main__":
    main()
