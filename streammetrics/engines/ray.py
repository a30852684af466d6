"""Ray Data: one state per block, merged on the driver; or, for very many groups, a dataset of states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import pa, whole
from streammetrics.data import Hashes, hash_values, require_columns
from streammetrics.engines import base
from streammetrics.engines.base import (
    Metrics,
    absorb,
    evaluated,
    own_errors,
    packed,
    require_accumulator,
    require_groups,
    require_source,
    restored,
    unpacked,
)
from streammetrics.report import Report

if TYPE_CHECKING:
    from ray.data import Dataset

BLOCK = "a block"  # in errors, since users do not know the numbers of blocks
TASKS = 16  # blocks of the states of many groups
HASH = "__streammetrics_hash__"
WHOLE: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}  # a block at a time, as Arrow


def accumulate(dataset: Dataset, acc: Accumulator) -> Accumulator:
    """Process the rows of a dataset, and return a new accumulator with them.

    Each block becomes a state. The driver merges the states as they arrive.

    Args:
        dataset: A Ray dataset.
        acc: An accumulator with the specification, which stays unchanged.

    Raises:
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.
    """
    require_accumulator(dataset, acc)
    spec = acc.empty()
    with own_errors():
        found = _used(dataset, acc).map_batches(lambda block: _partial_state(block, spec), **WHOLE)
        return absorb(acc.empty(), _states(found))


def evaluate(
    dataset: Dataset,
    acc: Accumulator,
    *,
    metrics: Metrics = None,
    confidence: float | None = None,
) -> Report:
    """Evaluate the rows of a dataset.

    Args:
        dataset: As in `accumulate`.
        acc: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.

    Raises:
        SourceError: If there are no rows.
        MetricError: If a metric is unknown or not available.
    """
    return evaluated(accumulate, dataset, acc, metrics, confidence)


def states(dataset: Dataset, acc: Accumulator, *, tasks: int = TASKS) -> Dataset:
    """Return the states of very many groups, merged on the workers, with one row per group.

    Args:
        dataset: As in `accumulate`.
        acc: An accumulator with the specification. It stays unchanged.
        tasks: Number of blocks of the result.

    Returns:
        A dataset with the group columns and one nested column per statistic. It can be filtered by group, written,
        united with others for `merge`, and passed to `collect`.

    Raises:
        SpecificationError: If there are no group columns.
    """
    require_accumulator(dataset, acc)
    require_groups(acc)
    spec = acc.empty()
    return merge(
        _used(dataset, acc).map_batches(lambda block: base.partial(block, spec, BLOCK), **WHOLE), acc, tasks=tasks
    )


def merge(states: Dataset, acc: Accumulator, *, tasks: int = TASKS) -> Dataset:
    """Merge states of the same group on the workers, for example those of several days.

    Args:
        states: A dataset of `states`, the union of several, or one that was written and read again.
        acc: An accumulator with the specification of the states. To roll up, pass ``acc.rollup("country")``.
        tasks: As in `states`.

    Returns:
        A dataset as from `states`, with one row per group.
    """
    tasks = whole("tasks=", tasks, least=1)
    spec = acc.empty()
    keys = list(acc.roles.group_columns)
    shuffled = states.map_batches(lambda block: _with_hashes(block, keys), **WHOLE).repartition(tasks, keys=[HASH])
    return shuffled.map_batches(lambda block: _merged(block, spec), **WHOLE)


def collect(states: Dataset, acc: Accumulator) -> Accumulator:
    """Return the accumulator of a dataset of states, for example of a few groups.

    Args:
        states: A dataset of `states` or `merge`, or some of its rows.
        acc: An accumulator with the specification of the states. It stays unchanged.

    Raises:
        SpecificationError: If the states do not match the specification.
    """
    with own_errors():
        blocks = states.iter_batches(**WHOLE)
        return absorb(acc.empty(), (restored(block, acc) for block in blocks if block.num_rows))


def _used(dataset: Dataset, acc: Accumulator) -> Dataset:
    """The dataset with the columns in use; unchanged for volume alone, and if columns come from a function."""
    require_source("dataset", dataset, "map_batches", "a Ray dataset")
    columns = acc.roles.sources
    try:
        schema = dataset.schema(fetch_if_missing=False)  # which would run the functions
    except pa.ArrowException:  # blocks of different types, which may agree
        schema = None
    if schema is None or not columns:
        return dataset
    require_columns(columns, schema.names)
    return dataset.select_columns(list(columns))


def _partial_state(block: pa.Table, acc: Accumulator) -> pa.Table:
    return pa.table({"state": pa.array([packed(base.partial(block, acc, BLOCK))], pa.large_binary())})


def _states(dataset: Dataset) -> Iterator[pa.Table]:
    for block in dataset.iter_batches(**WHOLE):
        yield from (unpacked(state.as_buffer()) for state in block["state"])


def _with_hashes(block: pa.Table, keys: Sequence[str]) -> pa.Table:
    """A block with a number of each group, since Ray separates equal values of different types, as 1.5 and 1.50."""
    columns = [_hashes(column) for column in pl.DataFrame(block.select(keys))]
    hashes = np.sum(columns, axis=0, dtype=np.uint64)
    return block.append_column(HASH, pa.array(hashes.view(np.int64)))


def _hashes(groups: pl.Series) -> Hashes:
    if isinstance(groups.dtype, pl.Decimal):
        text = groups.cast(pl.String)
        groups = text.str.strip_chars_end("0").str.strip_chars_end(".") if groups.dtype.scale else text
    return hash_values(groups)


def _merged(block: pa.Table, acc: Accumulator) -> pa.Table:
    return base.merge([restored(block, acc)])
