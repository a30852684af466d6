"""Tables of slices, and of larger slices without them: sums and differences of one table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.data import FOLD, LABEL
from streammetrics.metrics import Metric
from streammetrics.reading.slicing import SLICE
from streammetrics.statistics import (
    GROUP,
    Binned,
    ErrorMoments,
    State,
    Statistic,
    TDigest,
    find_groups,
    join_label,
    split_label,
)

AT_ONCE = 1 << 21  # maximum number of table rows that are copied at once
CELLS = 1 << 18  # approximate number of cells of the histograms of all slices during the search
FEWEST = 1_024  # minimum number of bins of a histogram
SUMS_OF_ERRORS = {
    *("weight", "over_sum", "under_sum", "square_error_sum", "error_fourth_sum", "absolute_actual_sum"),
    *("percentage_sum", "percentage_square_sum", "symmetric_percentage_sum"),
    *("squared_log_error_sum", "log_cosh_sum"),
    *(f"{family}_deviance_sum" for family in ("poisson", "gamma", "tweedie")),
}

Numbers = NDArray[np.integer[Any]]


def subtracts(statistic: Statistic, metric: Metric) -> bool:
    """Whether the columns of a metric can be subtracted. Moments, extremes, and centroids cannot."""
    if isinstance(statistic, ErrorMoments):
        return set(metric.columns) <= SUMS_OF_ERRORS
    return not isinstance(statistic, TDigest)


@dataclass(frozen=True)
class Cut:
    """The table of one statistic, from which slices are cut.

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

    @classmethod
    def of(cls, state: State, statistic: Statistic, groups: pl.DataFrame) -> Cut:
        """The table of a state whose groups are those of a report, optionally by fold."""
        statistic = statistic.for_reports()
        table, labels = statistic.with_floats(state.tables[statistic.name]), state.labels_of(statistic)
        owner = find_groups(state.keys.select(groups.drop(GROUP).columns), groups)
        folds: tuple[int, ...] = ()
        if FOLD in state.by:
            folds = tuple(state.keys[FOLD].unique().sort())
            fold = state.keys[FOLD].replace_strict({f: i for i, f in enumerate(folds)}, return_dtype=pl.UInt32)
            part = fold.gather(table[GROUP])
            part = part * len(labels) + table[LABEL] if labels else part
            table = table.select(GROUP, part.alias(LABEL), pl.exclude(GROUP, LABEL))
        kept = owner.gather(table[GROUP])
        return cls(statistic, table.filter(kept.is_not_null()), kept.drop_nulls().to_numpy(), labels, folds)

    def coarse(self, slices: int) -> Cut:
        """The same table with so few bins that many slices can be searched."""
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

    def only(self, slices: pl.DataFrame, places: Numbers) -> pl.DataFrame:
        """The tables of some slices, given the new number of each slice, below 0 for none. The order stays the same."""
        number = pl.Series(GROUP, places[slices[GROUP].to_numpy()])
        return slices.with_columns(number).filter(number >= 0).cast({GROUP: pl.UInt32})

    def ranges(self, whole: pl.DataFrame, owner: Numbers) -> Iterator[tuple[int, int]]:
        """Ranges of slices that fit into memory together, given the number of the larger slice of each."""
        sizes = np.cumsum(np.bincount(whole[GROUP].to_numpy(), minlength=int(owner.max(initial=0)) + 1)[owner])
        first = 0
        while first < len(owner):
            before = sizes[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(sizes, before + AT_ONCE, side="right")))
            yield first, last
            first = last

    def some(self, slices: pl.DataFrame, first: int, last: int) -> pl.DataFrame:
        """The tables of a range of slices, numbered from 0."""
        rows = np.searchsorted(slices[GROUP].to_numpy(), (first, last))
        return slices[slice(*rows)].with_columns(pl.col(GROUP) - pl.lit(first, pl.UInt32))

    def without(self, whole: pl.DataFrame, slices: pl.DataFrame, owner: Numbers) -> pl.DataFrame:
        """The larger slice of each slice without the slice, given the number of the larger slice."""
        places = pl.DataFrame({GROUP: owner}, {GROUP: pl.UInt32}).with_row_index(SLICE)
        copies = whole.join(places, on=GROUP).drop(GROUP).rename({SLICE: GROUP}).select(whole.columns)
        keys = [GROUP, LABEL, *self.statistic.keys]
        left = self._merged(pl.concat([copies, slices.with_columns(-pl.exclude(keys))]))
        if "absolute_error_max" in left.columns:  # extremes cannot be subtracted
            left = left.with_columns(absolute_error_max=pl.lit(math.nan))
        return left.filter(pl.any_horizontal(pl.col(self.statistic.counts) > 0))

    def state(self, table: pl.DataFrame, count: int) -> State:
        """Tables of slices as a state whose group column is the number of the slice."""
        groups = pl.DataFrame({SLICE: np.arange(count)}, {SLICE: pl.UInt32})
        if self.folds:
            groups = groups.join(pl.DataFrame({FOLD: self.folds}), how="cross", maintain_order="left_right")
        tables = {self.statistic.name: split_label(join_label(table, self.parts), len(self.labels))}
        return State((self.statistic,), groups.with_row_index(GROUP), tables, self.labels)

    def _merged(self, table: pl.DataFrame) -> pl.DataFrame:
        return split_label(self.statistic.merge(join_label(table, self.parts)), self.parts)
