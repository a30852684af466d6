"""Differences of metrics between two evaluations, or two models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    ROUNDING,
    VOLUME,
    few_effective,
    hidden,
    outer_limits,
    text,
    too_few_effective,
)
from streammetrics.data import FEWEST_FOLDS, MODEL, common_types, typed
from streammetrics.metrics import EVERYWHERE, Metric, direction, smallest_difference
from streammetrics.reading.changes import ENDS
from streammetrics.reading.models import SameRows, of_model, pairs_of
from streammetrics.reading.sides import Sides
from streammetrics.statistics import PairedOutcomes, for_reports, roll_up, select

if TYPE_CHECKING:
    from streammetrics.report import Report

D = TypeVar("D", bound="Differences")

EQUAL = hidden("equal")
POWER = 0.8
AHEAD = "ahead, not significant"
AHEAD_WITHIN_BOUNDS = f"{AHEAD} with its bounds"
UNTESTED = "on these rows; no confidence interval"
REMEDY = (
    "To compare both models on the same rows, with paired confidence intervals, filter out null scores. "
    'On the command line, evaluate with a condition such as --where "score_a IS NOT NULL AND score_b IS NOT NULL".'
)
NOTHING_IN_COMMON = "The two evaluations have no group in common. Roll both up to columns with common values."
APART = "If their rows are independent, such as rows of different days, compare them as independent."
NOT_PAIRED = (
    "Differences have no confidence intervals. Compare different rows as independent. Evaluate the same rows with both "
    "models in one pass, or with the same unit."
)
OF_THE_SAME_ROWS = (
    "Both evaluations saw the same rows, but differences have no confidence intervals. For intervals, evaluate both "
    "models in one pass, or with the same unit."
)
OTHER_FOLDS = "Both evaluations have too few folds of units in common for confidence intervals. Use the same number."
UNKNOWN_ROWS = (
    "Both sides have equal numbers of rows, but rows were dropped, possibly different ones, so differences have no "
    "confidence intervals. For intervals, filter out nulls, or keep a fingerprint of columns that identify a row."
)
NOT_INDEPENDENT = "Both evaluations saw the same rows, so they are not independent. Compare them as dependent."
WEIGHTED = "Differences of weighted rows have confidence intervals only by unit. Evaluate with a unit."
NOT_COUNTED = (
    "Differences at threshold {0} have no confidence intervals, because the evaluation did not include it. For "
    "intervals, evaluate with threshold {0}."
)
NOT_WITHOUT_UNITS = "few rows of a class, equal predictions, or a metric that requires a unit"
TOO_FEW_UNITS = "few units, few rows of a class, or equal predictions"


@dataclass(frozen=True)
class Differences(Sides):
    """Numbers of a `Comparison`."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Differences of all metrics that both reports show, for all groups of either report.

        Columns: group columns, key columns such as ``threshold``, metric, ``a``, ``b``, ``difference`` (b - a),
        ``lower`` and ``upper`` (certified bounds of the difference), and ``better``. ``better`` is the name of a side
        if the bounds prove it, ``"equal"`` if both are proven equal, else null. Differences of at most 1e-12, relative
        to the values, count as rounding. If a side is named ``equal``, its name is in quotes.

        With a confidence level, ``ci_lower`` and ``ci_upper`` are the confidence interval of the difference, or null if
        there is no valid one. ``better`` then also requires that the interval, widened by the bounds, excludes 0. If it
        does not, or if there is no interval, ``note`` gives the side that is better on these rows, or the reason why a
        value is undefined. Of metrics such as ``bias``, the side nearer to the best value is better: the interval of
        ``|b| - |a|`` decides.

        Raises:
            ColumnError: If a group column has different types.
        """
        sides = dict(zip(("a", "b"), self.names, strict=True))
        named = self._lettered.with_columns(pl.col("better").replace(sides))
        return with_names(named, self.names) if "note" in named.columns else named

    @cached_property
    def _lettered(self) -> pl.DataFrame:
        """The frame with a and b in place of the names of both sides."""
        sign = {m.name: {"high": 1, "low": -1}.get(direction(m) or "", 0) for m in self._metrics}
        gain = pl.col("metric").replace_strict(sign, default=0, return_dtype=pl.Int8)
        size = pl.max_horizontal(pl.col("a", "b").abs())
        rounding = pl.when(size.is_finite()).then(ROUNDING * size).otherwise(0.0)
        same = pl.all_horizontal(pl.col("lower", "upper").abs() <= rounding)
        equal = self._differences.select(same).to_series().alias(EQUAL)
        above, below = pl.col("lower") > rounding, pl.col("upper") < -rounding
        ahead = (
            pl.when(EQUAL)
            .then(pl.lit("equal"))
            .when(pl.when(gain > 0).then(above).when(gain < 0).then(below))
            .then(pl.lit("b"))
            .when(pl.when(gain > 0).then(below).when(gain < 0).then(above))
            .then(pl.lit("a"))
        )
        judged = self._changes.with_columns(equal).with_columns(better=ahead)
        found = self._differences.rename({"value": "difference"}).drop(ENDS, EFFECTIVE_ROWS, "note", strict=False)
        if self.confidence is None:
            return found.with_columns(judged["better"])
        (lower, upper), (low, high) = map(pl.col, LIMITS), outer_limits()
        known = lower.is_not_null() & upper.is_not_null()
        few = few_effective(units=self._folds is not None) & known
        is_open = pl.col("better").is_in(["a", "b"]) & ~(known & ~few & ((low > 0) | (high < 0)))
        why = (
            pl.when(few)
            .then(pl.format("{}: {}", pl.lit(AHEAD), self._few_differ))
            .when(known & ((lower > 0) | (upper < 0)))
            .then(pl.lit(AHEAD_WITHIN_BOUNDS))
            .when(known)
            .then(pl.lit(AHEAD))
            .otherwise(pl.lit(UNTESTED))
        )
        note = pl.when(is_open).then(pl.format("{} {}", "better", why)).otherwise("note")
        return found.with_columns(judged.select(better=pl.when(~is_open).then("better"), note=note))

    @property
    def _few_differ(self) -> pl.Expr:
        """Why neither side is better if that depends on few effective rows."""
        what = {"few_rows": "too few rows", "few_rows_differ": "too few rows differ"}[self._few]
        return too_few_effective(what, units=self._folds is not None)

    @property
    def _few(self) -> str:
        """The code of that reason."""
        return "few_rows" if self.independent or self.same_rows is None else "few_rows_differ"

    @cached_property
    def note(self) -> str | None:
        """A warning if the evaluations have no group in common, or cannot have confidence intervals; otherwise None.

        Without ``independent``, different rows are also a reason. The warning includes the fix.
        """
        if self._apart:
            return NOTHING_IN_COMMON
        is_same = bool(self._rows["same"].all(ignore_nulls=False))
        if self.independent:
            return NOT_INDEPENDENT if is_same else None
        differing = self._of_different_rows
        if differing.is_empty():
            return self._without_intervals(is_same)
        what = "models" if self.b.by == [MODEL] else "groups"
        groups = f" in {differing.height:,} of {self._rows.height:,} {what}"
        numbers = groups if self.b.by else f": {differing['a'][0] or 0:,.0f} and {differing['b'][0] or 0:,.0f}"
        remedy = APART if self.same_rows is None else REMEDY
        if differing["a"].equals(differing["b"]):
            where = groups if self.b.by else ""
            return f"The two evaluations have equal numbers of rows, but not the same rows{where}. {remedy}"
        return f"The two evaluations have different numbers of rows{numbers}. {remedy}"

    def _without_intervals(self, is_same: bool) -> str | None:
        """The fix if the differences of two evaluations with equal numbers of rows cannot have intervals."""
        if self.confidence is None:
            return None
        if self._folds is not None:
            return None if self._of_unknown_rows.is_empty() else UNKNOWN_ROWS
        if self.same_rows is None:
            with_units = 0 < self._common_folds < FEWEST_FOLDS
            return OTHER_FOLDS if with_units else OF_THE_SAME_ROWS if is_same else NOT_PAIRED
        return WEIGHTED if self.b.state.weighted else self._at_other_thresholds(self.same_rows)

    def _without_interval(self, metric: Metric) -> str:
        """Return why a difference has no interval, and what to do."""
        own, with_units = metric.interval, self._folds is not None
        return self.note or own.reason or (own.without_folds or TOO_FEW_UNITS if with_units else NOT_WITHOUT_UNITS)

    def _at_other_thresholds(self, same_rows: SameRows) -> str | None:
        """The fix if joint outcomes were not counted at a threshold: single histograms do not show them."""
        counted = {t for s in same_rows.pairs.statistics if isinstance(s, PairedOutcomes) for t in s.thresholds}
        if not counted or "threshold" not in self.frame.columns:
            return None
        others = set(self.frame["threshold"].drop_nulls()) - counted
        return NOT_COUNTED.format(text.few(sorted(others))) if others else None

    @property
    def _apart(self) -> bool:
        """Whether both sides have groups, but no group in common."""
        by = self.a.by
        one, other = (report.state.keys.select(by) for report in (self.a, self.b))
        if not by or one.is_empty() or other.is_empty():
            return False
        types = common_types([one, other])
        return typed(one, types).join(typed(other, types), on=by, how="semi", nulls_equal=True).is_empty()

    @cached_property
    def total(self) -> Self:
        """The comparison of all groups together. Models stay separate."""
        return self.rollup() if {*self.a.by, *self.b.by} - {MODEL} else self

    def rollup(self, *columns: str) -> Self:
        """Return the comparison by fewer group columns, as if the rows had been grouped by these only.

        Models stay separate.

        Raises:
            ReportError: If a column is not a group column.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "country": ["DE", "DE", "FR"]}
        >>> acc = sm.binary(y_true="y", y_score="p", by="country").update(rows)
        >>> sm.compare(acc, acc, metrics="rows").rollup().frame["a"].to_list()
        [3.0]
        """
        a, b = self.a.rollup(*(c for c in columns if c in self.a.by)), self.b.rollup(*columns)
        same_rows = self.same_rows
        if same_rows is not None:
            pairs = roll_up(for_reports(same_rows.pairs), columns)
            one, other = (select(report.state, pairs.keys) if columns else report.state for report in (a, b))
            same_rows = replace(same_rows, a=one, b=other, pairs=pairs)
        return replace(self, a=a, b=b, same_rows=same_rows)

    @cached_property
    def primary(self) -> Metric | None:
        """The metric by which one side is called better: the first with a preferred direction, and one value."""
        for metric in self._metrics:
            if metric.better is not None and metric.name not in VOLUME:
                own = self.total.frame.filter(metric=metric.name).drop_nulls("difference")
                if own.height and own.height == (own.n_unique(self.total.b.by) if self.total.b.by else 1):
                    return metric
        return None

    @cached_property
    def detectable(self) -> float | None:
        """The smallest difference of the primary metric that all rows find with a power of 80%.

        It is that of the confidence interval, widened by the certified bounds. None without an interval, or with
        several models.

        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50, "q": [0.9, 0.3, 0.8, 0.1] * 50}
        >>> acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update(rows)
        >>> round(sm.compare(acc, models=("old", "new"), metrics=["roc_auc"]).detectable, 3)
        0.102
        """
        if self.primary is None or self.confidence is None:
            return None
        row = self.total._changes.filter(metric=self.primary.name).drop_nulls(["value", *LIMITS])
        found = row.select(smallest_difference(EVERYWHERE, POWER, self.confidence))
        return float(found.item()) if found.height == 1 else None


def of_models(kind: type[D], report: Report, a: str, b: str, confidence: float | None) -> D:
    """Return the differences between two models of a report, on the same rows."""
    one, other, pairs = of_model(report, a), of_model(report, b), pairs_of(report.state, a, b)
    same_rows = SameRows(select(one.state, pairs.keys), select(other.state, pairs.keys), pairs, (a, b))
    return kind(one, other, confidence, same_rows=same_rows, names=(a, b) if a != b else ("a", "b"))


def with_names(frame: pl.DataFrame, names: tuple[str, str]) -> pl.DataFrame:
    """Return a frame with the names of both sides in place of a and b in its notes."""
    sides = dict(zip(("a", "b"), names, strict=True))
    named = pl.col("note").map_elements(lambda note: text.noted(note, sides), return_dtype=pl.String)
    return frame.with_columns(note=named)
