"""Ray Data: one state per block, merged on the driver; or, for very many groups, a dataset of states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import pa, whole
from streammetrics.data import hash_values, require_columns
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
from streammetrics.errors import Argument
from streammetrics.report import Report

if TYPE_CHECKING:
    from ray.data import Dataset

BLOCK = "a block"  # in errors, since users do not know the numbers of blocks
PARTITIONS = 16  # blocks of the states of many groups
HASH = "__streammetrics_hash__"
BLOCKS: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}  # a block at a time, as Arrow


def accumulate(dataset: Dataset, task: Accumulator) -> Accumulator:
    """Process the rows of a dataset, and return a new accumulator with them.

    Each block becomes a state. The driver merges the states as they arrive.

    Args:
        dataset: A Ray dataset.
        task: An accumulator with the specification, which stays unchanged.

    Raises:
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.
    """
    require_accumulator(dataset, task)
    spec = task.empty()
    with own_errors():
        states = _used(dataset, task).map_batches(lambda block: _partial_state(block, spec), **BLOCKS)
        return absorb(task.empty(), _states(states))


def evaluate(
    dataset: Dataset,
    task: Accumulator,
    *,
    metrics: Metrics = None,
    confidence: float | None = None,
) -> Report:
    """Evaluate the rows of a dataset.

    Args:
        dataset: As in `accumulate`.
        task: An accumulator, which stays unchanged.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.

    Raises:
        SourceError: If there are no rows.
        MetricError: If a metric is unknown or not available.
    """
    return evaluated(accumulate, dataset, task, metrics, confidence)


def states(dataset: Dataset, task: Accumulator, *, partitions: int = PARTITIONS) -> Dataset:
    """Return the states of very many groups, merged on the workers, with one row per group.

    Args:
        dataset: As in `accumulate`.
        task: An accumulator with the specification. It stays unchanged.
        partitions: Number of blocks of the result.

    Returns:
        A dataset with the group columns and one nested column per statistic. It can be filtered by group, written,
        united with others for `merge`, and passed to `collect`.

    Raises:
        SpecificationError: If there are no group columns.
    """
    require_accumulator(dataset, task)
    require_groups(task)
    spec = task.empty()
    blocks = _used(dataset, task).map_batches(lambda block: base.partial(block, spec, BLOCK), **BLOCKS)
    return merge(blocks, task, partitions=partitions)


def merge(states: Dataset, task: Accumulator, *, partitions: int = PARTITIONS) -> Dataset:
    """Merge states of the same group on the workers, for example those of several days.

    Args:
        states: A dataset of `states`, the union of several, or one that was written and read again.
        task: An accumulator with the specification of the states. To roll up, pass ``task.rollup("country")``.
        partitions: As in `states`.

    Returns:
        A dataset as from `states`, with one row per group.
    """
    partitions = whole(Argument("partitions"), partitions, least=1)
    spec = task.empty()
    keys = list(task.roles.group_columns)
    shuffled = states.map_batches(lambda block: _with_hashes(block, keys), **BLOCKS).repartition(
        partitions, keys=[HASH]
    )
    return shuffled.map_batches(lambda block: base.merge([restored(block, spec)]), **BLOCKS)


def collect(states: Dataset, task: Accumulator) -> Accumulator:
    """Return the accumulator of a dataset of states, for example of a few groups.

    Args:
        states: A dataset of `states` or `merge`, or some of its rows.
        task: An accumulator with the specification of the states. It stays unchanged.

    Raises:
        SpecificationError: If the states do not match the specification.
    """
    with own_errors():
        blocks = states.iter_batches(**BLOCKS)
        return absorb(task.empty(), (restored(block, task) for block in blocks if block.num_rows))


def _used(dataset: Dataset, task: Accumulator) -> Dataset:
    """The dataset with the columns in use; unchanged for volume alone, and if columns come from a function."""
    require_source("dataset", dataset, "map_batches", "a Ray dataset")
    columns = task.roles.sources
    try:
        schema = dataset.schema(fetch_if_missing=False)  # which would run the functions
    except pa.ArrowException:  # blocks of different types, which may agree
        schema = None
    if schema is None or not columns:
        return dataset
    require_columns(columns, schema.names)
    return dataset.select_columns(list(columns))


def _partial_state(block: pa.Table, task: Accumulator) -> pa.Table:
    return pa.table({"state": pa.array([packed(base.partial(block, task, BLOCK))], pa.large_binary())})


def _states(dataset: Dataset) -> Iterator[pa.Table]:
    for block in dataset.iter_batches(**BLOCKS):
        yield from (unpacked(state.as_buffer()) for state in block["state"])


def _with_hashes(block: pa.Table, keys: Sequence[str]) -> pa.Table:
    """A block with a number of each group, since Ray separates equal values of different types, as 1.5 and 1.50."""
    columns = [hash_values(column) for column in pl.DataFrame(block.select(keys))]
    hashes = np.sum(columns, axis=0, dtype=np.uint64)
    return block.append_column(HASH, pa.array(hashes.view(np.int64)))
