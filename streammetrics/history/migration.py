"""Migration of states to another specification of a history: what rows of earlier or later versions lack is noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator, empty_of
from streammetrics.errors import MergeError
from streammetrics.rows.roles import SINGLE, Roles
from streammetrics.state.missing import COLUMN, FIELDS, STATISTIC, THRESHOLD
from streammetrics.state.specification import difference
from streammetrics.statistics import Statistic
from streammetrics.statistics.paired import Paired

ADDED = ("y_pred", "y_score", "inputs")  # mappings that can differ in their keys
FREE = ("by", "probability", *ADDED)
LOOSE = ("capacity", "thresholds")  # options of a statistic that can differ
MAY = "A history can only add segments, and add or drop models, thresholds, and statistics."


def require_alike(ours: Roles, theirs: Roles) -> None:
    """Reject columns with another meaning."""
    for role in fields(Roles):
        a, b = getattr(ours, role.name), getattr(theirs, role.name)
        if role.name in ADDED:
            differ = any(a[name] != b[name] for name in a.keys() & b.keys())
            differ |= role.name != "inputs" and (bool(a) != bool(b) or (SINGLE in a) != (SINGLE in b))
        else:
            differ = role.compare and role.name not in FREE and a != b
        if differ:
            raise MergeError(f"{difference(role.name, ours, theirs)} {MAY}")


def migrate(acc: Accumulator, whole: Accumulator, last: Any) -> Accumulator:
    """Return the state of windows up to ``last`` with the specification of ``whole``.

    Its groups have no cells of statistics and thresholds that they lack, which is noted, and nulls in group columns
    that they lack.
    """
    if acc.roles == whole.roles and acc.statistics == whole.statistics:
        return acc
    lacks = [dict(zip(FIELDS, values, strict=True)) for values in _lacks(acc, whole, f"windows up to {last}")]
    uncounted = {lack[STATISTIC] for lack in lacks if lack[THRESHOLD] is None}
    frame, none = pl.DataFrame(acc.to_arrow()), whole.to_arrow()
    columns = [
        pl.col(name)
        if name in frame.columns and name not in uncounted
        else pl.lit([] if isinstance(kind, pl.List) else None, kind).alias(name)
        for name, kind in pl.DataFrame(none).schema.items()
    ]
    if lacks:
        columns.append(pl.lit(pl.Series(COLUMN, [lacks], pl.List(pl.Struct(FIELDS)))).first().alias(COLUMN))
    return Accumulator.from_arrow(frame.select(columns).to_arrow().replace_schema_metadata(none.schema.metadata))


def _lacks(acc: Accumulator, whole: Accumulator, windows: str) -> Iterator[tuple[str | None, float | None, str]]:
    """The statistics, thresholds, and group columns of ``whole`` that a state lacks, as in `state.missing`."""
    own = {s.name: s for s in acc.statistics}
    for statistic in whole.statistics:
        counted = own.get(statistic.name)
        lacking: list[float | None] = [None]
        if counted is not None and _alike(counted, statistic):
            lacking = [t for t in _thresholds(statistic) if t not in _thresholds(counted)]
        yield from ((statistic.name, threshold, f"not available in {windows}") for threshold in lacking)
    yield from ((None, None, f"{windows} do not have {name!r}") for name in whole.roles.by if name not in acc.roles.by)


def union(kept: Sequence[Accumulator], newest: Accumulator, by: Sequence[str], types: Mapping[str, Any]) -> Accumulator:
    """Return an empty accumulator with the statistics of the newest and some others, and columns of these types."""
    mappings: dict[str, Any] = {name: {} for name in ADDED}
    for acc in (*kept, newest):
        for name in ADDED:
            mappings[name] |= getattr(acc.roles, name)
    statistics = list(_statistics(kept, newest))
    probability = any(s.needs_probabilities() for s in statistics)
    roles = replace(newest.roles, by=tuple(by), probability=probability, **mappings)
    none = empty_of(roles, statistics, newest).to_arrow()
    typed = pl.DataFrame(schema={name: types[name] for name in none.column_names}).to_arrow()
    return Accumulator.from_arrow(typed.replace_schema_metadata(none.schema.metadata))


def _statistics(kept: Sequence[Accumulator], newest: Accumulator) -> Iterator[Statistic]:
    """The statistics of some accumulators and of the newest one; pairs of models only if all have the same.

    Capacities are the smallest, thresholds the union, other options those of the last.
    """
    last = {s.name: s for acc in (newest, *kept) for s in acc.statistics}
    for name, statistic in last.items():
        found = [s for acc in kept for s in acc.statistics if s.name == name]
        if isinstance(statistic, Paired):
            if len(found) == len(kept) and all(s == (found or [statistic])[0] for s in found):
                yield (found or [statistic])[0]
            continue
        alike = [s for s in found if _alike(s, statistic)] or [statistic]
        loose: dict[str, Any] = {}
        if hasattr(statistic, "capacity"):
            loose["capacity"] = min(getattr(s, "capacity") for s in alike)  # noqa: B009
        if _thresholds(statistic):
            alike += [s for s in newest.statistics if _alike(s, statistic)]
            loose["thresholds"] = tuple({t for s in alike for t in _thresholds(s)})
        yield replace(statistic, **loose) if loose else statistic


def _alike(one: Statistic, other: Statistic) -> bool:
    """Whether two statistics can be merged, at some capacity and for the thresholds of both."""
    if type(one) is not type(other) or isinstance(other, Paired):
        return one == other
    loose: dict[str, Any] = {name: getattr(other, name) for name in LOOSE if hasattr(other, name)}
    return bool(_thresholds(one)) == bool(_thresholds(other)) and replace(one, **loose) == other


def _thresholds(statistic: Statistic) -> tuple[float, ...]:
    found: tuple[float, ...] = getattr(statistic, "thresholds", ())
    return found
