"""Comparison of two accumulators: keys, counts, and decimals bit for bit, float sums and metrics up to rounding."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from streammetrics.accumulator import Accumulator
from streammetrics.frame import ESTIMATE
from streammetrics.state.tables import State, in_order
from streammetrics.statistics import GROUP, Statistic
from streammetrics.testing.check import require

SUMS = 1e-12  # of float sums, relative
SMALLEST = 1e-290  # of values that can cancel to 0
METRICS = 1e-9  # relative, and absolute near 0


def require_same(found: Accumulator, expected: Accumulator) -> None:
    """Require that two accumulators have the same state.

    Groups, keys, integers, and decimals must be equal bit for bit, float sums within 1e-12. Other floats, such as
    moments, and tables that depend on the order of rows are compared by their metrics. See `require_same_metrics`.
    """
    one, other = in_order(found.state), in_order(expected.state)
    assert_frame_equal(one.groups, other.groups)
    for statistic in other.statistics:
        require_same_table(statistic, one, other)


def require_same_table(statistic: Statistic, found: State, expected: State) -> None:
    """Require the same table of a statistic, as `require_same` does."""
    if not statistic.depends_on_order:
        tables = (_compared(statistic, state.tables[statistic.name]) for state in (found, expected))
        assert_frame_equal(*tables, rel_tol=SUMS, abs_tol=SMALLEST)


def _compared(statistic: Statistic, table: pl.DataFrame) -> pl.DataFrame:
    """The columns of a table that are merged by sums, and all that are not floats."""
    return table.select(
        name
        for name, dtype in table.schema.items()
        if not dtype.is_float() or name in (GROUP, *statistic.keys, *statistic.counts, *statistic.sums)
    )


def require_same_metrics(found: Accumulator, expected: Accumulator) -> None:
    """Require equal metrics: values, bounds, and notes. If the order of rows matters, only bounds that overlap.

    Both bounds then contain the exact metric.
    """
    one, other = found.finalize().frame, expected.finalize().frame
    if not any(statistic.depends_on_order for statistic in expected.statistics):
        assert_frame_equal(one, other, rel_tol=METRICS, abs_tol=METRICS)
        return
    keys = [c for c in one.columns if c not in ESTIMATE[1:]]
    both = one.join(other, on=keys, how="full", nulls_equal=True, coalesce=True, suffix="_other")
    require(both.height == one.height == other.height, "the reports have different groups or metrics")
    apart = both.filter((pl.col("lower") > pl.col("upper_other")) | (pl.col("lower_other") > pl.col("upper")))
    require(apart.is_empty(), f"bounds of the same rows do not overlap:\n{apart}")
