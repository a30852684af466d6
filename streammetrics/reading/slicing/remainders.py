"""Comparison of slices with the rest of a larger slice: values, intervals of the difference, and p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.base import LIMITS, METRIC, as_float, few_effective, joined, keys_of, matching, text
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
from streammetrics.reading.available import columns_of
from streammetrics.reading.confidence import independent_intervals
from streammetrics.reading.differences import values
from streammetrics.reading.estimates import by_view, estimate
from streammetrics.reading.slicing import SLICE
from streammetrics.reading.slicing.cuts import Cut, Numbers, subtracts
from streammetrics.reading.thresholds import threshold_state
from streammetrics.reading.units import paired_intervals
from streammetrics.statistics import GROUP, State, first_case

RESULT = dict.fromkeys(("value", "rest", "difference", "ci_lower", "ci_upper", "p_value"), pl.Float64())
CLASSES = ((("tp", "fn"), ("fp", "tn")), (("pos",), ("neg",)))  # counts of positives and of negatives

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Tables:
    """Slices: their number of rows, their tables, and their tables by fold."""

    rows: Numbers
    of: tuple[pl.DataFrame, ...]


@dataclass(frozen=True)
class Remainders:
    """Compares slices with the rest of larger slices that contain them.

    Args:
        metric: The metric, with a preferred direction.
        cut: The table that the metric is computed from.
        folds: The same table by fold of units, or None if rows are independent.
        rows: Number of rows of each group.
        keys: Keys such as ``threshold`` that select one value.
        confidence: Confidence level of the intervals.
    """

    metric: Metric
    cut: Cut
    folds: Cut | None
    rows: Numbers
    keys: Mapping[str, Any]
    confidence: float

    @classmethod
    def of(
        cls,
        metric: Metric,
        state: State,
        folds: State | None,
        rows: Numbers,
        keys: Mapping[str, Any],
        confidence: float,
    ) -> Remainders:
        """Comparisons of the slices of a state. For correlated rows, its rows by fold of units are also given."""
        cuts = [None if s is None else _cut(s, metric, keys, state.groups) for s in (state, folds)]
        assert cuts[0] is not None
        left = {k: v for k, v in keys.items() if k != LABEL or not state.labels_of(cuts[0].statistic)}
        return cls(metric, cuts[0], cuts[1], rows, left, confidence)

    def coarse(self, slices: int) -> Remainders:
        """The same with fewer bins per histogram, which is fast enough for many slices. Bounds are wider."""
        folds = None if self.folds is None else self.folds.coarse(slices)
        return replace(self, cut=self.cut.coarse(slices), folds=folds)

    def overall(self) -> float | None:
        """The value of all rows. Rejects keys that do not select exactly one value, and metrics without intervals."""
        if not len(self.rows):
            return None
        everywhere = self.tables(np.zeros(len(self.rows), np.int64), 1)
        frame = self._estimates(self.metric, self._states(everywhere.of, 1), self.confidence)
        names = keys_of(frame)[1:]
        found = matching(frame, names, self.keys)
        if found.is_empty() and frame.height:
            given = ", ".join(f"{k}={v!r}" for k, v in self.keys.items())
            raise ReportError(f"No value of {self.metric.name} for {given}.")
        if found.height > 1:
            several = [c for c in names if found[c].n_unique() > 1]
            keys: list[str | Argument] = []
            for c in several:
                values = text.few(found[c].unique(maintain_order=True))
                keys += ["; " if keys else "", Argument(c), f" ({values})"]
            raise ReportError(f"{self.metric.name} has {found.height} values. Select one with ", *keys, ".")
        if found.is_empty():
            return None
        value, sampled = found["value"].item(), found["ci_lower"].item()
        low, high = self.metric.range
        if sampled is None and value is not None and low < value < high:
            raise MetricError(
                f"Metric {self.metric.name!r} has no confidence intervals in this report, which slices require."
            )
        return None if value is None else float(value)

    def tables(self, numbers: Numbers, count: int) -> Tables:
        """The tables of slices, given the slice number of each group, below 0 for none."""
        inside = numbers >= 0
        rows = np.bincount(numbers[inside], self.rows[inside], count).astype(np.int64)
        return Tables(rows, tuple(cut.slices(numbers) for cut in self._cuts))

    def only(self, tables: Tables, kept: NDArray[np.bool_]) -> Tables:
        """The tables of some slices."""
        places = np.where(kept, np.cumsum(kept) - 1, -1)
        of = tuple(cut.only(table, places) for cut, table in zip(self._cuts, tables.of, strict=True))
        return Tables(tables.rows[kept], of)

    def estimates(self, metric: Metric, slices: Tables, count: int) -> pl.DataFrame:
        """Estimates of another metric of the same table, one of each slice."""
        frame = self._estimates(metric, self._states(slices.of, count))
        numbers = pl.DataFrame({SLICE: np.arange(count)}, {SLICE: pl.UInt32})
        return numbers.join(matching(frame, frame.columns, self.keys), on=SLICE, how="left", maintain_order="left")

    def compare(self, slices: Tables, wholes: Tables, owner: Numbers) -> pl.DataFrame:
        """Value, rest, difference with its interval, and p-value of each slice.

        P-values are two-sided. They are 1 for slices that are not worse, and null for slices that cannot be compared.
        ``owner`` is the number of the larger slice in ``wholes`` that contains each slice.
        """
        held = np.isin(np.arange(len(wholes.rows)), owner)
        wholes, owner = self.only(wholes, held), (np.cumsum(held) - 1)[owner]
        least = np.minimum(slices.rows, wholes.rows[owner] - slices.rows)
        parts = [pl.DataFrame(schema=RESULT)]
        for first, last in self._cuts[-1].ranges(wholes.of[-1], owner):
            own = [cut.some(table, first, last) for cut, table in zip(self._cuts, slices.of, strict=True)]
            sides = zip(self._cuts, wholes.of, own, strict=True)
            rest = [cut.without(whole, table, owner[first:last]) for cut, whole, table in sides]
            parts.append(self._compared(rest, own, least[first:last]))
        return pl.concat(parts)

    @property
    def _cuts(self) -> list[Cut]:
        return [self.cut] if self.folds is None else [self.cut, self.folds]

    def _states(self, tables: Sequence[pl.DataFrame], count: int) -> list[State]:
        """The rows of slices, and the same rows by fold of units if there are folds."""
        return [cut.state(table, count) for cut, table in zip(self._cuts, tables, strict=True)]

    def _estimates(self, metric: Metric, states: Sequence[State], confidence: float | None = None) -> pl.DataFrame:
        return estimate(states[0], [metric], confidence, None if self.folds is None else states[1])

    def _compared(self, rest: Sequence[pl.DataFrame], own: Sequence[pl.DataFrame], least: Numbers) -> pl.DataFrame:
        """Some slices compared with their rests. ``least`` is the number of rows of the smaller of the two."""
        one, other = (self._states(tables, len(least)) for tables in (rest, own))
        differences = self._differences(one, other)
        found = pl.DataFrame({SLICE: np.arange(len(least))}, {SLICE: pl.UInt32}).join(
            matching(differences, differences.columns, self.keys), on=SLICE, how="left", maintain_order="left"
        )
        z = self._by_interval(found, self._degrees(rest[0], own[0], least))
        if self.folds is None:
            few = found.select(few_effective(units=False)).to_series().fill_null(False).to_numpy()
            z = np.where(few & (z > 0), 0.0, z)
        of_counts = set(self.metric.columns) <= set(CELLS) and not self.metric.average
        if self.folds is None and of_counts and (proportion := as_proportion(self.metric)):
            z = self._by_counts([one[0], other[0]], proportion, z)
        p = np.where(z > 0, 2 * upper_tail(z), np.where(np.isnan(z), np.nan, 1.0))
        numbers = {"value": "b", "rest": "a", "difference": "value"} | {limit: limit for limit in LIMITS}
        return found.select(**numbers, p_value=pl.Series(p, nan_to_null=True))

    def _differences(self, rest: Sequence[State], own: Sequence[State]) -> pl.DataFrame:
        """Keys, ``a`` of the rests, ``b`` of the slices, their difference, its bounds and limits, effective rows."""
        confidence = self.confidence if self.folds is None else None  # differences by fold have limits of their own
        one, other = (self._estimates(self.metric, states, confidence) for states in (rest, own))
        differences = values(one, other)
        keys = [*keys_of(differences), METRIC]
        sides = differences.select(*keys, "a", "b")
        if self.folds is None:
            limits = independent_intervals(sides, one, other, 1.0)
        else:
            limits = paired_intervals(sides, rest[1], own[1], [self.metric], self.confidence, 1.0)
        return joined(differences, limits, keys)

    @property
    def _worse(self) -> int:
        return 1 if self.metric.better == "low" else -1

    def _by_interval(self, found: pl.DataFrame, degrees: Values) -> Values:
        """How much worse each slice is, as a standard normal value, NaN if unknown."""
        level = upper_level(self.confidence)
        quantile = normal_quantile(level) if self.folds is None else t_quantile(level, len(self.folds.folds) - 1)
        number = found.select("value", "lower", "upper", *LIMITS).fill_null(np.nan)
        difference, lower, upper, ci_lower, ci_upper = number.to_numpy().T
        certain, half = (lower, difference - ci_lower) if self._worse > 0 else (-upper, ci_upper - difference)
        with np.errstate(invalid="ignore", divide="ignore"):
            return as_normal(np.where(half > 0, certain / half * quantile, np.nan), degrees)

    def _degrees(self, rest: pl.DataFrame, own: pl.DataFrame, least: Numbers) -> Values:
        """Degrees of freedom: at most those of the smaller class on the smaller side, or of the folds."""
        if self.folds is not None:
            return np.full(len(least), len(self.folds.folds) - 1.0)
        degrees = least.astype(np.float64) - 1
        for classes in CLASSES:
            if not {c for counts in classes for c in counts} <= set(self.cut.statistic.counts):
                continue
            for table in (rest, own):
                counts = [pl.sum_horizontal(pl.col(c).sum() for c in of_class) for of_class in classes]
                fewest = table.group_by(GROUP).agg(fewest=pl.min_horizontal(counts).cast(pl.Float64))
                of_slice = np.zeros(len(least))
                of_slice[fewest[GROUP].to_numpy()] = fewest["fewest"].to_numpy()
                degrees = np.minimum(degrees, of_slice - 1)
        return degrees

    def _by_counts(self, states: Sequence[State], proportion: tuple[Expr, Expr], z: Values) -> Values:
        """The same for proportions, by the likelihood ratio of their counts, which is valid for small counts too."""
        rest, own = (self._counts(state) for state in states)
        counted = [t.select(e.cast(pl.Float64)).to_series().fill_null(0) for t in (own, rest) for e in proportion]
        return np.where(np.isnan(z), np.nan, self._worse * difference_of_shares(*counted))

    def _counts(self, state: State) -> pl.DataFrame:
        _, view, _ = next(found for found in by_view(state, [self.metric]) if found[2])
        first = first_case(view, state.table(self.cut.statistic))
        counts = matching(first, view.kept, {k: v for k, v in self.keys.items() if k in view.kept})
        return state.groups.select(GROUP).join(
            counts.select(GROUP, *CELLS), on=GROUP, how="left", maintain_order="left"
        )


def _cut(state: State, metric: Metric, keys: Mapping[str, Any], groups: pl.DataFrame) -> Cut:
    counts = threshold_state(state, as_float(keys.get("threshold")))
    if counts is not None and any(metric.readable(c) for c in columns_of(counts.statistics, state.labels)):
        state = counts
    statistic = next(statistic for statistic, _, own in by_view(state, [metric]) if own)
    if not subtracts(statistic, metric):
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
    return Cut.of(replace(state, tables={statistic.name: table}, labels=labels), statistic, groups)
