"""Two evaluations, or two models, side by side: their values, and what the intervals of differences depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Self

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    METRIC,
    NO_LIMITS,
    RIGHT,
    VALUE,
    VARIANCE,
    A,
    B,
    hidden,
    joined,
    keys_of,
    require_free,
    text,
)
from streammetrics.data import FEWEST_FOLDS, FOLD, LABEL, coarser_folds, common_types, typed
from streammetrics.errors import ReportError
from streammetrics.metrics import BEST, Metric
from streammetrics.reading.changes import ENDS, change_of_distance
from streammetrics.reading.models import SameRows
from streammetrics.statistics import (
    GROUP,
    TRUTH,
    RowCounts,
    State,
    fingerprints,
    for_reports,
    identifies_rows,
    roll_up,
    with_keys,
)

if TYPE_CHECKING:
    from streammetrics.report import Report
else:
    Report = object  # so that types of a `Comparison` can be read at run time

PAIRED = hidden("paired")
COLUMNS = ("a", "b", "difference", "better", "note")


@dataclass(frozen=True)
class Sides:
    """Two evaluations, or two models, and how their rows are related."""

    a: Report
    b: Report
    confidence: float | None = None
    independent: bool = False
    same_rows: SameRows | None = None
    names: tuple[str, str] = ("a", "b")

    def __post_init__(self) -> None:
        if not set(self.a.by) <= set(self.b.by):
            both = f"{text.few(self.a.by) or 'none'} and {text.few(self.b.by) or 'none'}"
            raise ReportError(f"The group columns differ: {both}. Roll both up to the same ones.")
        if "equal" in self.names:  # which `better` can be, too
            object.__setattr__(self, "names", tuple(map(repr, self.names)))
        require_free([*self.a.by, *self.b.by], COLUMNS, "a name that comparisons use")
        if self.confidence is not None:
            from streammetrics.metrics import upper_level  # when it is needed

            upper_level(self.confidence)

    @property
    def _metrics(self) -> list[Metric]:
        """Metrics that both reports show."""
        names = {m.name for m in self.b.metrics}
        return [m for m in self.a.metrics if m.name in names]

    def _showing(self, metrics: Sequence[str | Metric]) -> Self:
        return replace(self, a=self.a.showing(metrics), b=self.b.showing(metrics))

    def _frames(self, confidence: float | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both frames, with the same key columns in the same types.

        If ``a`` has fewer group columns, its rows are repeated for each group of ``b``.
        """
        one, other = (_with_confidence(r, confidence)._sampled_frame for r in (self.a, self.b))
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

    @cached_property
    def _values(self) -> pl.DataFrame:
        """Keys, metric, ``a``, ``b``, the bounds of both, and the difference with its bounds and note."""
        one, other = self._frames(None)
        keys = [*keys_of(one), METRIC]
        one, other = (
            frame.select(*keys, pl.col(VALUE).cast(pl.Float64).name.prefix(side), pl.col("note").alias(f"{side}note"))
            for frame, side in ((one, A), (other, B))
        )
        both = one.join(
            other, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right", suffix=RIGHT
        )
        return both.filter(pl.col("metric").is_in([m.name for m in self._metrics])).select(
            *keys,
            a=f"{A}value",
            b=f"{B}value",
            value=_minus("value", "value"),
            lower=_minus("lower", "upper"),
            upper=_minus("upper", "lower"),
            note=pl.coalesce(_undefined("a", A), _undefined("b", B)),
            **{name: pl.col(name) for name in ENDS},
        )

    @cached_property
    def _differences(self) -> pl.DataFrame:
        """`_values`, with the limits of the differences at the confidence level, if there is one."""
        return self._values if self.confidence is None else self._with_limits(self._values, 1.0)

    @cached_property
    def _changes(self) -> pl.DataFrame:
        """`_differences`, of metrics with a best value those of the distance from it, of which less is better."""
        best = {m.name: float(BEST[m.__name__]) for m in self._metrics if m.__name__ in BEST}
        is_near = pl.col("metric").is_in([*best])
        near = self._differences.filter(is_near)
        if near.is_empty():
            return self._differences
        sums = None if self.confidence is None else self._showing([*best])._with_limits(near.drop(LIMITS), -1.0)
        changed = change_of_distance(near, sums, best)
        numbered = self._differences.with_row_index(RIGHT)
        parts = [numbered.filter(~is_near), changed.with_columns(numbered.filter(is_near)[RIGHT])]
        return pl.concat(parts, how="diagonal_relaxed").sort(RIGHT).select(self._differences.columns)

    def _with_limits(self, values: pl.DataFrame, factor: float) -> pl.DataFrame:
        """`_values` with the limits of ``b - factor * a``, null without an interval, and the effective rows."""
        keys = values.columns[: values.columns.index("a")]
        limits = self._limits(values.select(*keys, pl.col("a") * factor, "b"), factor)
        return values.join(limits, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _limits(self, values: pl.DataFrame, factor: float) -> pl.DataFrame:
        """Keys, metric, and limits of ``b - factor * a``, where valid. ``values`` has ``a`` times the factor."""
        from streammetrics.reading.independent_rows import independent_intervals  # when it is needed
        from streammetrics.reading.same_rows import same_rows_intervals, spread_of_pairs
        from streammetrics.reading.units import (
            of_effective_units,
            paired_intervals,
            units_that_differ,
            with_fewest_rows,
        )

        level = self.confidence or 0.0
        if (folds := self._folds) is not None:
            found = paired_intervals(values, *folds, self._metrics, level, factor)
            if self.same_rows is not None:
                found = of_effective_units(found, spread_of_pairs(values, self.same_rows, self._metrics, factor))
            else:
                differ = [] if self.independent else [units_that_differ(found, *folds, self._metrics)]
                found = with_fewest_rows(found, *self._frames(level), *differ)
            found = found.drop(VARIANCE, strict=False)
            if self.independent:
                return found
            apart = pl.concat([self._of_different_rows, self._of_unknown_rows])
            if apart.is_empty():
                return found
            return found.join(apart, on=self.b.by, how="anti", nulls_equal=True) if self.b.by else found.clear()
        if self.same_rows is not None:
            return same_rows_intervals(values, self.same_rows, self._metrics, level, factor)
        if self.independent:
            return independent_intervals(values, *self._frames(level), factor)
        return values.drop("a", "b").with_columns(NO_LIMITS)

    @property
    def _common_folds(self) -> int:
        """The number of folds of units that both sides have; 0 without the same units."""
        a, b = self.a, self.b
        return gcd(a.number_of_folds, b.number_of_folds) if a.unit == b.unit and a.by == b.by else 0

    @cached_property
    def _folds(self) -> tuple[State, State] | None:
        """The rows of both sides by the same folds of units, if they have enough."""
        a, b, common = self.a, self.b, self._common_folds
        if a.folds is None or b.folds is None or common < FEWEST_FOLDS:
            return None
        return _coarser(a.folds, a.number_of_folds // common), _coarser(b.folds, b.number_of_folds // common)

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """The numbers of rows of both sides, by group, and whether they are the ``same`` rows.

        ``same`` is null if it is unknown. If a side also ``dropped`` rows, they can then be different ones.
        """
        by, (one, other) = self.b.by, (self.a, self.b)
        dropped = self._showing(["dropped"])._values.select(*by, dropped=pl.max_horizontal("a", "b") > 0)
        rows = joined(self._showing(["rows"])._values.select(*by, "a", "b"), dropped, by)
        same: list[pl.Expr] = [pl.when(pl.col("a").ne_missing(pl.col("b"))).then(False)]
        if self.same_rows is not None:
            of_pair = self.same_rows.a.keys.with_columns(self.same_rows.same.alias(PAIRED))
            rows = joined(rows, of_pair.cast(rows.select(by).schema), by)
            same += [pl.col(PAIRED), pl.when(~pl.col("dropped")).then(True)]
        if one.by == other.by and all(identifies_rows(side.state, side.unit) for side in (one, other)):
            rows = _with(rows, (fingerprints(side.state).select(*by, TRUTH) for side in (one, other)), by)
            same.append(pl.col(f"{A}{TRUTH}") == pl.col(f"{B}{TRUTH}"))
        if self._folds is not None:
            rows = _with(rows, map(_sizes_of_folds, self._folds), by)
            same.append(pl.when(pl.col(f"{A}{FOLD}").ne_missing(pl.col(f"{B}{FOLD}"))).then(False))
        return rows.select(*by, "a", "b", "dropped", same=pl.coalesce(same))

    @property
    def _of_different_rows(self) -> pl.DataFrame:
        return self._rows.filter(~pl.col("same"))

    @property
    def _of_unknown_rows(self) -> pl.DataFrame:
        return self._rows.filter(pl.col("same").is_null() & pl.col("dropped"))


def _with(rows: pl.DataFrame, sides: Iterable[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """The rows, with the column of each side that is not a key."""
    for side, frame in zip((A, B), sides, strict=True):
        value = frame.columns[-1]
        rows = joined(rows, frame.cast(rows.select(by).schema).rename({value: f"{side}{value}"}), by)
    return rows


def _sizes_of_folds(folds: State) -> pl.DataFrame:
    """The group columns, and the number of rows of each fold."""
    by = [c for c in folds.by if c != FOLD]
    rows = folds.groups.join(folds.tables[RowCounts.name], on=GROUP).filter(pl.col("rows") > 0).sort(FOLD)
    sizes = pl.struct(pl.col(FOLD).cast(pl.Int64), "rows").alias(FOLD)
    return rows.group_by(by, maintain_order=True).agg(sizes) if by else rows.select(sizes.implode())


def _coarser(folds: State, times: int) -> State:
    """The state by fewer folds, of which each has so many."""
    return folds if times == 1 else roll_up(for_reports(with_keys(folds, coarser_folds(times))), folds.by)


def _estimates(frame: pl.DataFrame) -> list[str]:
    return [c for c in (*VALUE, *LIMITS, EFFECTIVE_ROWS, "note") if c in frame.columns]


def _undefined(name: str, side: str) -> pl.Expr:
    """The reason why a side has no value; null if it has one."""
    why = pl.col(f"{side}note").str.strip_prefix("undefined: ")
    return pl.when(pl.col(f"{side}value").is_null()).then(pl.format("{} has no value: {}", pl.lit(name), why))


def _with_confidence(report: Report, confidence: float | None) -> Report:
    if confidence is None or (report.confidence == confidence and report.always is None):
        return report
    return report.with_confidence(confidence)


def _minus(of_b: str, of_a: str) -> pl.Expr:
    """A difference of b and a; null between two infinities."""
    return (pl.col(f"{B}{of_b}") - pl.col(f"{A}{of_a}")).fill_nan(None)
