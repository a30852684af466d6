"""Checks of accumulators: the state depends only on the rows, not on batches or merges."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

from streammetrics.accumulator import Accumulator, empty_of, merge
from streammetrics.base import ESTIMATE
from streammetrics.data import LABEL
from streammetrics.statistics import GROUP, RowCounts, RowFingerprint, State, Statistic
from streammetrics.testing.check import Check, checks_of, require
from streammetrics.testing.rows import MakeRows, merged_as_a_tree, rows_of, splits, task_of

ROWS = 300
SINGLE = 30  # rows in batches of one
EQUAL = "equal rows"  # a column
DOUBLINGS = 27  # of 300 rows: more than 32 bits count
VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "by group": {"by": ["part", "half"]},
    "by group, weighted": {"by": ["part", "half"], "sample_weight": "weight"},
    "with units": {"unit": "unit"},
}
SUMS = 1e-12  # of float sums, relative
SMALLEST = 1e-290  # of values that can cancel to 0
METRICS = 1e-9  # relative, and absolute near 0


@dataclass(frozen=True)
class Case:
    """An empty accumulator, and rows for it."""

    acc: Accumulator
    rows: MakeRows
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        """A new generator with the same seed."""
        return np.random.default_rng([self.seed, *self.acc.to_bytes()])

    @cached_property
    def data(self) -> pl.DataFrame:
        """All rows."""
        return self.rows(ROWS, self.rng)

    def accumulated(self, data: pl.DataFrame) -> Accumulator:
        """Return the accumulator of rows in one batch."""
        return self.acc.empty().update(data)

    @cached_property
    def _complete(self) -> Accumulator:
        return self.accumulated(self.data)

    @property
    def complete(self) -> Accumulator:
        """Return the accumulator of all rows."""
        return self._complete.copy()


def statistic_checks(statistic: Statistic, rows: MakeRows | None, seed: int) -> Iterator[Check]:
    """Return the checks of a statistic: alone, with weights, by group, and with units."""
    for variant, options in VARIANTS.items():
        acc = task_of(statistic, **options)
        yield from accumulator_checks(acc, rows, seed, variant)


def accumulator_checks(acc: Accumulator, rows: MakeRows | None, seed: int, variant: str = "") -> Iterator[Check]:
    """Return the checks of an accumulator with its specification; its rows are not used."""
    case = Case(acc.empty(), rows or rows_of(acc), seed)
    yield from checks_of((*LAWS, *(BY_GROUP if acc.roles.by else ())), case, variant)


def any_split_and_any_tree(case: Case) -> None:
    """The state does not depend on how rows are split and merged."""
    rng = case.rng
    for number, parts in enumerate(splits(case.data[rng.permutation(ROWS)], rng)):
        states = [case.accumulated(part) for part in parts]
        require_same(merged_as_a_tree(states, rng), case.complete)
        in_turn = case.acc.empty()
        for part in parts:
            in_turn.update(part)
        require_same(in_turn, case.complete)
        if number == 0:
            require_same(merge(states), states[-1].merge(*states[-2::-1]))


def metrics_and_bounds_do_not_depend_on_the_split(case: Case) -> None:
    """Metrics of merged parts equal those of all rows."""
    require_same_metrics(merge(case.accumulated(case.data[n::4]) for n in range(4)), case.complete)
    require_same_metrics(
        merged_as_a_tree((case.accumulated(part) for part in next(splits(case.data, case.rng))), case.rng),
        case.complete,
    )


def one_row_at_a_time(case: Case) -> None:
    """Batches of one row, with empty batches in between."""
    data, acc = case.data[:SINGLE], case.acc.empty()
    for row in range(data.height):
        acc.update(data[row : row + 1]).flush().update(data[:0])
    require_same(acc, case.accumulated(data))


def a_read_in_between(case: Case) -> None:
    """Reports, copies, and other reads in between change nothing."""
    data, acc = case.data, case.accumulated(case.data[:50])
    before = _content(acc.copy())
    copy, models = acc.copy(), len(acc.roles.models)
    acc.finalize(), repr(acc), acc.empty().update(data), acc + acc, copy.update(data), acc.rollup()
    require(_content(acc) == before, "reading changed the state")
    require(_content(acc.empty()) == _content(case.acc), "empty() differs from the accumulator before the first row")
    for start in range(50, ROWS, 50):
        acc.update(data[start : start + 50])
        require(acc.seen == (start + 50) * models, f"{acc.seen} rows processed instead of {(start + 50) * models}")
    require_same(acc, case.complete)


def merging_with_itself_doubles(case: Case) -> None:
    """Merging a state with itself doubles it."""
    require_same(case.complete + case.complete, case.accumulated(pl.concat([case.data, case.data])))


def counts_are_exact_however_large(case: Case) -> None:
    """One more row counts exactly, beyond 24 and 32 bits too."""
    large, few = case.complete, case.accumulated(case.data[:7])
    for _ in range(DOUBLINGS):
        large = large + large
    for statistic in case.acc.statistics:
        if not statistic.depends_on_order:
            counts, doubled = _integers(statistic, case.complete), _integers(statistic, large)
            require((doubled == counts << DOUBLINGS).all(), f"{statistic.name} loses counts of many rows")
            more = _integers(statistic, case.complete + few) - counts
            more_of_large = _integers(statistic, large + few) - doubled
            require((more_of_large == more).all(), f"{statistic.name} loses a few of many rows")


def saving_midway(case: Case) -> None:
    """A state is unchanged after bytes, a file, or another process."""
    data, half = case.data, case.accumulated(case.data[:90])
    before = _content(half)
    with TemporaryDirectory() as folder:
        loaded = [Accumulator.from_bytes(half.to_bytes()), pickle.loads(pickle.dumps(half))]
        for suffix in (".parquet", ".arrow"):
            path = Path(folder, f"state{suffix}")
            half.save(path)
            loaded.append(Accumulator.load(path))
    named = data.with_columns(e.alias(name) for name, e in case.acc.roles.expressions.items())
    for acc in loaded:
        require(_content(acc) == before, "the loaded state differs from the saved one")
        require_same(acc + case.accumulated(data[90:]), case.complete)
        require_same(acc.update(named[90:]), case.complete)


def tables_have_their_schema(case: Case) -> None:
    """A table has the columns and types that its statistic declares, with and without rows."""
    weighted = case.acc.roles.sample_weight is not None
    for statistic in case.acc.statistics:
        for acc in (case.acc, case.complete):
            table = acc.state.tables[statistic.name].drop(LABEL, strict=False)
            declared = statistic.typed(statistic.schema(weighted), table.schema)
            require(dict(table.schema) == declared, f"{statistic.name} has {table.schema} instead of {declared}")


def rows_of_weight_0_count_for_nothing(case: Case) -> None:
    """Rows of weight 0 are dropped. Fingerprints include dropped rows."""
    weight = case.acc.roles.sample_weight
    if weight is None or weight in case.acc.roles.expressions:
        return
    without = case.data.with_columns(pl.lit(0).cast(case.data.schema[weight]).alias(weight))
    one = case.accumulated(pl.concat([case.data, without])).state.sorted()
    other = case.complete.state.sorted()
    for statistic in case.acc.statistics:
        if not isinstance(statistic, RowCounts | RowFingerprint):
            require_same_table(statistic, one, other)


def a_count_stands_for_equal_rows(case: Case) -> None:
    """Rows with a count leave the same state as the repeated rows, also if they are merged with others."""
    if any(isinstance(s, RowFingerprint) for s in case.acc.statistics):
        return
    times = case.rng.integers(0, 4, ROWS)
    repeated, counted = case.data[np.repeat(np.arange(ROWS), times)], case.data.with_columns(pl.Series(EQUAL, times))
    acc = empty_of(replace(case.acc.roles, count=EQUAL), case.acc.statistics, case.acc)
    direct, half = case.accumulated(repeated), int(times[: ROWS // 2].sum())
    require_same(acc.empty().update(counted), direct)
    require_same(case.accumulated(repeated[:half]) + acc.update(counted[ROWS // 2 :]), direct)


def a_rollup_is_the_direct_view(case: Case) -> None:
    """A rollup equals direct grouping by fewer columns."""
    parts = merge(case.accumulated(case.data[n::3]) for n in range(3))
    for view in dict.fromkeys([(), *((column,) for column in case.acc.roles.by), case.acc.roles.by[::-1]]):
        direct = case.acc.empty().rollup(*view).update(_with_group_columns(case))
        require_same(case.complete.rollup(*view), direct)
        require_same(parts.rollup(*view), direct)


def a_filter_is_the_view_of_some_rows(case: Case) -> None:
    """A filter equals the state of the rows of these groups; merged with the others, it is the state of all rows."""
    data, column = _with_group_columns(case), pl.col(case.acc.roles.by[0])
    for predicate in (column == data.select(column).to_series().drop_nulls()[0], column.is_null(), pl.lit(False)):
        some = case.complete.filter(predicate)
        require_same(some, case.accumulated(data.filter(predicate)))
        require_same(some + case.complete.filter(~predicate | predicate.is_null()), case.complete)


LAWS: tuple[Callable[[Case], None], ...] = (
    any_split_and_any_tree,
    metrics_and_bounds_do_not_depend_on_the_split,
    one_row_at_a_time,
    a_read_in_between,
    merging_with_itself_doubles,
    counts_are_exact_however_large,
    saving_midway,
    tables_have_their_schema,
    rows_of_weight_0_count_for_nothing,
    a_count_stands_for_equal_rows,
)
BY_GROUP = (a_rollup_is_the_direct_view, a_filter_is_the_view_of_some_rows)


def _with_group_columns(case: Case) -> pl.DataFrame:
    expressions = case.acc.roles.expressions
    return case.data.with_columns(expressions[c].alias(c) for c in case.acc.roles.by if c in expressions)


def _content(acc: Accumulator) -> tuple[Any, Any]:
    table = acc.to_arrow()
    return table, table.schema.metadata


def _integers(statistic: Statistic, acc: Accumulator) -> Any:
    table = acc.state.sorted().tables[statistic.name]
    return table.select(name for name in statistic.counts if table.schema[name] == pl.Int64).to_numpy()


def require_same(acc: Accumulator, expected: Accumulator) -> None:
    """Require that two accumulators have the same state.

    Groups, keys, integers, and decimals must be equal bit for bit, float sums within 1e-12. Other floats, such as
    moments, and tables that depend on the order of rows are compared by their metrics. See `require_same_metrics`.
    """
    one, other = acc.state.sorted(), expected.state.sorted()
    assert_frame_equal(one.groups, other.groups)
    for statistic in other.statistics:
        require_same_table(statistic, one, other)


def require_same_table(statistic: Statistic, state: State, expected: State) -> None:
    """Require the same table of a statistic, as `require_same` does."""
    if not statistic.depends_on_order:
        one, other = state.tables[statistic.name], expected.tables[statistic.name]
        assert_frame_equal(_compared(statistic, one), _compared(statistic, other), rel_tol=SUMS, abs_tol=SMALLEST)


def _compared(statistic: Statistic, table: pl.DataFrame) -> pl.DataFrame:
    """The columns of a table that are merged by sums, and all that are not floats."""
    return table.select(
        name
        for name, dtype in table.schema.items()
        if not dtype.is_float() or name in (GROUP, *statistic.keys, *statistic.counts, *statistic.sums)
    )


def require_same_metrics(acc: Accumulator, expected: Accumulator) -> None:
    """Require equal metrics: values, bounds, and notes. If the order of rows matters, only bounds that overlap.

    Both bounds then contain the exact metric.
    """
    one, other = acc.finalize().frame, expected.finalize().frame
    if not any(statistic.depends_on_order for statistic in expected.statistics):
        assert_frame_equal(one, other, rel_tol=METRICS, abs_tol=METRICS)
        return
    keys = [c for c in one.columns if c not in ESTIMATE[1:]]
    both = one.join(other, on=keys, how="full", nulls_equal=True, coalesce=True, suffix="_other")
    require(both.height == one.height == other.height, "the reports have different groups or metrics")
    apart = both.filter((pl.col("lower") > pl.col("upper_other")) | (pl.col("lower_other") > pl.col("upper")))
    require(apart.is_empty(), f"bounds of the same rows do not overlap:\n{apart}")
