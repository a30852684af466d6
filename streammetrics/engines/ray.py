"""Ray Data: a state for each block, merged on the driver as they come; or, of very many groups, a dataset of states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streammetrics.accumulator import Accumulator
from streammetrics.engines import tables
from streammetrics.engines.tables import (
    Metrics,
    absorb,
    evaluated,
    own_errors,
    packed,
    require_accumulator,
    require_groups,
    require_whole,
    restored,
    unpacked,
)
from streammetrics.report.report import Report
from streammetrics.sources.streams import require
from streammetrics.system.lazy import pa

if TYPE_CHECKING:
    from ray.data import Dataset

BLOCK = "a block"  # what errors call one: blocks have no numbers that a user knows
TASKS = 16  # blocks of the states of many groups
WHOLE: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}  # a block at a time, as Arrow


def accumulate(dataset: Dataset, acc: Accumulator) -> Accumulator:
    """Take the rows of a dataset into an accumulator, and return it.

    Each block becomes a state; the driver adds these up as they come.

    Args:
        dataset: A Ray dataset.
        acc: An accumulator.

    Raises:
        ColumnError: If a column is missing or has an unsupported type.
        DataError: If a column contains invalid values.
    """
    require_accumulator(dataset, acc)
    spec = acc.empty()
    with own_errors():
        found = _used(dataset, acc).map_batches(lambda block: _partial_state(block, spec), **WHOLE)
        return absorb(acc, _states(found))


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
        acc: An accumulator, which is not filled.
        metrics: Metrics of the report, as in `Accumulator.finalize`. Defaults to those of the task.
        confidence: Confidence level of intervals, such as 0.95. Defaults to no intervals.

    Raises:
        SourceError: If there are no rows.
        MetricError: If a metric is unknown or not available.
    """
    return evaluated(accumulate, dataset, acc, metrics, confidence)


def states(dataset: Dataset, acc: Accumulator, *, tasks: int = TASKS) -> Dataset:
    """The states of very many groups, added up on the workers: a row for each group, which no single machine holds.

    Args:
        dataset: As in `accumulate`.
        acc: Says what to keep by which columns, and is not filled.
        tasks: Number of blocks of the result.

    Returns:
        A dataset with the group columns and one nested column for each statistic. It can be filtered by group, united
        with others and given to `merge`, written, and `collect` brings home some of it.

    Raises:
        SpecificationError: If there are no group columns.
    """
    require_accumulator(dataset, acc)
    require_groups(acc)
    spec = acc.empty()
    return merge(
        _used(dataset, acc).map_batches(lambda block: tables.partial(block, spec, BLOCK), **WHOLE), acc, tasks=tasks
    )


def merge(states: Dataset, acc: Accumulator, *, tasks: int = TASKS) -> Dataset:
    """Add up states of the same group, on the workers: those of several days, say, as one dataset.

    Args:
        states: A dataset of `states`, the union of several, or one that was written and read again.
        acc: What its states keep, by which columns. To roll up, give ``acc.rollup("country")``.
        tasks: As in `states`.
    """
    require_whole("tasks", tasks, 1)
    spec = acc.empty()
    shuffled = states.repartition(tasks, keys=list(acc.roles.group_columns))
    return shuffled.map_batches(lambda block: _merged(block, spec), **WHOLE)


def collect(states: Dataset, acc: Accumulator) -> Accumulator:
    """The accumulator of a dataset of states, such as that of a few groups."""
    with own_errors():
        blocks = states.iter_batches(**WHOLE)
        return absorb(acc.empty(), (restored(block, acc) for block in blocks if block.num_rows))


def _used(dataset: Dataset, acc: Accumulator) -> Dataset:
    """The dataset of the columns in use; for volume alone, and if columns come from a function, as it is."""
    columns, schema = acc.roles.sources, dataset.schema(fetch_if_missing=False)  # which would run the functions
    if schema is None or not columns:
        return dataset
    require(columns, schema.names)
    return dataset.select_columns(list(columns))


def _partial_state(block: pa.Table, acc: Accumulator) -> pa.Table:
    """The state of a block as one value."""
    return pa.table({"state": pa.array([packed(tables.partial(block, acc, BLOCK))], pa.large_binary())})


def _states(dataset: Dataset) -> Iterator[pa.Table]:
    for block in dataset.iter_batches(**WHOLE):
        yield from map(unpacked, block["state"])


def _merged(block: pa.Table, acc: Accumulator) -> pa.Table:
    return tables.merge([restored(block, acc)])
