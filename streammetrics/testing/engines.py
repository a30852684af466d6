"""Checks of an engine: the same tables and metrics as a single process, for any distribution of rows."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import polars as pl

from streammetrics import tasks
from streammetrics.accumulator import Accumulator
from streammetrics.base import pa
from streammetrics.errors import ColumnError, DataError, SourceError, SpecificationError, StreamMetricsError
from streammetrics.statistics import ConfusionCounts, ScoreHistogram
from streammetrics.testing.check import Check, checks_of, require
from streammetrics.testing.engine_tasks import (
    BOTH,
    BY,
    EXACT,
    FEW_ROWS,
    MORE,
    SIZES,
    TASKS,
    alone,
    files,
    rows,
)
from streammetrics.testing.laws import require_same, require_same_metrics

Source: TypeAlias = Callable[[Path], Any]
States: TypeAlias = Callable[[Any, Any], Iterable[Any]]


@dataclass(frozen=True)
class Engine:
    """An engine to check: its module, how it reads files, and its capabilities.

    Args:
        module: Module with ``accumulate(source, task)``, which returns a new accumulator, and
            ``evaluate(source, task, metrics=None, confidence=None)``, which returns a report.
        source: Function that returns a source of the engine for a folder of Parquet files.
        states: Function of a source and an accumulator that returns tables of `Accumulator.to_arrow`, in which each
            group occurs once. For engines that store states of many groups on the workers.
        retries: Whether a task is retried if its worker process dies. The check kills one.
        reorders: Whether rows can reach a worker in another order than in the files, so that an error cannot name the
            row.
        prunes_columns: Whether unused columns are not read. The check damages one.

    >>> import streammetrics as sm
    >>> Engine(sm, source=str)
    Engine(streammetrics)
    """

    module: Any
    source: Source
    states: States | None = None
    retries: bool = False
    reorders: bool = True
    prunes_columns: bool = True

    def accumulate(self, folder: Path, task: Accumulator) -> Accumulator:
        """Return a new accumulator with the rows of the files in a folder."""
        acc: Accumulator = self.module.accumulate(self.source(folder), task)
        return acc

    def __repr__(self) -> str:
        return f"Engine({getattr(self.module, '__name__', repr(self.module))})"


def engine_checks(engine: Engine) -> Iterator[Check]:
    """Return the checks of an engine and of its capabilities."""
    for task, by in product(TASKS, BOTH):
        yield Check(f"the tables of one process ({task}, {by})", partial(_same_tables, engine, task, BOTH[by]))
    for task in MORE:
        yield Check(f"the tables of one process ({task})", partial(_same_tables, engine, task, BY, few=True))
    for task, by in product(EXACT, BOTH):
        yield Check(f"the same bytes ({task}, {by})", partial(_same_bytes, engine, task, BOTH[by]))
    yield from checks_of(LAWS, engine)
    if engine.retries:
        yield from checks_of([a_killed_worker_is_counted_once], engine)
    if engine.prunes_columns:
        yield from checks_of([unused_columns_are_not_read], engine)
    if engine.states is not None:
        for task in ("binary", "regression", "models", "units", "labels"):
            yield Check(f"each group has one state ({task})", partial(_one_state, engine.source, engine.states, task))
        yield Check("states are of groups", partial(_states_are_of_groups, engine.source, engine.states))


def _same_tables(engine: Engine, task: str, by: list[Any], few: bool = False) -> None:
    folder, acc = files(FEW_ROWS if few else SIZES), (TASKS | MORE)[task](by)
    filled = engine.accumulate(folder, acc)
    require(not acc.seen, "accumulate changed the accumulator that was passed")
    _require_same(filled, alone(folder, task, bool(by)))


def _require_same(acc: Accumulator, expected: Accumulator) -> None:
    require_same(acc, expected)
    require_same_metrics(acc, expected)


def _same_bytes(engine: Engine, task: str, by: list[Any]) -> None:
    filled = engine.accumulate(files(), EXACT[task](by))
    require(filled.to_bytes() == alone(files(), task, bool(by), exact=True).to_bytes(), "tables of counts differ")


def rows_of_the_source_are_counted_alone(engine: Engine) -> None:
    """The rows of the accumulator that is passed are not in the result."""
    acc = EXACT["binary"]([])
    for _ in range(2):
        acc = engine.accumulate(files(), acc)
    require(acc.seen == sum(SIZES), f"{acc.seen:,} rows of {sum(SIZES):,}")


def a_report_leaves_the_accumulator_empty(engine: Engine) -> None:
    """All rows are in the report."""
    acc = EXACT["binary"]([])
    report = engine.module.evaluate(engine.source(files()), acc)
    require(report["rows"].value == sum(SIZES), f"the report is of {report['rows'].value} rows")
    require(not acc.seen, "evaluate changed the accumulator")


def a_report_of_some_metrics_with_intervals(engine: Engine) -> None:
    """Requested metrics are in the report; several accumulators are rejected."""
    source = engine.source(files(FEW_ROWS))
    report = engine.module.evaluate(source, EXACT["binary"]([]), metrics=["recall"], confidence=0.9)
    require(report.frame["metric"].unique().to_list() == ["recall"], "metrics= is ignored")
    require("ci_lower" in report.frame.columns, "confidence= is ignored")
    _require_error(SpecificationError, "", partial(engine.module.accumulate, source, {"a": EXACT["binary"]([])}))


def a_source_without_rows_has_no_report(engine: Engine) -> None:
    """It raises SourceError."""
    with TemporaryDirectory() as folder:
        rows(0, 0).write_parquet(Path(folder, "0.parquet"))
        source = engine.source(Path(folder))
        _require_error(SourceError, "No rows in", lambda: engine.module.evaluate(source, EXACT["binary"](BY)))


def a_bad_row_is_named(engine: Engine) -> None:
    """The error of this library is raised: the column, the fault, and the first value, in one line."""
    with TemporaryDirectory() as folder:
        for number, bad in enumerate((0.5, 1.25)):
            frame = rows(1000, number).with_columns(p=pl.when(pl.int_range(1000) == 7).then(bad).otherwise("p"))
            frame.write_parquet(Path(folder, f"{number}.parquet"))
        message = _require_error(DataError, "1.25", lambda: engine.accumulate(Path(folder), MORE["models"]([])))
    require(message.startswith("Column 'p' "), message)
    require("\n" not in message, message)
    places = ("row 1,007", "row 1007", "row 7 of ")
    require(engine.reorders or any(place in message for place in places), message)


def a_missing_column_is_named(engine: Engine) -> None:
    """It raises ColumnError."""
    acc = tasks.binary(y_true="clicked", y_score="nothing")
    _require_error(ColumnError, "'nothing'", lambda: engine.accumulate(files(FEW_ROWS), acc))


LAWS = (
    rows_of_the_source_are_counted_alone,
    a_report_leaves_the_accumulator_empty,
    a_report_of_some_metrics_with_intervals,
    a_source_without_rows_has_no_report,
    a_bad_row_is_named,
    a_missing_column_is_named,
)


def a_killed_worker_is_counted_once(engine: Engine) -> None:
    """A worker dies while processing rows, and another one replaces it."""
    with TemporaryDirectory() as folder:
        marker = Path(folder, "died")
        acc = Accumulator(ConfusionCounts((0.3, 0.5)), ScoreHistogram(), y_true="clicked", y_score=_dying(marker))
        filled = engine.accumulate(files(), acc)
        require(marker.exists(), "no worker has died")
    require(filled.to_bytes() == alone(files(), "binary", False, exact=True).to_bytes(), "rows are lost or repeated")


def unused_columns_are_not_read(engine: Engine) -> None:
    """A damaged column is not an error if it is not used."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "0.parquet")
        frame = rows(1000, 0)
        frame.write_parquet(path, compression="zstd")
        _damage(path, "unused")
        filled = engine.accumulate(Path(folder), EXACT["binary"]([]))
    require(filled.to_bytes() == EXACT["binary"]([]).update(frame).to_bytes(), "rows are lost")


def _one_state(source: Source, states: States, task: str) -> None:
    acc = (TASKS | MORE)[task](BY)
    table = pa.concat_tables(states(source(files(FEW_ROWS)), acc), promote_options="default")
    keys = pl.DataFrame(table.select(acc.roles.group_columns))
    require(keys.n_unique() == keys.height, "a group has several states")
    _require_same(Accumulator.from_arrow(table), alone(files(FEW_ROWS), task, True))


def _states_are_of_groups(source: Source, states: States) -> None:
    few = source(files(FEW_ROWS))
    for acc in (TASKS["binary"]([]), "binary"):
        _require_error(SpecificationError, "", partial(states, few, acc))


def _dying(marker: Path) -> pl.Expr:
    """A score that kills the process that computes it, once."""

    def score(p: pl.Series) -> pl.Series:
        if len(p):
            try:
                marker.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return p

    return pl.col("p").map_batches(score, return_dtype=pl.Float64).alias("p")


def _damage(path: Path, column: str) -> None:
    """Overwrite the data of a column of a Parquet file."""
    import pyarrow.parquet as pq

    group = pq.ParquetFile(path).metadata.row_group(0)
    chunk = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)


def _require_error(kind: type[StreamMetricsError], word: str, run: Callable[[], Any]) -> str:
    message = None
    try:
        run()
    except kind as error:
        message = str(error)
    require(message is not None and word in message, f"expected a {kind.__name__} with {word!r}, got {message!r}")
    return message or ""
