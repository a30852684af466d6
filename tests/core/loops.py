"""The arguments of each compiled loop, from random rows: what the law, the fuzzer, and racing threads call it with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any

import numpy as np

from streammetrics import core
from streammetrics.core import Runs, definition, moments
from streammetrics.core.lattice import Lattice, limit_shifts

Arguments = tuple[Any, ...]
CLASSES = 3
HEIGHTS = (0, 1, 9, 64, 997, 997, 20_011)  # of which those of many rows are no number of groups or of cells
GROUPS = (1, 5, 60, 3_000)
INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
PROBABILITIES = np.array([0.0, -0.0, 5e-324, 1e-15, 0.29, 0.3, 0.5, np.nextafter(0.5, 1), 1 - 2**-53, 1.0])
NUMBERS = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-300, -1.0, 1e70, -1e70, 1.0, 2.0])
ENDS = np.array([np.inf, -np.inf, 1.7e308, -1.7e308, 0.0, -0.0])


class Rows:
    """Columns of random rows, in runs of groups, which may be long, short, empty, and come again."""

    def __init__(self, random: np.random.Generator, height: int | None = None, groups: int | None = None) -> None:
        self.random = random
        self.height = int(random.choice(HEIGHTS)) if height is None else height
        self.groups = int(random.choice(GROUPS)) if groups is None else groups
        self.weighted = bool(random.integers(2))
        self.weight = random.random(self.height) * 3 if self.weighted else None
        self.label = random.integers(0, 2, self.height).astype(np.uint8)
        self.truth = random.integers(0, CLASSES, self.height)
        self.codes = random.integers(0, self.groups, self.height)
        if random.random() < 0.4:
            self.codes.sort()
        self.runs = Runs.of(self.codes)
        if random.random() < 0.4:
            cuts = np.sort(random.integers(0, self.height + 1, int(random.choice([0, 3, 40, self.height]))))
            starts = np.concatenate([[0], cuts, [self.height]])
            self.runs = Runs(starts, random.integers(0, self.groups, len(starts) - 1))

    def cells(self, *shape: int, kind: Any = np.int64) -> np.ndarray:
        return np.zeros((self.groups, *shape), np.float64 if self.weighted else kind)

    def sums(self, *shape: int, count: int) -> np.ndarray:
        """Cells of a number of rows or a weight, and of so many sums."""
        return self.cells(*shape, 1 + count * (1 if self.weighted else 2))

    def floats(self, *kinds: Callable[[int], np.ndarray], special: np.ndarray) -> np.ndarray:
        """Values of one kind, some of them special."""
        values = self.random.choice(np.array(kinds, dtype=object))(self.height)
        often = self.random.random(self.height) < self.random.choice([0, 0.1, 1], p=[0.4, 0.5, 0.1])
        return np.where(often, self.random.choice(special, self.height), values)

    def probability(self) -> np.ndarray:
        random = self.random
        return self.floats(
            *(random.random, lambda n: random.random(n).round(1), lambda n: random.beta(0.5, 8, n)),
            lambda n: 1 - 10.0 ** -random.uniform(0, 17, n),
            special=PROBABILITIES,
        )

    def number(self) -> np.ndarray:
        """Values of which sums of fourth powers are finite."""
        random = self.random
        return self.floats(
            *(random.standard_normal, lambda n: random.gamma(2, 50, n), lambda n: 1.7e9 + random.normal(size=n)),
            *(lambda n: np.full(n, 0.1), lambda n: np.append([1e9], random.normal(size=n))[:n]),
            special=NUMBERS,
        )

    def real(self) -> np.ndarray:
        return self.floats(lambda n: self.random.normal(0, 1e3, n), self.random.random, special=ENDS)

    def scores(self) -> list[np.ndarray]:
        """A probability for each class, the last of which is read-only."""
        shares = np.stack([self.probability() + 1e-9 for _ in range(CLASSES)])
        columns = [np.ascontiguousarray(column) for column in shares / shares.sum(axis=0)]
        columns[-1].flags.writeable = False
        return columns

    def decisions(self) -> list[np.ndarray]:
        return [self.probability() > limit for limit in (0.1, 0.2)]

    def thresholds(self) -> np.ndarray:
        ladders = [[0.5], [0.0, 0.3, 1.0], [-1.7e308, *np.linspace(0, 1, 20), 1.7e308]]
        if self.groups < 100:
            ladders += [np.linspace(0, 1, 999), np.geomspace(1e-12, 1, 500), [-np.inf, *np.linspace(-2, 2, 50), np.inf]]
        return np.array(ladders[self.random.integers(len(ladders))], dtype=np.float64)

    def integers(self, dtype: np.dtype) -> np.ndarray:
        """Few or many different integers, near one another or far apart."""
        ends = np.iinfo(dtype)
        distinct = int(self.random.choice([1, 2, 700, 20_000]))
        wide = self.random.integers(ends.min, ends.max, distinct, dtype, endpoint=True)
        chosen = wide if self.random.random() < 0.5 else (wide >> dtype.type(1)) % dtype.type(100)
        return self.random.choice(chosen, self.height)


def outcomes(rows: Rows) -> Arguments:
    thresholds = rows.thresholds()
    score = [rows.probability(), rows.real(), rows.label][rows.random.integers(3)]
    return rows.label, score, thresholds, rows.weight, rows.runs, rows.cells(len(thresholds) + 1, 2)


def calibration(rows: Rows) -> Arguments:
    bins = int(rows.random.choice([1, 10, 100] if rows.groups < 100 else [7]))
    out = rows.sums(bins, 2, count=2)
    return rows.label, rows.probability(), np.linspace(0, 1, bins + 1), rows.weight, rows.runs, out


def errors(rows: Rows) -> Arguments:
    """Rows with a reference near the means, as sums about them need."""
    actual, predicted = rows.number(), rows.number()
    reference = np.tile([column.mean() if rows.height else 0.0 for column in (actual, predicted)], (rows.groups, 1))
    out = np.zeros((rows.groups, moments.TERMS))
    return actual, predicted, rows.weight, reference, rows.runs, out, moments.no_extremes(rows.groups)


def numbers(rows: Rows) -> Arguments:
    return (rows.integers(INTEGERS[rows.random.integers(len(INTEGERS))]),)


def views(rows: Rows) -> Arguments:
    values = np.stack([rows.integers(np.dtype("i8")), rows.integers(np.dtype("i8"))], axis=1)
    cut = int(rows.random.integers(rows.height + 1))
    return ([values[:cut], values[cut:cut], values[cut:]],)


def columns(rows: Rows) -> Arguments:
    values = rows.number()
    return rows.codes, rows.groups, [np.arange(rows.height), values, values < 1, rows.label]


def cells(rows: Rows) -> Arguments:
    """Cells of bins by group, in any order and at several shifts."""
    lattice, random = Lattice("real", (0.3,)), rows.random
    starts = np.append(0, np.sort(random.integers(0, rows.height + 1, random.integers(0, 9))))
    least = random.choice([0, 0, 1, 40, 52, 62, 63], len(starts) - 1).astype(np.uint8)
    values = random.choice([random.normal(size=starts[-1]), random.random(starts[-1]).round(2)])
    low = lattice.keys(values)
    own = limit_shifts(low, np.repeat(least, np.diff(starts)).astype(np.int64), lattice.atom_keys)
    kind = np.float64 if rows.weighted else np.int64
    amounts = [random.integers(0, 9, len(low)).astype(kind) for _ in range(random.integers(0, 4))]
    return starts, low >> own << own, least, amounts, lattice.atom_keys, int(random.choice([1, 8, 300]))


def fitted(rows: Rows) -> Arguments:
    """Cells that are fitted, or those from which they are."""
    starts, low, least, _, atoms, capacity = cells(rows)
    shift = np.repeat(least, np.diff(starts))
    if rows.random.random() < 0.7:
        run, shift, low, *_ = definition.bins.fit(starts, low, least, [], atoms, capacity)
        starts = np.searchsorted(run, np.arange(len(least) + 1))
        if len(shift) and rows.random.random() < 0.3:
            shift, place = shift.copy(), rows.random.integers(len(shift))
            shift[place] = min(shift[place] + 1, 63)
    return starts, low, shift.astype(np.uint8), atoms, capacity


LOOPS: dict[str, Callable[[Rows], Arguments]] = {
    "add_fingerprints": lambda r: (
        *([r.label, r.integers(np.dtype("u8"))], [r.real()], r.runs),
        np.zeros((r.groups, 4), np.int64),
    ),
    "arrange": columns,
    "as_decimals": lambda r: (r.random.integers(-(2**63), 2**63, (min(r.height, 997), 7)), 1),
    "count_outcomes": outcomes,
    "count_pairs": lambda r: (r.label, r.decisions(), r.decisions(), r.weight, r.runs, r.cells(2, 8)),
    "count_ranks": lambda r: (r.truth, r.scores(), r.weight, r.runs, r.cells(CLASSES)),
    "extent": lambda r: ([r.real(), r.probability().astype("f4"), *numbers(r)][r.random.integers(3)],),
    "fit": cells,
    "interleave": lambda r: (
        (r.probability(), r.probability(), True, np.zeros(r.height, np.int64))
        if r.weighted
        else (r.real(), r.real(), False, np.zeros(r.height, np.int64))
    ),
    "is_fitted": fitted,
    "likeliest": lambda r: (r.scores(),),
    "number_integers": numbers,
    "number_views": views,
    "sum_calibration": calibration,
    "sum_class_loss_differences": lambda r: (
        *(r.truth, r.scores(), r.scores(), r.weight, r.runs),
        r.sums(CLASSES, count=6),
    ),
    "sum_class_losses": lambda r: (r.truth, r.scores(), r.weight, r.runs, r.sums(CLASSES, count=4)),
    "sum_error_differences": lambda r: (
        *(r.number(), r.number(), r.number(), r.weight, r.runs),
        np.zeros((r.groups, 13)),
    ),
    "sum_errors": errors,
    "sum_loss_differences": lambda r: (
        *(r.label, r.probability(), r.probability(), r.weight, r.runs),
        r.sums(2, count=6),
    ),
    "sum_losses": lambda r: (r.label, r.probability(), r.weight, r.runs, r.sums(2, count=4)),
    "sum_values": lambda r: (r.number(), r.number(), r.weight, r.runs, np.zeros((r.groups, 3))),
}
SIGNED = {  # loops whose terms can cancel, and the argument that has their sums
    **dict.fromkeys(("sum_class_loss_differences", "sum_error_differences", "sum_errors", "sum_loss_differences"), 5),
    "sum_values": 4,
}


def forms() -> list[Any]:
    """The modules of loops compiled for all processors and for those with AVX2."""
    if core.compiled is None:
        return []
    baseline = import_module("streammetrics.core._baseline")
    return [baseline, *([import_module("streammetrics.core._avx2")] if baseline.has_avx2() else [])]


def definition_of(name: str) -> Callable[..., Any]:
    """The function in numpy that a compiled loop is held to."""
    places = [module for module in vars(definition).values() if inspect.ismodule(module)]
    return next(vars(module)[name] for module in places if name in vars(module))


def mapped(function: Callable[[np.ndarray], Any], value: Any) -> Any:
    """Arguments with their arrays changed, in runs and lists too."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, Runs):
        return Runs(*(function(array) for array in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(function, each) for each in value)
    return value


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays of arguments."""
    found: list[np.ndarray] = []
    mapped(lambda array: found.append(array) or array, value)
    yield from found


def same(one: Any, other: Any, size: Any = None) -> bool:
    """Whether results are equal: integers exactly, floats within 1e-12 of their size, which is that of their terms."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(*each) for each in zip(one, other, strict=True))
    if one is None or other is None:
        return one is other
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    near = np.abs(one - other) <= 1e-12 * np.abs(one if size is None else size)
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def sizes(name: str, rows: Rows, arguments: Arguments) -> np.ndarray:
    """Of each sum of a loop, the sum of the sizes of its terms, which are those of groups of one row each."""
    codes, own = rows.runs.codes(), Runs(np.arange(rows.height + 1), np.arange(rows.height))

    def alone(value: Any) -> Any:
        if isinstance(value, Runs):
            return own
        return value[codes] if isinstance(value, np.ndarray) and len(value) == rows.groups else value

    terms = tuple(map(alone, arguments))
    definition_of(name)(*terms)
    size = np.zeros_like(arguments[SIGNED[name]])
    np.add.at(size, codes, np.abs(terms[SIGNED[name]]))
    return size


def block(arguments: Arguments, height: int, start: int, end: int) -> Arguments:
    """The arguments of some of the rows, with the same cells."""

    def cut(value: Any) -> Any:
        if isinstance(value, Runs):
            return Runs.of(value.codes()[start:end])
        if isinstance(value, list):
            return [cut(each) for each in value]
        return value[start:end] if isinstance(value, np.ndarray) and len(value) == height else value

    return tuple(map(cut, arguments))


@np.errstate(all="ignore")
def agree(name: str, rows: Rows, loop: Callable[..., Any]) -> None:
    """Fail where a loop differs from its definition, also if it adds its rows in two blocks."""
    arguments, signed = LOOPS[name](rows), SIGNED.get(name)
    size = None if signed is None else sizes(name, rows, arguments)
    theirs, ours, parts = (deepcopy(arguments) for _ in range(3))
    assert same(loop(*ours), definition_of(name)(*theirs)), name
    added = [ours]
    if any(isinstance(value, Runs) for value in arguments) and rows.height not in GROUPS:
        cut = int(rows.random.integers(rows.height + 1))
        loop(*block(parts, rows.height, 0, cut))
        loop(*block(parts, rows.height, cut, rows.height))
        added.append(parts)
    for each in added:
        for place, (found, expected) in enumerate(zip(each, theirs, strict=True)):
            assert same(found, expected, size if place == signed else None), name
