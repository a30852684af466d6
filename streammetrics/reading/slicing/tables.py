"""Tables of slices, and of larger slices without them: sums and differences of one table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import as_float, hidden, matching, text
from streammetrics.data import FOLD, LABEL
from streammetrics.errors import MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.available import columns_of
from streammetrics.reading.estimates import metrics_by_view
from streammetrics.reading.slicing import SLICE
from streammetrics.reading.slicing.candidates import Numbers
from streammetrics.reading.thresholds import threshold_state
from streammetrics.statistics import (
    GROUP,
    Binned,
    ErrorMoments,
    State,
    Statistic,
    TDigest,
    join_label,
    split_label,
)

CELLS = 1 << 18  # approximate number of cells of the histograms of all slices during the search
FEWEST = 1_024  # minimum number of bins of a histogram
PLACE = hidden("place")
SUMS_OF_ERRORS = {
    *("weight", "over_sum", "under_sum", "square_error_sum", "error_fourth_sum", "absolute_actual_sum"),
    *("percentage_sum", "percentage_square_sum", "symmetric_percentage_sum"),
    *("squared_log_error_sum", "log_cosh_sum"),
    *(f"{family}_deviance_sum" for family in ("poisson", "gamma", "tweedie")),
}


@dataclass(frozen=True)
class GroupTable:
    """The table of one statistic, whose groups are summed to slices.

    Args:
        statistic: The statistic.
        table: The table. If there are labels or folds, its key ``label`` is the number of both.
        owner: The group of the report that each row of the table belongs to.
        labels: Labels with separate tables.
        folds: Numbers of the folds; empty if rows are independent.
    """

    statistic: Statistic
    table: pl.DataFrame
    owner: Numbers
    labels: tuple[Any, ...]
    folds: tuple[int, ...]

    def coarse(self, slices: int) -> GroupTable:
        """The same table with so few bins that many slices can be searched. Bounds are wider."""
        if not isinstance(self.statistic, Binned):
            return self
        least = max(FEWEST, 8 + 64 * len(self.statistic.atoms))
        capacity = max(least, min(self.statistic.capacity, CELLS // max(slices * max(self.parts, 1), 1)))
        return replace(self, statistic=replace(self.statistic, capacity=capacity))

    @property
    def parts(self) -> int:
        """Number of tables of a slice, 0 if it has neither labels nor folds."""
        return max(len(self.labels), 1) * len(self.folds) or len(self.labels)

    def slices(self, numbers: Numbers) -> pl.DataFrame:
        """The tables of slices, given the slice number of each group of the report, below 0 for none."""
        number = pl.Series(GROUP, numbers[self.owner])
        return self._merged(self.table.with_columns(number).filter(number >= 0).cast({GROUP: pl.UInt32}))

    def without(self, larger: pl.DataFrame, slices: pl.DataFrame) -> pl.DataFrame:
        """The tables of larger slices without the slices of the same numbers."""
        keys = [GROUP, LABEL, *self.statistic.keys]
        difference = self._merged(pl.concat([larger, slices.with_columns(-pl.exclude(keys))]))
        if "absolute_error_max" in difference.columns:  # extremes cannot be subtracted
            difference = difference.with_columns(absolute_error_max=pl.lit(math.nan))
        return difference.filter(pl.any_horizontal(pl.col(self.statistic.counts) > 0))

    def state(self, table: pl.DataFrame, count: int) -> State:
        """Tables of slices as a state whose group column is the number of the slice."""
        groups = pl.DataFrame({SLICE: np.arange(count)}, {SLICE: pl.UInt32})
        if self.folds:
            groups = groups.join(pl.DataFrame({FOLD: self.folds}), how="cross", maintain_order="left_right")
        tables = {self.statistic.name: split_label(join_label(table, self.parts), len(self.labels))}
        return State((self.statistic,), groups.with_row_index(GROUP), tables, self.labels)

    def _merged(self, table: pl.DataFrame) -> pl.DataFrame:
        return split_label(self.statistic.merge(join_label(table, self.parts)), self.parts)


def gather(table: pl.DataFrame, slices: Numbers) -> pl.DataFrame:
    """Return the tables of some slices, in that order, numbered from 0. They can be repeated."""
    places = pl.DataFrame({GROUP: slices}, {GROUP: pl.UInt32}).with_row_index(PLACE)
    rows = places.join(table, on=GROUP, maintain_order="left_right")
    return rows.select(pl.col(PLACE).alias(GROUP), pl.exclude(GROUP, PLACE))


def group_table(state: State, metric: Metric, keys: Mapping[str, Any], total: State) -> GroupTable:
    """Return the table that a metric is computed from, of the state of a report, or of this state by fold of units."""
    counts = threshold_state(state, as_float(keys.get("threshold")))
    if counts is not None and any(metric.readable(c) for c in columns_of(counts.statistics, state.labels)):
        state = counts
    statistic = next(statistic for statistic, _, metrics in metrics_by_view(state, [metric]) if metrics)
    sums = not isinstance(statistic, ErrorMoments) or {*metric.columns} <= SUMS_OF_ERRORS
    if isinstance(statistic, TDigest) or not sums:
        raise MetricError(
            f"Metric {metric.name!r} is not available for slices: the rest of the rows has no moments or extremes. "
            "Use a mean of losses, such as mse or mae."
        )
    table, labels = state.tables[statistic.name], state.labels_of(statistic)
    if labels and LABEL in keys:
        if keys[LABEL] not in labels:
            raise ReportError(f"Unknown label {keys[LABEL]!r}. Labels: {text.few(labels)}.")
        table, labels = table.filter(pl.col(LABEL) == labels.index(keys[LABEL])).drop(LABEL), ()
    table = matching(table, statistic.kept, {k: v for k, v in keys.items() if k in statistic.kept})
    statistic = statistic.for_reports()
    table, folds = statistic.with_floats(table), tuple[int, ...]()
    if FOLD in state.by:
        folds = tuple(state.keys[FOLD].unique().sort())
        fold = state.keys[FOLD].replace_strict({f: i for i, f in enumerate(folds)}, return_dtype=pl.UInt32)
        part = fold.gather(table[GROUP])
        part = part * len(labels) + table[LABEL] if labels else part
        table = table.select(GROUP, part.alias(LABEL), pl.exclude(GROUP, LABEL))
    owner = total.numbers_of(state).gather(table[GROUP])
    return GroupTable(statistic, table.filter(owner.is_not_null()), owner.drop_nulls().to_numpy(), labels, folds)
