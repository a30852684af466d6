"""What an accumulator is to keep: statistics that fit each other and the user's columns, and how to say it briefly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from streammetrics.errors import Argument, MergeError, SpecificationError
from streammetrics.rows.roles import SINGLE, Kind, Roles
from streammetrics.state.missing import COLUMN
from streammetrics.statistics import RowCounts, Statistic

MOST_NAMES = 5  # of columns for labels, in print


def kind_of(statistics: Sequence[Statistic]) -> Kind:
    """The kind of task that the statistics are for; binary ones serve tasks of several labels too.

    If none tells, true values whose distribution is kept are those of a regression.
    """
    kinds = {kind for s in statistics if (kind := s.task()) is not None}
    if len(kinds - {"binary"}) > 1:
        said = " and ".join(sorted(kinds - {"binary"}))
        raise SpecificationError(f"Statistics of different tasks cannot be combined: {said}.")
    unsaid: Kind = "regression" if not kinds and any("y_true" in s.needs() for s in statistics) else "binary"
    return next(iter(kinds - {"binary"}), unsaid)


def complete(statistics: Sequence[Statistic], roles: Roles) -> tuple[Statistic, ...]:
    """The statistics with `RowCounts` first.

    Raises:
        SpecificationError: If they do not fit each other, or the columns.
    """
    kept = (RowCounts(), *(s for s in statistics if not isinstance(s, RowCounts)))
    names = [s.name for s in kept]
    for statistic in kept:
        if names.count(statistic.name) > 1:
            raise SpecificationError(f"{type(statistic).__name__} is repeated. Pass one statistic of each kind.")
        if misfit := statistic.misfit(roles):
            raise SpecificationError(f"{type(statistic).__name__} ", *misfit, ".")
    if clash := {*names, COLUMN}.intersection(roles.by):
        raise SpecificationError(
            Argument("by"), f" cannot use the name {min(clash)!r}, which saved states use. Give it an alias."
        )
    return kept


def require_equal(roles: Roles, other: Roles, statistics: Sequence[Statistic], others: Sequence[Statistic]) -> None:
    """Refuse to merge what was kept under different specifications, and say where they differ.

    Raises:
        MergeError: If they differ.
    """
    for role in fields(Roles):
        if role.compare and (a := getattr(roles, role.name)) != (b := getattr(other, role.name)):
            raise MergeError(f"The accumulators differ in {role.name}: {a!r} and {b!r}.")
    if statistics != others:
        ours, theirs = ([s for s in x if s not in y] for x, y in ((statistics, others), (others, statistics)))
        raise MergeError(f"The accumulators have different statistics: {ours} and {theirs}.")


def brief(roles: Roles, statistics: Sequence[Statistic]) -> str:
    """The statistics and the columns in a line."""
    shown = {"y_true": _one({SINGLE: roles.y_true}), "y_pred": _one(roles.y_pred), "y_score": _one(roles.y_score)}
    shown |= {"sample_weight": roles.sample_weight, "unit": roles.unit, "by": list(roles.by)}
    parts = [type(s).__name__ for s in statistics if not isinstance(s, RowCounts)]
    return ", ".join([*parts, *(f"{name}={value!r}" for name, value in shown.items() if value)])


def _one(columns: Mapping[str, tuple[str, ...]]) -> Any:
    """Names of columns as briefly as they say it: one, a few of those for each label, or these of each model."""
    names_of = {model: names[0] if len(names) == 1 else _few(names) for model, names in columns.items()}
    return names_of.get(SINGLE, names_of)


def _few(names: Sequence[str]) -> list[str]:
    return [*names] if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "…"]
