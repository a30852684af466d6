"""Random arguments for every compiled loop, valid and not: ``python tests/core/fuzz.py --seconds 600 --seed 7``.

The calls of real evaluations, of all tasks of the laws, are recorded. Then their rows are drawn again, runs are cut
anew, and the result of the compiled loop is held to its definition. After that, one argument is spoilt: the loop may
raise an error, and must not read or write outside its arrays, which a build with sanitizers notices.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))
from test_laws import TASKS, rows

from streammetrics import core
from streammetrics.core import Runs, definition
from streammetrics.core.lattice import Lattice, limit_shifts

ROWS = 997  # so many that no other array has as many values
HELPERS = {"has_avx2"}  # functions of the module that are no loops
REFUSED = (ValueError, TypeError, IndexError, OverflowError, MemoryError)
GROUPS = 7
SPECIAL = np.array([0.0, -0.0, 0.5, 1.0, 5e-324, 1 - 2**-53, 1e308, -1e308, np.inf, -np.inf, np.nan])
ANY_FLOAT = {"count_outcomes", "count_ranks", "extent", "interleave", "likeliest", "row_sums", "take"}
LARGE = 1e70  # from which on squares and their squares overflow in one form or another
Arguments = tuple[Any, ...]
DRIVERS: dict[str, Callable[[np.random.Generator], None]] = {}  # for each class of the core, a function that uses it


def compiled() -> dict[str, Any]:
    """What the compiled module has: loops, and classes that own cells."""
    return {k: v for k, v in vars(core.compiled).items() if not k.startswith("_") and k not in HELPERS}


def loops() -> dict[str, Callable[..., Any]]:
    """The compiled loops by name."""
    return {name: loop for name, loop in compiled().items() if not isinstance(loop, type)}


def undriven() -> set[str]:
    """Loops that no evaluation calls through `streammetrics.core`, and classes without a driver."""
    return {name for name, found in recorded().items() if not found} | (
        compiled().keys() - loops().keys() - DRIVERS.keys()
    )


def definition_of(name: str) -> Callable[..., Any]:
    """The function in numpy that a compiled loop is held to."""
    places = [module for module in vars(definition).values() if inspect.ismodule(module)]
    return next(vars(module)[name] for module in places if name in vars(module))


def recorded(seed: int = 0, each: int = 12) -> dict[str, list[Arguments]]:
    """Arguments of each loop in evaluations of all tasks."""
    calls: dict[str, list[Arguments]] = {name: [] for name in loops()}
    before = {name: getattr(core, name) for name in calls if hasattr(core, name)}

    def recording(name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if rows_of(args):
                calls[name].append(deepcopy(args))
            return before[name](*args)

        return call

    frame = rows(ROWS, np.random.default_rng(seed))
    codes = pl.Series(np.random.default_rng(seed).integers(0, 300, ROWS))
    for name in before:
        setattr(core, name, recording(name))
    try:
        for make in TASKS.values():
            make().update(frame).compact()
        for by in (codes, codes.cast(pl.String).cast(pl.Categorical), codes.cast(pl.String) + " a text of many bytes"):
            TASKS["by two"]().update(frame.with_columns(g=by)).compact()
    finally:
        for name, loop in before.items():
            setattr(core, name, loop)
    return {name: found[:: max(1, len(found) // each)] for name, found in calls.items()}


def mapped(function: Callable[[np.ndarray], Any], value: Any) -> Any:
    """Arguments with their arrays changed, in runs and lists too."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, Runs):
        return Runs(*(function(array) for array in value))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(mapped(function, each) for each in value)
    return value


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays of arguments."""
    found: list[np.ndarray] = []
    mapped(lambda array: found.append(array) or array, value)
    yield from found


def rows_of(arguments: Arguments) -> int:
    """The number of rows of a call."""
    return next((int(v.starts[-1]) for v in arguments if isinstance(v, Runs)), max(next(arrays(arguments)).shape))


def drawn(arguments: Arguments, random: np.random.Generator) -> Arguments:
    """Other rows of the same kind, with replacement, in other runs of the same groups."""
    height = rows_of(arguments)
    chosen = random.integers(0, height, random.choice([0, 1, 2, int(random.integers(3, 80)), ROWS, 5_000]))
    special = random.random(len(chosen)) < random.choice([0, 0, 0.1])

    def pick(array: np.ndarray) -> np.ndarray:
        if height not in array.shape:
            return array.copy()
        taken = array.take(chosen, array.shape.index(height))
        if array.dtype == np.float64 and array.ndim == 1:
            low, high = array.min(), array.max()
            taken[special] = random.choice(SPECIAL[(low <= SPECIAL) & (high >= SPECIAL)].tolist() or [low])
        return np.ascontiguousarray(taken)

    def again(value: Any) -> Any:
        if not isinstance(value, Runs):
            return mapped(pick, value)
        count = int(random.choice([1, 3, 40, len(chosen)]))
        cuts = np.sort(random.integers(0, len(chosen) + 1, max(count - 1, 0)))  # runs can be empty
        starts = np.concatenate([[0], cuts, [len(chosen)]]) if count else np.zeros(1, dtype=np.intp)
        groups = random.choice(value.groups, count) if len(value.groups) else np.zeros(count, dtype=np.intp)
        return Runs(starts.astype(np.intp), groups.astype(np.intp))

    return tuple(again(value) for value in arguments)


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
            values = {"f": floats, "i": [-(2**63), -1, 2**63 - 1, len(array), 1 << 33], "u": [2, 255], "b": [True]}
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


def same(one: Any, other: Any, floats: bool = True) -> bool:
    """Whether results are equal: integers exactly, sums of floats up to rounding, or not at all."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(*each, floats) for each in zip(one, other, strict=True))
    if one is None or other is None:
        return one is other
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    if one.shape != other.shape or not floats:
        return one.shape == other.shape
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(one[np.isfinite(one)]), initial=0.0)
        return np.allclose(one, other, rtol=1e-9, atol=1e-11 * scale, equal_nan=True)


def agree(name: str, arguments: Arguments) -> None:
    """Fail where a loop and its definition differ. Neither has to accept what was drawn."""
    theirs, ours = deepcopy(arguments), deepcopy(arguments)
    with np.errstate(all="ignore"):
        try:
            expected = definition_of(name)(*theirs)
        except REFUSED:
            return refuse(name, ours)
    found = loops()[name](*ours)
    floats = not any((np.abs(a[np.isfinite(a)]) > LARGE).any() for a in arrays(arguments) if a.dtype.kind == "f")
    assert same(expected, found, floats), (name, arguments, expected, found)
    for one, other in zip(arrays(theirs), arrays(ours), strict=True):
        assert same(one, other, floats), (name, arguments, one, other)
    return None


def refuse(name: str, arguments: Arguments) -> None:
    """Call a loop with what may be wrong: it returns, or raises one of the errors of the boundary."""
    with suppress(*REFUSED):
        loops()[name](*arguments)


def drive_bins(random: np.random.Generator) -> None:
    """Count, merge, and read the same rows in compiled bins and in their definition, in random steps."""
    sides, weighted, probability = int(random.integers(1, 4)), bool(random.integers(2)), bool(random.integers(2))
    domain = "probability" if probability else "real"
    lattice = Lattice(domain, tuple(random.choice([0.25, 0.3, 0.75, 1e-9], random.integers(0, 3)).tolist()))
    options = int(random.choice([8, 20, 300])), probability, lattice.atom_keys, sides, weighted
    forms = core.compiled.Bins, definition.bins.Bins
    counters = [[form(*options) for form in forms] for _ in range(3)]
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
            core.compiled.Bins(*options).add(*wrong)
    for one, other in counters:
        assert same(one.cells(), other.cells()), options


def drive_cells(random: np.random.Generator) -> None:
    """Merge random cells in the compiled loop and in its definition."""
    lattice, capacity = Lattice("real", (0.3,)), int(random.choice([1, 8, 300]))
    starts = np.append(0, np.cumsum(random.integers(0, random.choice([2, 50, 900]), random.integers(0, 9))))
    least = random.choice([0, 0, 1, 40, 52, 62, 63], len(starts) - 1).astype(np.uint8)
    values = random.choice([random.normal(size=starts[-1]), random.random(starts[-1]).round(2)])
    shift = np.repeat(least, np.diff(starts)).astype(np.int64)
    low, kept = lattice.keys(values), lattice.atom_keys
    own = limit_shifts(low, shift, kept)
    low = low >> own << own
    amounts = [random.integers(0, 9, len(low)) for _ in range(random.integers(0, 4))]
    arguments = starts, low, least, amounts, kept, capacity
    agree("fit", arguments)
    run, found, bins, *_ = core.compiled.fit(*arguments)
    places = np.append(np.flatnonzero(np.diff(run.astype(np.int64), prepend=-1)), len(run))
    for cells in ((starts, low >> own, own.astype(np.uint8)), (places, bins, found)):
        agree("is_fitted", (*cells, kept, capacity))


DRIVERS |= {"Bins": drive_bins, "fit": drive_cells}
WITHOUT_ROWS = {"fit", "is_fitted"}  # whose arguments cannot be drawn again row by row


def fuzz(seconds: float, seed: int) -> dict[str, int]:
    """Call all loops in turns until the time is over, and return how often each was called."""
    random = np.random.default_rng(seed)
    calls = {name: found for name, found in recorded(seed).items() if found}
    called: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, found in calls.items():
            arguments = found[random.integers(len(found))]
            if name not in WITHOUT_ROWS:
                arguments = drawn(arguments, random)
                agree(name, arguments)
            for _ in range(4):
                refuse(name, spoilt(name, deepcopy(arguments), random))
            called[name] += 5
        for name, drive in DRIVERS.items():
            drive(random)
            called[name] += 1
    return dict(called)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if core.compiled is None:
        sys.exit("There are no compiled loops in this installation.")
    print(f"seed {options.seed}, {core.form}", flush=True)
    for name, times in fuzz(options.seconds, options.seed).items():
        print(f"{name}: {times:,} calls")


if __name__ == "__main__":
    main()
