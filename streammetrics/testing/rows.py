"""Test rows for statistics and metrics, and ways to split them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.data import SEVERAL, Roles
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics import Statistic

MakeRows: TypeAlias = Callable[[int, np.random.Generator], pl.DataFrame]
LABELS = ("a", "b", "c")
GROUPS = (("part", ("x", "y", None)), ("half", (0, 1)))


def task_of(statistic: Statistic, **options: Any) -> Accumulator:
    """Return an accumulator of a statistic, whose columns are named like their roles."""
    kind = statistic.kind
    labels = statistic.labels or LABELS
    options |= {name: name for name in statistic.inputs}
    needs = {*statistic.roles, *({"y_pred"} if kind in SEVERAL and "y_score" not in statistic.roles else ())}
    if kind == "multilabel":
        options |= {role: {label: f"{role}_{label}" for label in labels} for role in needs}
    else:
        options |= {role: role for role in needs}
        if kind == "multiclass" and "y_score" in needs:
            options["y_score"] = {label: f"y_score_{label}" for label in labels}
    return Accumulator(statistic, **options)


def rows_of(acc: Accumulator) -> MakeRows:
    """Return a function of rows for an accumulator: scores of all kinds, weights including 0, groups including null."""
    if acc.roles.expressions or acc.roles.positive is not None:
        raise SpecificationError("Pass ", Argument("rows"), ", a function of a number of rows and a generator.")
    return lambda count, rng: _rows(acc.roles, count, rng)


def _rows(roles: Roles, count: int, rng: np.random.Generator) -> pl.DataFrame:
    columns: dict[str, Any] = dict(_targets(roles, count, rng))
    columns |= {column: rng.gamma(2, 2, count) for column in roles.inputs.values()}
    if roles.sample_weight:
        columns[roles.sample_weight] = rng.integers(0, 5, count) / 2
    if roles.unit:
        columns[roles.unit] = rng.integers(0, 40, count)
    values = dict(GROUPS)
    for column in roles.by:
        columns[column] = pl.Series(values.get(column, LABELS)).gather(
            rng.integers(0, len(values.get(column, LABELS)), count)
        )
    return pl.DataFrame(columns or {"row": np.arange(count)})


def _targets(roles: Roles, count: int, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Columns of true values, predictions, and scores, by name."""
    predicted = [name for names in roles.y_pred.values() for name in names]
    scores = roles.y_score.values()
    score = probabilities(count, rng)
    if roles.kind == "regression":
        for name in [*roles.y_true, *predicted]:
            yield name, rng.gamma(2, 10, count) + 0.01
    elif roles.kind == "multiclass":
        for name in [*roles.y_true, *predicted]:
            yield name, pl.Series(roles.labels or LABELS).gather(rng.integers(0, len(roles.labels or LABELS), count))
    else:
        for name in [*roles.y_true, *predicted]:
            yield name, rng.random(count) < score
    for names in scores:
        if roles.kind == "multiclass":
            sure = np.eye(len(names))[rng.integers(0, len(names), count)]  # probabilities of 0 and 1
            shares = np.where(rng.random((count, 1)) < 0.2, sure, rng.dirichlet(np.ones(len(names)), count))
            yield from zip(names, shares.T, strict=True)
        elif roles.probability or roles.kind in SEVERAL:
            yield from ((name, np.where(rng.random(count) < 0.8, score, rng.random(count))) for name in names)
        else:
            for name in names:  # numbers of both signs and of any size
                yield name, rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-300, 300, count)


def probabilities(count: int, rng: np.random.Generator) -> Any:
    """Return probabilities: continuous, rounded, tiny, saturated, and exactly 0 and 1."""
    kinds = [
        rng.random(count),
        rng.random(count).round(1),
        10.0 ** -rng.uniform(0, 300, count),
        1 - 10.0 ** -rng.uniform(0, 17, count),
        rng.integers(0, 2, count).astype(float),
    ]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def splits(data: pl.DataFrame, rng: np.random.Generator) -> Iterator[list[pl.DataFrame]]:
    """Return splits: even parts, doubling parts, and random parts, with empty parts first and last."""
    rows = data.height
    cuts = [
        np.linspace(0, rows, 6).astype(int)[1:-1],
        np.unique(rows >> np.arange(1, 1 + rows.bit_length())),
        np.sort(rng.integers(0, rows + 1, 4)),
    ]
    for inner in cuts:
        ends = [0, 0, *inner.tolist(), rows, rows]
        yield [data[a:b] for a, b in pairwise(ends)]


def merged_as_a_tree(parts: Iterable[Accumulator], rng: np.random.Generator) -> Accumulator:
    """Merge two random accumulators at a time until one is left."""
    left = list(parts)
    while len(left) > 1:
        one = left.pop(rng.integers(len(left)))
        left.append(one + left.pop(rng.integers(len(left))))
    return left[0]
