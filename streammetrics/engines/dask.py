"""Dask: one task per partition or file, and states merged in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import ObjectPath, pa, whole
from streammetrics.data import (
    MOST_FOLDS,
    Source,
    fold,
    open_files,
    paths_of,
    require_columns,
    stored_types,
    typed,
    types_of,
)
from streammetrics.engines.base import (
    Metrics,
    absorb,
    engine,
    evaluated,
    merge,
    own_errors,
    partial,
    require_accumulator,
    require_groups,
)
from streammetrics.errors import Argument, ColumnError, SourceError, SpecificationError
from streammetrics.report import Report

if TYPE_CHECKING:
    from dask.bag import Bag

SPLIT_EVERY = 8  # states that a task merges
BUCKETS = 64  # tables that many groups are distributed to


def accumulate(source: Source, task: Accumulator, *, split_every: int = SPLIT_EVERY) -> Accumulator:
    """Process the rows of a source, and return a new accumulator with them.

    Each partition becomes a state on its worker. Tasks merge several states at a time, and the client receives one
    state. The current scheduler is used, for example that of a ``distributed.Client``.

    Args:
        source: A ``dask.dataframe``, a bag of frames or batches, or paths, globs, or folders of files that workers can
            read, also in object stores, with credentials of the environment. Each file or table is one task.
        task: An accumulator with the specification, which stays unchanged.
        split_every: Number of states that one task merges, at least 2.

    Raises:
        SourceError: If the source is missing, unreadable, or not supported.
        SpecificationError: If ``split_every`` is less than 2, or ``task`` is not an accumulator.
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.
    """
    require_accumulator(source, task)
    split_every = whole(Argument("split_every"), split_every, least=2)
    delayed = engine("dask", extra="dask").delayed
    states = _states(source, task)
    while len(states) > 1:
        together = (states[i : i + split_every] for i in range(0, len(states), split_every))
        states = [delayed(merge)(some) for some in together]
    with own_errors():
        return absorb(task.empty(), (state.compute() for state in states))


def evaluate(
    source: Source,
    task: Accumulator,
    *,
    metrics: Metrics = None,
    confidence: float | None = None,
    split_every: int = SPLIT_EVERY,
) -> Report:
    """Evaluate the rows of a source.

    Args:
        source: As in `accumulate`.
        task: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.
        split_every: As in `accumulate`.

    Raises:
        SourceError: If there are no rows.
        MetricError: If a metric is unknown or not available.
    """
    return evaluated(accumulate, source, task, metrics, confidence, split_every=split_every)


def states(source: Source, task: Accumulator, *, buckets: int = BUCKETS) -> Bag:
    """Return the states of very many groups, merged on the workers: each group is in one of several tables.

    Args:
        source: As in `accumulate`.
        task: An accumulator with the specification. It stays unchanged.
        buckets: Number of tables, from 2 to 256.

    Returns:
        A bag of Arrow tables of states. `Accumulator.from_arrow` reads one of them, or several concatenated ones.

    Raises:
        SpecificationError: If there are no group columns, or ``buckets`` is out of range.
    """
    require_accumulator(source, task)
    require_groups(task)
    if not (isinstance(buckets, int) and 2 <= buckets <= MOST_FOLDS):
        raise SpecificationError(Argument("buckets"), f" must be between 2 and {MOST_FOLDS}, got {buckets}.")
    delayed, bag = engine("dask", extra="dask").delayed, engine("dask.bag", extra="dask")
    parts, keys = _states(source, task), task.roles.keys
    types = delayed(_common_types)([delayed(_types)(part, keys) for part in parts])
    split = delayed(_apart, nout=buckets)
    pieces = [split(part, types, buckets) for part in parts]
    together = delayed(_together)
    return bag.from_delayed([together([piece[i] for piece in pieces], types) for i in range(buckets)])


def _states(source: Source, task: Accumulator) -> list[Any]:
    state = engine("dask", extra="dask").delayed(partial)
    spec = task.empty()
    parts = _parts(source, task.roles.sources)
    return [state(part, spec, f"partition {number}") for number, part in enumerate(parts)]


def _parts(source: Source, columns: Sequence[str]) -> list[Any]:
    if hasattr(source, "to_delayed"):
        if hasattr(source, "columns"):
            require_columns(columns, list(source.columns))
            source = source[list(columns)] if columns else source
        return list(source.to_delayed())
    if paths := paths_of(source):
        return [str(file if isinstance(file, ObjectPath) else file.resolve()) for file in open_files(paths).paths]
    kind = type(source).__name__
    raise SourceError(f"Unsupported source type {kind}. Pass paths, a dask.dataframe, or a bag of frames.")


def _types(table: pa.Table, keys: Sequence[str]) -> tuple[pl.Schema, pl.Schema, pa.Schema]:
    """The types of the groups of a state: by their values, as stored, and those of its other columns."""
    groups = pl.DataFrame(table.select(keys))
    return types_of(groups.iter_columns()), groups.schema, table.drop_columns(keys).schema


def _common_types(parts: Sequence[tuple[pl.Schema, pl.Schema, pa.Schema]]) -> tuple[pl.Schema, pa.Schema]:
    """The types of groups, and of the other columns, whose labels have types that depend on the data."""
    by_values, stored, others = zip(*parts, strict=True)
    groups = stored_types(by_values, stored)
    try:
        return groups, pa.unify_schemas(others, promote_options="permissive")
    except pa.ArrowTypeError:
        raise ColumnError("Class labels have different types in different partitions. Cast them to one type.") from None


def _apart(table: pa.Table, types: tuple[pl.Schema, pa.Schema], buckets: int) -> list[pa.Table]:
    """The groups of a table by bucket. The bucket of a group depends only on the values of its columns."""
    groups = typed(pl.DataFrame(table.select(list(types[0]))), types[0])
    for i, name in enumerate(table.column_names):
        table = table.set_column(i, name, groups[name].to_arrow()) if name in groups.columns else table
    bucket = sum(fold(column, buckets).to_numpy().astype(int) for column in groups) % buckets
    return [table.take(np.flatnonzero(bucket == i)) for i in range(buckets)]


def _together(tables: list[pa.Table], types: tuple[pl.Schema, pa.Schema]) -> list[pa.Table]:
    merged = merge(tables)
    fields = [types[1].field(field.name) if field.name in types[1].names else field for field in merged.schema]
    return [merged.cast(pa.schema(fields, merged.schema.metadata))]
