"""Evaluation of joined rows. A row is evaluated for the models whose columns it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from streammetrics import Accumulator
from streammetrics.accumulator import empty_of
from streammetrics.data import LABEL, joint_types, read
from streammetrics.statistics import Paired, Statistic


def shares(rows: pl.LazyFrame, acc: Accumulator) -> Iterator[tuple[Accumulator, pl.LazyFrame]]:
    """Yield the rows that have the columns of some models, with an accumulator of these models.

    Waiting scores lack the columns of a model that was added after them.
    """
    roles = acc.roles
    if roles.nulls == "drop" or len(roles.models) == 1:
        yield acc.empty(), rows
        return
    complete = [
        pl.all_horizontal(
            roles.expressions.get(name, pl.col(name)).is_not_null()
            for name in (*roles.y_pred.get(model, ()), *roles.y_score.get(model, ()))
        ).alias(model)
        for model in roles.models
    ]
    for present in rows.select(complete).unique().sort(roles.models).collect().iter_rows(named=True):
        models = [model for model in roles.models if present[model]]
        same = pl.all_horizontal(
            made if present[model] else ~made for model, made in zip(roles.models, complete, strict=True)
        )
        yield _of_models(acc, models or roles.models), rows.filter(same)


def require_one_type(rows: pl.DataFrame, acc: Accumulator) -> None:
    """Reject class labels and predictions of different types, also before the first rows match."""
    if acc.roles.kind == "multiclass" and not acc.roles.labels:
        columns = read(rows, acc.roles).columns.items()
        joint_types([pl.Schema({LABEL: s.dtype}) for field, s in columns if field.role in ("truth", "predicted")])


def _of_models(acc: Accumulator, models: Sequence[str]) -> Accumulator:
    """An empty accumulator of some models, and of the pairs of these models."""
    roles = replace(
        acc.roles,
        y_pred={name: columns for name, columns in acc.roles.y_pred.items() if name in models},
        y_score={name: columns for name, columns in acc.roles.y_score.items() if name in models},
    )
    return empty_of(roles, [*_of_pairs(acc.statistics, models)], acc)


def _of_pairs(statistics: Sequence[Statistic], models: Sequence[str]) -> Iterator[Statistic]:
    for statistic in statistics:
        if not isinstance(statistic, Paired):
            yield statistic
        elif pairs := tuple(pair for pair in statistic.pairs if {*pair} <= {*models}):
            yield replace(statistic, pairs=pairs)
