"""The specification of a history: models are added, everything else must be equal, and states are copied to another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator, empty_of
from streammetrics.data import SINGLE, Roles
from streammetrics.errors import MergeError
from streammetrics.statistics import PAIR, Paired, Statistic, difference, require_equal

ADVICE = (
    "A history has one specification. Append to a new history, and copy old windows to it with MetricStore.copy_to."
)


def joint(ours: Accumulator, theirs: Accumulator) -> Accumulator:
    """Return the empty accumulator of a history, with the models of another accumulator added."""
    if ours.roles == theirs.roles and ours.statistics == theirs.statistics:
        return ours
    try:
        _require_roles(ours.roles, theirs.roles)
        both = {s.name for s in ours.statistics} & {s.name for s in theirs.statistics}
        a, b = (
            [_without_pairs(s) for s in acc.statistics if s.name in both or not isinstance(s, Paired)]
            for acc in (ours, theirs)
        )
        lacking, more = [s for s in a if s not in b], [s for s in b if s not in a]
        if lacking or more:
            raise MergeError(f"The accumulators have different statistics: {lacking} and {more}.")
    except MergeError as error:
        raise MergeError(*error.args, f" {ADVICE}") from None
    return _with_models(ours, theirs)


def copied(target: Accumulator, source: Accumulator) -> Accumulator:
    """Return the empty accumulator of a history, with the models of another history that is copied to it."""
    ours, theirs = target.roles, source.roles
    if any(theirs.inputs.get(name) != column for name, column in ours.inputs.items()):
        raise MergeError(*difference("inputs", ours, theirs))
    free = {name: getattr(ours, name) for name in ("by", "probability", "inputs", "row_id")}
    _require_roles(ours, replace(theirs, **free))
    statistics = {s.name: s for s in source.statistics}
    for statistic in target.statistics:
        if not isinstance(statistic, Paired) and not _includes(statistics.get(statistic.name), statistic):
            raise MergeError(f"The history cannot be copied, because its windows do not have {statistic!r}.")
    return _with_models(target, source)


def carry(acc: Accumulator, spec: Accumulator) -> Accumulator:
    """Return the state of an accumulator with the columns and statistics of `joint` or `copied`.

    Group columns that it lacks are null, and it has no rows of pairs that it lacks.
    """
    if acc.roles == spec.roles and acc.statistics == spec.statistics:
        return acc
    frame, none = pl.DataFrame(acc.to_arrow()), spec.to_arrow()
    schema, own = pl.DataFrame(none).schema, {s.name: s for s in acc.statistics}
    columns = {name: pl.col(name) if name in frame.columns else pl.lit(None, kind) for name, kind in schema.items()}
    columns |= {s.name: _cells(own.get(s.name), s, schema[s.name]) for s in spec.statistics}
    table = frame.select(column.alias(name) for name, column in columns.items()).to_arrow()
    return Accumulator.from_arrow(table.replace_schema_metadata(none.schema.metadata))


def _require_roles(ours: Roles, theirs: Roles) -> None:
    """Reject columns with another meaning. Models can differ."""
    models = {}
    for role in ("y_pred", "y_score"):
        a, b = getattr(ours, role), getattr(theirs, role)
        if bool(a) != bool(b) or (SINGLE in a) != (SINGLE in b) or any(a[name] != b[name] for name in a.keys() & b):
            raise MergeError(*difference(role, ours, theirs))
        models[role] = a | b
    require_equal(replace(ours, **models), replace(theirs, **models), (), ())


def _with_models(ours: Accumulator, theirs: Accumulator) -> Accumulator:
    models = {role: getattr(ours.roles, role) | getattr(theirs.roles, role) for role in ("y_pred", "y_score")}
    roles = replace(ours.roles, **models)
    names = {s.name for s in ours.statistics}
    more = (s for s in theirs.statistics if isinstance(s, Paired) and s.name not in names)
    statistics = tuple(_with_pairs(s, theirs) for s in (*ours.statistics, *more))
    if roles == ours.roles and statistics == ours.statistics:
        return ours
    frame, none = pl.DataFrame(ours.to_arrow()), empty_of(roles, statistics, ours).to_arrow()
    pairs = [pl.lit([], pl.DataFrame(none).schema[s.name]).alias(s.name) for s in statistics if s.name not in names]
    return Accumulator.from_arrow(frame.with_columns(pairs).to_arrow().replace_schema_metadata(none.schema.metadata))


def _without_pairs(statistic: Statistic) -> Statistic:
    return replace(statistic, pairs=()) if isinstance(statistic, Paired) else statistic


def _with_pairs(statistic: Statistic, acc: Accumulator) -> Statistic:
    """A statistic with the pairs of models of an accumulator added."""
    if not isinstance(statistic, Paired):
        return statistic
    pairs = dict.fromkeys(statistic.pairs)
    for other in acc.statistics:
        if isinstance(other, Paired) and _without_pairs(other) == _without_pairs(statistic):
            pairs |= dict.fromkeys(other.pairs)
    if turned := [pair for pair in pairs if pair[::-1] in pairs]:
        raise MergeError(f"The models {turned[0]} are a pair in the opposite order. Name them in the same order.")
    return replace(statistic, pairs=tuple(pairs))


def _includes(own: Statistic | None, statistic: Statistic) -> bool:
    """Whether a statistic has the cells of another one, with fewer thresholds or a smaller capacity."""
    if type(own) is not type(statistic):
        return False
    thresholds, others = _thresholds(statistic), _thresholds(own)
    if not thresholds <= others or (not thresholds and others):
        return False
    options: dict[str, Any] = {n: getattr(statistic, n) for n in ("capacity", "thresholds") if hasattr(statistic, n)}
    return replace(own, **options) == statistic and getattr(own, "capacity", 0) >= options.get("capacity", 0)


def _thresholds(statistic: Any) -> set[float]:
    return {*getattr(statistic, "thresholds", ())}


def _cells(own: Statistic | None, statistic: Statistic, kind: Any) -> pl.Expr:
    """The cells of a statistic in its column, from those of a statistic that includes it."""
    column, field = pl.col(statistic.name), pl.element().struct.field
    if own == statistic:
        return column
    if isinstance(statistic, Paired):
        if not isinstance(own, Paired) or _without_pairs(own) != _without_pairs(statistic):
            return pl.lit([], kind)
        numbers = [statistic.pairs.index(pair) for pair in own.pairs]
        number = field(PAIR).replace_strict([*range(len(numbers))], numbers, return_dtype=pl.UInt32)
        return column.list.eval(pl.element().struct.with_fields(number.alias(PAIR)))
    thresholds = _thresholds(statistic)
    return column.list.eval(pl.element().filter(field("threshold").is_in(thresholds))) if thresholds else column
