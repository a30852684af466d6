"""Differences of metrics between two evaluations, or two models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import polars as pl

from streammetrics import text
from streammetrics.errors import ReportError
from streammetrics.frame import LIMITS, METRIC, NO_LIMITS, RIGHT, VALUE, VOLUME, A, B, keys_of
from streammetrics.keys import require_free
from streammetrics.metrics import Metric
from streammetrics.metrics.words import better
from streammetrics.reading.models import SameRows, pairs_of
from streammetrics.reading.parts import of_model
from streammetrics.reading.readings import Readings
from streammetrics.rounding import ROUNDING
from streammetrics.rows.frames import common_types, typed
from streammetrics.rows.roles import LABEL, MODEL
from streammetrics.state.tables import State, for_reports, roll_up, select
from streammetrics.statistics.paired_outcomes import PairedOutcomes

D = TypeVar("D", bound="Differences")

COLUMNS = ("a", "b", "difference", "better", "note")
AHEAD = "ahead, not significant"
AHEAD_WITHIN_BOUNDS = f"{AHEAD} with its bounds"
UNTESTED = "on these rows; no confidence interval"
REMEDY = (
    "To compare both models on the same rows, with paired confidence intervals, filter out null scores. "
    'On the command line, evaluate with a condition such as --where "score_a IS NOT NULL AND score_b IS NOT NULL".'
)
NOTHING_IN_COMMON = "The two evaluations have no group in common. Roll both up to columns with common values."
APART = "If their rows are independent, such as rows of different days, pass independent=True."
NOT_PAIRED = (
    "Differences have no confidence intervals. For different rows, pass independent=True. For the same rows, evaluate "
    "both models in one pass, or pass unit= to both evaluations."
)
WEIGHTED = "Differences of weighted rows have confidence intervals only by unit: pass unit= to the evaluation."
NOT_COUNTED = (
    "Differences at threshold {0} have no confidence intervals, because the evaluation did not include it. For "
    "intervals, evaluate with threshold {0}."
)


@dataclass(frozen=True)
class Differences:
    """Numbers of a `Comparison`."""

    a: Readings
    b: Readings
    confidence: float | None = None
    independent: bool = False
    same_rows: SameRows | None = None
    names: tuple[str, str] = ("a", "b")

    def __post_init__(self) -> None:
        if not set(self.a.by) <= set(self.b.by):
            both = f"{text.few(self.a.by) or 'none'} and {text.few(self.b.by) or 'none'}"
            raise ReportError(
                f"The group columns differ: {both}. Roll both up to the same ones, such as with rollup()."
            )
        require_free([*self.a.by, *self.b.by], COLUMNS, "a name that comparisons use")
        if self.confidence is not None:
            from streammetrics.intervals.distributions import upper_level  # when it is needed

            upper_level(self.confidence)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Differences of all metrics that both reports show, for all groups of either report.

        Columns: group columns, key columns such as ``threshold``, metric, ``a``, ``b``, ``difference`` (b - a),
        ``lower`` and ``upper`` (certified bounds of the difference), and ``better``. ``better`` is the name of a side
        if the bounds prove it, ``"equal"`` if both are proven equal, else null. Differences of at most 1e-12, relative
        to the values, count as rounding.

        With a confidence level, ``ci_lower`` and ``ci_upper`` are the confidence interval of the difference, or null if
        there is no valid one. ``better`` then also requires that the interval, widened by the bounds, excludes 0. If it
        does not, or if there is no interval, ``note`` gives the side that is better on these rows, or the reason why a
        value is undefined. For metrics such as ``bias``, it gives the best value.

        Raises:
            ColumnError: If a group column has different types.
        """
        sides = dict(zip(("a", "b"), self.names, strict=True))
        notes = {"note": _note_of(sides)} if "note" in self._lettered.columns else {}
        return self._lettered.with_columns(better=pl.col("better").replace(sides), **notes)

    @cached_property
    def _lettered(self) -> pl.DataFrame:
        """The frame with a and b in place of the names of both sides."""
        one, other = self._frames(None)
        keys = [*keys_of(one), METRIC]
        one, other = (
            frame.select(*keys, pl.col(VALUE).cast(pl.Float64).name.prefix(side), pl.col("note").alias(f"{side}note"))
            for frame, side in ((one, A), (other, B))
        )
        joined = one.join(
            other, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right", suffix=RIGHT
        )
        joined = joined.filter(pl.col("metric").is_in([m.name for m in self._metrics]))
        sign = {m.name: {"high": 1, "low": -1}.get(m.better or "", 0) for m in self._metrics}
        gain = pl.col("metric").replace_strict(sign, default=0, return_dtype=pl.Int8)
        size = pl.max_horizontal(pl.col(f"{A}value", f"{B}value").abs())
        rounding = pl.when(size.is_finite()).then(ROUNDING * size).otherwise(0.0)
        b_above, b_below = pl.col("lower") > rounding, pl.col("upper") < -rounding
        found = joined.with_columns(
            difference=_minus("value", "value"),
            lower=_minus("lower", "upper"),
            upper=_minus("upper", "lower"),
        ).select(
            *keys,
            pl.col(f"{A}value").alias("a"),
            pl.col(f"{B}value").alias("b"),
            "difference",
            "lower",
            "upper",
            better=pl.when((pl.col("lower").abs() <= rounding) & (pl.col("upper").abs() <= rounding))
            .then(pl.lit("equal"))
            .when(pl.when(gain > 0).then(b_above).when(gain < 0).then(b_below))
            .then(pl.lit("b"))
            .when(pl.when(gain > 0).then(b_below).when(gain < 0).then(b_above))
            .then(pl.lit("a")),
            note=pl.coalesce(_undefined("a", A), _undefined("b", B)),
        )
        if self.confidence is None:
            return found.drop("note")
        limits = self._limits(found.select(*keys, "a", "b"), self.confidence)
        with_limits = found.join(limits, on=keys, how="left", nulls_equal=True, maintain_order="left")
        known = pl.col("ci_lower").is_not_null() & pl.col("ci_upper").is_not_null()
        low = pl.col("ci_lower") - (pl.col("difference") - pl.col("lower"))
        high = pl.col("ci_upper") + (pl.col("upper") - pl.col("difference"))
        apart = known & ((low > 0) | (high < 0))
        open_ = pl.col("better").is_in(["a", "b"]) & ~apart
        notes = {m.name: better(m)[:-1].lower() for m in self._metrics if m.better is None and better(m)}
        best = pl.col("metric").replace_strict(notes, default=None, return_dtype=pl.String)
        alone = (pl.col("ci_lower") > 0) | (pl.col("ci_upper") < 0)
        why = (
            pl.when(known & alone)
            .then(pl.lit(AHEAD_WITHIN_BOUNDS))
            .when(known)
            .then(pl.lit(AHEAD))
            .otherwise(pl.lit(UNTESTED))
        )
        return with_limits.select(
            pl.exclude("better", "note"),
            better=pl.when(~open_).then("better"),
            note=pl.when(open_)
            .then(pl.format("{} {}", "better", why))
            .otherwise(pl.coalesce("note", pl.when(pl.col("better").is_null()).then(best))),
        )

    @property
    def _metrics(self) -> list[Metric]:
        """Metrics that both reports show."""
        names = {m.name for m in self.b.metrics}
        return [m for m in self.a.metrics if m.name in names]

    def _frames(self, confidence: float | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both frames, with the same key columns in the same types.

        If ``a`` has fewer group columns, its rows are repeated for each group of ``b``.
        """
        one, other = (_with_confidence(r, confidence).frame for r in (self.a, self.b))
        own = [*keys_of(one), METRIC]
        keys = [c for c in [*keys_of(other), METRIC] if c in own or c in self.b.by]
        if LABEL not in keys and any(LABEL in frame.columns and frame[LABEL].count() for frame in (one, other)):
            raise ReportError(
                "Only one of the evaluations has metrics of each label. Compare evaluations of the same task."
            )
        shared = [c for c in keys if c in own]
        types = common_types([frame.select(shared) for frame in (one, other)])
        one, other = typed(one, types), typed(other, types)
        if len(shared) < len(keys):
            groups = other.select(self.b.by).unique(maintain_order=True)
            one = groups.join(one, on=self.a.by, nulls_equal=True) if self.a.by else groups.join(one, how="cross")
        return one.select(*keys, *_estimates(one)), other.select(*keys, *_estimates(other))

    def _limits(self, values: pl.DataFrame, confidence: float) -> pl.DataFrame:
        """Keys, metric, and limits of the differences, where valid."""
        from streammetrics.reading.independent_rows import independent_intervals  # when it is needed
        from streammetrics.reading.same_rows import same_rows_intervals
        from streammetrics.reading.units import paired_intervals

        if (folds := self._folds) is not None:
            found = paired_intervals(values, *folds, self._metrics, confidence)
            if self.independent or (apart := self._of_different_rows).is_empty():
                return found
            return found.join(apart, on=self.b.by, how="anti", nulls_equal=True) if self.b.by else found.clear()
        if self.same_rows is not None:
            return same_rows_intervals(values, self.same_rows, self._metrics, confidence)
        if self.independent:
            return independent_intervals(values, *self._frames(confidence))
        return values.drop("a", "b").with_columns(NO_LIMITS)

    @property
    def _folds(self) -> tuple[State, State] | None:
        """The rows of both sides by the same folds of units, if they have some."""
        a, b = self.a, self.b
        alike = a.unit == b.unit and a.by == b.by
        return (a.folds, b.folds) if a.folds is not None and b.folds is not None and alike else None

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """The numbers of rows of both sides, by group."""
        return Differences(self.a.showing(["rows"]), self.b.showing(["rows"])).frame

    @property
    def _of_different_rows(self) -> pl.DataFrame:
        return self._rows.filter(pl.col("a").ne_missing(pl.col("b")))

    @cached_property
    def note(self) -> str | None:
        """A warning if the evaluations have no group in common, or cannot have confidence intervals; otherwise None.

        Without ``independent``, different numbers of rows are also a reason. The warning includes the fix.
        """
        if self._apart:
            return NOTHING_IN_COMMON
        if self.independent:
            return None
        differing = self._of_different_rows
        if differing.is_empty():
            return self._without_intervals()
        what = "models" if self.b.by == [MODEL] else "groups"
        groups = f" in {differing.height:,} of {self._rows.height:,} {what}"
        numbers = groups if self.b.by else f": {differing['a'][0] or 0:,.0f} and {differing['b'][0] or 0:,.0f}"
        remedy = APART if self.same_rows is None else REMEDY
        return f"The two evaluations have different numbers of rows{numbers}. {remedy}"

    def _without_intervals(self) -> str | None:
        """The fix if the differences of two evaluations with equal numbers of rows cannot have intervals."""
        if self.confidence is None or self._folds is not None:
            return None
        if self.same_rows is None:
            return NOT_PAIRED
        return WEIGHTED if self.b.state.weighted else self._at_other_thresholds(self.same_rows)

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


def _estimates(frame: pl.DataFrame) -> list[str]:
    return [c for c in (*VALUE, *LIMITS, "note") if c in frame.columns]


def _undefined(name: str, side: str) -> pl.Expr:
    """The reason why a side has no value; null if it has one."""
    why = pl.col(f"{side}note").str.strip_prefix("undefined: ")
    return pl.when(pl.col(f"{side}value").is_null()).then(pl.format("{} has no value: {}", pl.lit(name), why))


def _with_confidence(report: Readings, confidence: float | None) -> Readings:
    if confidence is None or (report.confidence == confidence and report.always is None):
        return report
    return report.with_confidence(confidence)


def _minus(of_b: str, of_a: str) -> pl.Expr:
    """A difference of b and a; null between two infinities."""
    return (pl.col(f"{B}{of_b}") - pl.col(f"{A}{of_a}")).fill_nan(None)


def of_models(kind: type[D], report: Readings, a: str, b: str, confidence: float | None) -> D:
    """Return the differences between two models of a report, on the same rows."""
    one, other, pairs = of_model(report, a), of_model(report, b), pairs_of(report.state, a, b)
    same_rows = SameRows(select(one.state, pairs.keys), select(other.state, pairs.keys), pairs, (a, b))
    return kind(one, other, confidence, same_rows=same_rows, names=(a, b) if a != b else ("a", "b"))


def _note_of(sides: dict[str, str]) -> pl.Expr:
    """Notes with the names of sides in place of a and b."""
    return pl.col("note").map_elements(lambda note: text.noted(note, sides), return_dtype=pl.String)
