"""Validation and display of the specification of an accumulator: statistics and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import gcd
from typing import Any

from streammetrics.base import few
from streammetrics.data import FEWEST_FOLDS, FOLDS, SINGLE, Kind, Roles
from streammetrics.errors import Argument, MergeError, Parts, SpecificationError
from streammetrics.statistics import RowCounts, RowFingerprint, Statistic

MOST_NAMES = 5  # of columns for labels, in text


def kind_of(statistics: Sequence[Statistic]) -> Kind:
    """Return the kind of task of the statistics. Binary statistics also apply to multiclass and multilabel tasks.

    If the statistics do not determine it, a distribution of true values implies a regression.
    """
    kinds = {kind for s in statistics if (kind := s.kind) is not None}
    if len(kinds - {"binary"}) > 1:
        tasks = " and ".join(sorted(kinds - {"binary"}))
        raise SpecificationError(f"Statistics of different tasks cannot be combined: {tasks}.")
    default: Kind = "regression" if not kinds and any("y_true" in s.roles for s in statistics) else "binary"
    return next(iter(kinds - {"binary"}), default)


def complete(statistics: Sequence[Statistic], roles: Roles) -> tuple[Statistic, ...]:
    """Return the statistics with `RowCounts` first, if they do not contradict each other or the columns."""
    completed = (RowCounts(), *(s for s in statistics if not isinstance(s, RowCounts)))
    names = [s.name for s in completed]
    for statistic in completed:
        if names.count(statistic.name) > 1:
            raise SpecificationError(f"{type(statistic).__name__} is repeated. Pass one statistic of each kind.")
        if misfit := statistic.misfit(roles):
            raise SpecificationError(f"{type(statistic).__name__} {misfit}.")
    if roles.count is not None and any(isinstance(s, RowFingerprint) for s in completed):
        raise SpecificationError(
            Argument("count"),
            " and ",
            Argument("fingerprint"),
            " contradict each other: a fingerprint has single rows.",
        )
    if clash := {*names}.intersection(roles.by):
        raise SpecificationError(
            Argument("by"), f" cannot use the name {min(clash)!r}, which saved states use. Give it an alias."
        )
    return completed


def require_equal(roles: Roles, other: Roles, statistics: Sequence[Statistic], others: Sequence[Statistic]) -> None:
    """Raise if two specifications differ."""
    for role in fields(Roles):
        if role.compare and getattr(roles, role.name) != getattr(other, role.name):
            raise MergeError(*difference(role.name, roles, other))
    if statistics != others:
        ours = [s for s in statistics if s not in others]
        theirs = [s for s in others if s not in statistics]
        raise MergeError(f"The accumulators have different statistics: {ours} and {theirs}.")


def difference(name: str, roles: Roles, other: Roles) -> Parts:
    """Return the parts of the message that two specifications differ in a role."""
    if name == "by":
        shared = ", ".join(repr(column) for column in roles.by if column in other.by)
        fault = f"The first {_grouping(roles)}, and the second {_grouping(other)}. Evaluate both with the same "
        return (fault, Argument("by"), f", or roll up: acc.rollup({shared}).")
    if name == "folds":
        common = gcd(roles.folds, other.folds)
        arguments = "".join(f"{column!r}, " for column in roles.by) + f"folds={common}"
        advice = f", or roll up: acc.rollup({arguments})" if common >= FEWEST_FOLDS else ""
        fault = f"The first has {roles.folds} folds of units, and the second has {other.folds}. "
        return (fault, "Evaluate both with the same ", Argument("folds"), f"{advice}.")
    return (f"The accumulators differ in {name}: {_value(name, roles)!r} and {_value(name, other)!r}.",)


def _grouping(roles: Roles) -> str:
    return f"is grouped by {few(roles.by)}" if roles.by else "is not grouped"


def _value(name: str, roles: Roles) -> Any:
    return _columns(roles).get(name, getattr(roles, name))


def brief(roles: Roles, statistics: Sequence[Statistic]) -> str:
    """Return the statistics and the columns in one line."""
    options = _columns(roles) | {"sample_weight": roles.sample_weight, "count": roles.count, "unit": roles.unit}
    options |= {"folds": roles.folds if roles.folds != FOLDS else None, "by": list(roles.by)}
    parts = [type(s).__name__ for s in statistics if not isinstance(s, RowCounts)]
    return ", ".join([*parts, *(f"{name}={value!r}" for name, value in options.items() if value)])


def _columns(roles: Roles) -> dict[str, Any]:
    """Names of the columns of labels, predictions, and scores in short form."""
    return {"y_true": _one({SINGLE: roles.y_true}), "y_pred": _one(roles.y_pred), "y_score": _one(roles.y_score)}


def _one(columns: Mapping[str, tuple[str, ...]]) -> Any:
    """Names of columns in short form: one, a few of those per label, or those of each model."""
    names_of = {model: names[0] if len(names) == 1 else _few(names) for model, names in columns.items()}
    return names_of.get(SINGLE, names_of)


def _few(names: Sequence[str]) -> list[str]:
    return [*names] if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "…"]
