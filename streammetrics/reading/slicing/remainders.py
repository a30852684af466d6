"""Comparison of slices with the remaining rows of a larger slice: values, interval of the difference, and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, METRIC, few_effective, joined, keys_of, matching, text
from streammetrics.data import LABEL
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import (
    CELLS,
    Metric,
    as_normal,
    as_proportion,
    difference_of_shares,
    normal_quantile,
    t_quantile,
    upper_level,
    upper_tail,
)
from streammetrics.reading.confidence import independent_intervals
from streammetrics.reading.differences import values
from streammetrics.reading.estimates import estimate, metrics_by_view
from streammetrics.reading.slicing import SLICE
from streammetrics.reading.slicing.candidates import Numbers
from streammetrics.reading.slicing.tables import GroupTable, gather, group_table
from streammetrics.reading.units import paired_intervals
from streammetrics.statistics import GROUP, State

AT_ONCE = 1 << 21  # maximum number of table rows that are copied at once
RESULT = dict.fromkeys(("value", "rest", "difference", "ci_lower", "ci_upper", "p_value"), pl.Float64())
WITHOUT_INTERVALS = ("no_method", "no_method_of_units", "needs_units", "weighted_rows", "many_labels")
CLASSES = (("tp", "fn"), ("fp", "tn"), ("pos",), ("neg",))  # counts of the rows of one class

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Tables:
    """Slices: their number of rows, their tables, and their tables by fold if rows are correlated."""

    rows: Numbers
    tables: Sequence[pl.DataFrame]


@dataclass(frozen=True)
class Remainders:
    """Compares slices with the remaining rows of larger slices that contain them.

    Args:
        metric: The metric, with a preferred direction.
        groups: The table that the metric is computed from, and if rows are correlated, the same by fold of units.
        rows: Number of rows of each group.
        keys: Keys such as ``threshold`` that select one value.
        confidence: Confidence level of the intervals.
    """

    metric: Metric
    groups: Sequence[GroupTable]
    rows: Numbers
    keys: Mapping[str, Any]
    confidence: float

    @classmethod
    def from_states(
        cls, metric: Metric, states: Sequence[State], rows: Numbers, keys: Mapping[str, Any], confidence: float
    ) -> Remainders:
        """Comparisons of the slices of a state, given with its rows by fold of units if they are correlated."""
        groups = [group_table(state, metric, keys, states[0]) for state in states]
        keys = {k: v for k, v in keys.items() if k != LABEL or not states[0].labels_of(groups[0].statistic)}
        return cls(metric, groups, rows, keys, confidence)

    def coarse(self, slices: int) -> Remainders:
        """The same with fewer bins per histogram, which is fast enough for many slices. Bounds are wider."""
        return replace(self, groups=[groups.coarse(slices) for groups in self.groups])

    def overall(self) -> float | None:
        """The value of all rows. Rejects keys that do not select exactly one value, and metrics without intervals."""
        if not len(self.rows):
            return None
        everywhere = self.tables([np.zeros(len(self.rows), np.int64)], 1)
        estimates = self._estimates(self.metric, self._states(everywhere.tables, 1), self.confidence)
        names = keys_of(estimates)[1:]
        rows = matching(estimates, names, self.keys)
        if rows.is_empty() and estimates.height:
            listed = ", ".join(f"{k}={v!r}" for k, v in self.keys.items())
            raise ReportError(f"No value of {self.metric.name} for {listed}.")
        if rows.height > 1:
            keys: list[str | Argument] = []
            for c in names:
                if rows[c].n_unique() > 1:
                    choices = text.few(rows[c].unique(maintain_order=True))
                    keys += ["; " if keys else "", Argument(c), f" ({choices})"]
            raise ReportError(f"{self.metric.name} has {rows.height} values. Select one with ", *keys, ".")
        value, status = rows.select("value", "status").row(0) if rows.height else (None, None)
        if status in WITHOUT_INTERVALS:
            raise MetricError(
                f"Metric {self.metric.name!r} has no confidence intervals in this report, which slices require."
            )
        return None if value is None else float(value)

    def tables(self, numbers: Iterable[Numbers], count: int) -> Tables:
        """The tables of slices. Each array has the slice number of each group, below 0 for none, in ascending order."""
        rows, parts = np.zeros(count, np.int64), list[list[pl.DataFrame]]()
        for slices in numbers:
            inside = slices >= 0
            rows += np.bincount(slices[inside], self.rows[inside], count).astype(np.int64)
            parts.append([groups.slices(slices) for groups in self.groups])
        return Tables(rows, [pl.concat(tables) for tables in zip(*parts, strict=True)])

    def estimates(self, metric: Metric, slices: Numbers, count: int) -> pl.DataFrame:
        """Estimates of another metric of the same table, one of each slice, given the slice number of each group."""
        frame = self._estimates(metric, self._states(self.tables([slices], count).tables, count))
        return self._selected(frame, count)

    def compare(self, slices: Tables, numbers: Numbers, larger: Tables, owners: Numbers) -> pl.DataFrame:
        """Value, rest, difference with its interval, and p-value of some slices, each in the larger slice that owns it.

        P-values are two-sided. They are 1 for slices that are not worse, and null for slices that cannot be compared.
        """
        smaller = np.minimum(slices.rows[numbers], larger.rows[owners] - slices.rows[numbers])
        sizes = np.bincount(larger.tables[-1][GROUP].to_numpy(), minlength=len(larger.rows))[owners]
        blocks = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(np.cumsum(sizes) // AT_ONCE)) + 1)
        results = [pl.DataFrame(schema=RESULT)]
        for block in blocks if len(numbers) else ():
            inside = [gather(table, numbers[block]) for table in slices.tables]
            owner = [gather(table, owners[block]) for table in larger.tables]
            others = [g.without(all_rows, table) for g, all_rows, table in zip(self.groups, owner, inside, strict=True)]
            results.append(self._compared(others, inside, smaller[block]))
        return pl.concat(results)

    @property
    def _folds(self) -> int:
        """Number of folds, 0 if rows are independent."""
        return len(self.groups[-1].folds)

    def _states(self, tables: Sequence[pl.DataFrame], count: int) -> list[State]:
        """The rows of slices, and the same rows by fold of units if there are folds."""
        return [groups.state(table, count) for groups, table in zip(self.groups, tables, strict=True)]

    def _estimates(self, metric: Metric, states: Sequence[State], confidence: float | None = None) -> pl.DataFrame:
        return estimate(states[0], [metric], confidence, states[1] if self._folds else None)

    def _selected(self, frame: pl.DataFrame, count: int) -> pl.DataFrame:
        """The row of each slice that the keys select."""
        numbers = pl.DataFrame({SLICE: np.arange(count)}, {SLICE: pl.UInt32})
        return numbers.join(matching(frame, frame.columns, self.keys), on=SLICE, how="left", maintain_order="left")

    def _compared(
        self, others: Sequence[pl.DataFrame], slices: Sequence[pl.DataFrame], smaller: Numbers
    ) -> pl.DataFrame:
        """Slices compared with the other rows, given the number of rows of the smaller of the two."""
        a, b = (self._states(tables, len(smaller)) for tables in (others, slices))
        differences = self._selected(self._differences(a, b), len(smaller))
        z = self._evidence(differences)
        if self._folds:
            z = as_normal(z, self._folds - 1)
        else:
            few = differences.select(few_effective(units=False)).to_series().to_numpy()
            z = np.where(few & (z > 0), 0.0, as_normal(z, self._degrees(others[0], slices[0], smaller)))
            if counts := self._counts_of_proportion(b[0]):
                likelihood = difference_of_shares(*counts, *self._counts_of_proportion(a[0]))
                z = np.where(np.isnan(z), np.nan, self._worse * likelihood)  # valid for small counts, too
        p = np.where(z > 0, 2 * upper_tail(z), np.where(np.isnan(z), np.nan, 1.0))
        numbers = {"value": "b", "rest": "a", "difference": "value"} | {limit: limit for limit in LIMITS}
        return differences.select(**numbers, p_value=pl.Series(p, nan_to_null=True))

    def _differences(self, others: Sequence[State], slices: Sequence[State]) -> pl.DataFrame:
        """Keys, ``a`` of the others, ``b`` of the slices, their difference, its bounds and limits, effective rows."""
        confidence = None if self._folds else self.confidence  # differences by fold have limits themselves
        a, b = (self._estimates(self.metric, states, confidence) for states in (others, slices))
        differences = values(a, b)
        keys = [*keys_of(differences), METRIC]
        sides = differences.select(*keys, "a", "b")
        if self._folds:
            limits = paired_intervals(sides, others[1], slices[1], [self.metric], self.confidence, 1.0)
        else:
            limits = independent_intervals(sides, a, b, 1.0)
        return joined(differences, limits, keys)

    @property
    def _worse(self) -> int:
        return 1 if self.metric.better == "low" else -1

    def _evidence(self, differences: pl.DataFrame) -> Values:
        """How much worse each slice is, for any certain difference, in standard errors; NaN if unknown."""
        level = upper_level(self.confidence)
        quantile = t_quantile(level, self._folds - 1) if self._folds else normal_quantile(level)
        numbers = differences.select("value", "lower", "upper", *LIMITS).fill_null(np.nan)
        difference, lower, upper, ci_lower, ci_upper = numbers.to_numpy().T
        certain, half = (lower, difference - ci_lower) if self._worse > 0 else (-upper, ci_upper - difference)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(half > 0, certain / half * quantile, np.nan)

    def _degrees(self, others: pl.DataFrame, slices: pl.DataFrame, smaller: Numbers) -> Values:
        """Degrees of freedom: at most those of the smaller class on the smaller side."""
        degrees = smaller.astype(np.float64) - 1
        counts = self.groups[0].statistic.counts
        classes = [pl.sum_horizontal(pl.sum(*cells)) for cells in CLASSES if {*cells} <= {*counts}]
        for table in (others, slices) if classes else ():
            fewest = table.group_by(GROUP).agg(rows=pl.min_horizontal(classes).cast(pl.Float64))
            rows = np.zeros(len(smaller))
            rows[fewest[GROUP].to_numpy()] = fewest["rows"].to_numpy()
            degrees = np.minimum(degrees, rows - 1)
        return degrees

    def _counts_of_proportion(self, state: State) -> list[pl.Series]:
        """The counts of a proportion of rows, and their totals, of each slice; empty for other metrics."""
        of_counts = {*self.metric.columns} <= {*CELLS} and not self.metric.average
        proportion = as_proportion(self.metric) if of_counts else None
        if not proportion:
            return []
        _, view, _ = next(entry for entry in metrics_by_view(state, [self.metric]) if entry[2])
        table = view.first_case(state.table(self.groups[0].statistic))
        counts = matching(table, view.kept, {k: v for k, v in self.keys.items() if k in view.kept})
        every = state.groups.select(GROUP).join(counts, on=GROUP, how="left", maintain_order="left")
        return [every.select(cells.cast(pl.Float64)).to_series().fill_null(0) for cells in proportion]
