"""Comparison of two reports: differences of metrics, and which curve lies above the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import text
from streammetrics.errors import ReportError
from streammetrics.frame import LIMITS, METRIC, NO_LIMITS, RIGHT, VALUE, A, B, keys_of
from streammetrics.keys import require_free
from streammetrics.metrics import Metric
from streammetrics.reading.models import SameRows
from streammetrics.rows.frames import concat_groups
from streammetrics.rows.roles import MODEL
from streammetrics.state.tables import for_reports, roll_up
from streammetrics.system.writing import write_file

if TYPE_CHECKING:
    from streammetrics.charts import Plot
    from streammetrics.report.report import Report

Values = NDArray[np.float64]

COLUMNS = ("a", "b", "difference", "better", "note")
ROUNDING = 1e-12
FEW = 5  # metrics that text shows of each group
REMEDY = "For paired confidence intervals, evaluate only rows that both models have scored: filter out null scores."
NOTHING_IN_COMMON = "The two have no group in common. Roll them up to columns whose values they share."
APART = "If their rows are independent, such as those of two days, pass independent=True."


@dataclass(frozen=True)
class Comparison:
    """Differences between two reports, a and b.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> sm.compare(a, b).roc().rows()
    [(0.0, 0.5, 'b'), (0.5, 1.0, 'equal')]
    """

    a: Report
    b: Report
    confidence: float | None = None
    independent: bool = False
    same_rows: SameRows | None = None

    def __post_init__(self) -> None:
        if not set(self.a.by) <= set(self.b.by):
            raise ReportError(f"The group columns differ: {self.a.by} and {self.b.by}.")
        require_free([*self.a.by, *self.b.by], COLUMNS, "a name that comparisons use")
        if self.confidence is not None:
            from streammetrics.uncertainty.distributions import upper_level  # when it is needed

            upper_level(self.confidence)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Differences of all metrics that both reports show, for all groups of either report.

        Columns: group columns, key columns such as ``threshold``, metric, ``a``, ``b``, ``difference`` (b - a),
        ``lower`` and ``upper`` (certified bounds of the difference), and ``better``. ``better`` is ``"a"`` or ``"b"``
        if the bounds prove it, ``"equal"`` if both are proven equal, else null. Differences of at most 1e-12, relative
        to the values, count as rounding.

        With a confidence level, ``ci_lower`` and ``ci_upper`` are the confidence interval of the difference, or null if
        there is no valid one. ``better`` then also requires that the interval, widened by the bounds, excludes 0. If it
        does not, or if there is no interval, ``note`` says which side is better on these rows, or why one is undefined.

        Raises:
            ColumnError: If a group column has different types.
        """
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
        why = pl.when(known).then(pl.lit("could be chance")).otherwise(pl.lit("no confidence interval"))
        return with_limits.select(
            pl.exclude("better", "note"),
            better=pl.when(~open_).then("better"),
            note=pl.when(open_).then(pl.format("{} on these rows; {}", "better", why)).otherwise("note"),
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
        one, other = (r.with_confidence(confidence).frame if confidence else r.frame for r in (self.a, self.b))
        own = [*keys_of(one), METRIC]
        keys = [c for c in [*keys_of(other), METRIC] if c in own or c in self.b.by]
        shared = [c for c in keys if c in own]
        types = concat_groups([frame.select(shared).clear() for frame in (one, other)]).schema
        one, other = one.cast(types), other.cast(types)
        if len(shared) < len(keys):
            groups = other.select(self.b.by).unique(maintain_order=True)
            one = groups.join(one, on=self.a.by, nulls_equal=True) if self.a.by else groups.join(one, how="cross")
        return one.select(*keys, *_estimates(one)), other.select(*keys, *_estimates(other))

    def _limits(self, values: pl.DataFrame, confidence: float) -> pl.DataFrame:
        """Keys, metric, and limits of the differences, where valid."""
        from streammetrics.reading.independent_rows import independent_intervals  # when it is needed
        from streammetrics.reading.same_rows import same_rows_intervals
        from streammetrics.reading.units import paired_intervals

        alike = self.a.unit == self.b.unit and self.a.by == self.b.by
        if self.a.folds is not None and self.b.folds is not None and alike:
            return paired_intervals(values, self.a.folds, self.b.folds, self._metrics, confidence)
        if self.same_rows is not None:
            return same_rows_intervals(values, self.same_rows, self._metrics, confidence)
        if self.independent:
            return independent_intervals(values, *self._frames(confidence))
        return values.drop("a", "b").with_columns(NO_LIMITS)

    @cached_property
    def note(self) -> str | None:
        """A warning if the two have no group in common, or, without ``independent``, different numbers of rows.

        It says what to do.
        """
        if self._apart:
            return NOTHING_IN_COMMON
        if self.independent:
            return None
        one, other = (report.showing(["rows"]) for report in (self.a, self.b))
        rows = Comparison(one, other).frame
        differing = rows.filter(pl.col("a").ne_missing(pl.col("b")))
        if differing.is_empty():
            return None
        what = "models" if self.b.by == [MODEL] else "groups"
        groups = f" in {differing.height:,} of {rows.height:,} {what}"
        numbers = groups if self.b.by else f": {rows['a'][0] or 0:,.0f} and {rows['b'][0] or 0:,.0f}"
        remedy = APART if self.same_rows is None else REMEDY
        return f"The two evaluations have different numbers of rows{numbers}. {remedy}"

    @property
    def _apart(self) -> bool:
        """Whether both sides have groups, but none in common."""
        by = self.a.by
        one, other = (report.state.keys.select(by) for report in (self.a, self.b))
        if not by or one.is_empty() or other.is_empty():
            return False
        types = concat_groups([one.clear(), other.clear()]).schema
        return one.cast(types).join(other.cast(types), on=by, how="semi", nulls_equal=True).is_empty()

    def __str__(self) -> str:
        return as_text(self, text.terminal_width(), "Choose them with metrics=, or read all of them in the frame.")

    @cached_property
    def total(self) -> Comparison:
        """The comparison of all groups together. Models stay separate."""
        a, b, same_rows = self.a.rollup(), self.b.rollup(), self.same_rows
        if same_rows is not None:
            pairs = roll_up(for_reports(same_rows.pairs), [])
            same_rows = replace(same_rows, a=a.state, b=b.state, pairs=pairs)
        return replace(self, a=a, b=b, same_rows=same_rows)

    def __repr__(self) -> str:
        return str(self)

    @property
    def plot(self) -> Plot:
        """Charts of both reports in one picture, such as ``comparison.plot.roc()``. Requires the ``plot`` extra.

        Raises:
            ReportError: If the group columns differ.
        """
        from streammetrics.charts import Plot, Together  # when it is needed

        return Plot(Together({"a": self.a, "b": self.b}))

    def save_html(
        self,
        path: str | Path,
        title: str = "Comparison",
        names: tuple[str, str] = ("a", "b"),
        interactive: bool = False,
    ) -> None:
        """Write the comparison as one HTML page, which needs no network.

        It shows the differences of all metrics with bounds and confidence intervals, the groups that differ, and the
        curves of both sides in the same charts.

        Args:
            path: File to write.
            title: Title of the page.
            names: Names of both sides, such as ``("January", "May")``.
            interactive: Whether charts have tooltips, panning, and zooming. Adds about 1 MB of script.

        Raises:
            SpecificationError: If ``names`` are not two strings, or the ``plot`` extra is not installed.
            ReportError: If both sides have the same name.
            SourceError: If the file cannot be written. An existing file then stays unchanged.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> scores = [0.9, 0.2, 0.4], [0.9, 0.6, 0.4]
        >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": p}) for p in scores)
        >>> with TemporaryDirectory() as directory:
        ...     sm.compare(a, b).save_html(f"{directory}/comparison.html", names=("January", "May"))
        """
        from streammetrics.html import comparison_page  # when it is needed

        write_file(path, comparison_page(self, names, title, interactive).encode())

    def roc(self) -> pl.DataFrame:
        """Return the intervals in which one ROC curve lies above the other.

        Columns: group columns, ``from_fpr``, ``to_fpr``, ``above``. One row per interval of false positive rates.
        ``above`` is ``"a"``, ``"b"``, or ``"equal"``, or null if a curve is undefined because a class has no rows.
        Curves are interpolated linearly between thresholds. A single row means that one curve dominates, or that both
        are equal.

        Raises:
            MetricError: If a report has no score histogram.
        """
        return self._stretches("roc", "fpr", _of_lines)

    def error_cdf(self) -> pl.DataFrame:
        """Return the intervals of tolerances in which one side has more errors within the tolerance.

        Columns: group columns, ``from_tolerance``, ``to_tolerance``, ``above``.

        One row per interval, in ascending order. ``above`` is the side with the larger share of errors up to the
        tolerance: ``"a"``, ``"b"``, or ``"equal"``, or null if the bins of the error histograms do not decide it.

        Raises:
            MetricError: If a report has no error histogram.

        >>> import streammetrics as sm
        >>> y = [1.0, 2.0, 3.0]
        >>> a, b = (sm.regression(y_true="y", y_pred="p").update({"y": y, "p": p}) for p in ([2.0, 2.0, 3.0], y))
        >>> sm.compare(a, b).error_cdf().rows()
        [(0.0, 1.0, 'b'), (1.0, inf, 'equal')]
        """
        return self._stretches("rec", "tolerance", _of_steps)

    def _stretches(
        self, kind: str, along: str, found: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    ) -> pl.DataFrame:
        one, other = self.a.curve(kind), self.b.curve(kind)
        shared, keys = (
            curve.columns[: next(i for i, c in enumerate(curve.columns) if c in ("threshold", along))]
            for curve in (one, other)
        )
        names = {"start": f"from_{along}", "end": f"to_{along}"}
        require_free(keys, ["above", *names, *names.values()])
        if not keys:
            return found(one, other).rename(names)
        ours = dict(one.group_by(shared, maintain_order=True)) if shared else {(): one}
        place = [keys.index(key) for key in shared]
        parts = [
            curve.select(keys).head(1).join(found(ours[own], curve), how="cross")
            for key, curve in other.group_by(keys, maintain_order=True)
            if (own := tuple(key[i] for i in place)) in ours
        ]
        nothing = other.select(keys).clear().join(_runs(np.zeros(1), np.zeros(0)), how="cross")
        return pl.concat([nothing, *parts]).rename(names)


def as_text(found: Comparison, width: int | None, more: str, sides: str = "") -> str:
    """Return a comparison as text. Of many metrics in groups: all for the total, and the first for each group.

    ``more`` says how to see the other metrics of each group, and ``sides`` describes ``a`` and ``b``.
    """
    by, metrics, note = found.b.by, found._metrics, " ".join(filter(None, (sides, found.note)))
    if found.frame.height <= text.LONGEST or len(metrics) <= FEW or {*by} <= {MODEL}:
        return text.differences(found.frame, by, note, width)
    first = next((m for m in metrics if m.better), metrics[0]).name
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    parts = [
        "All groups together:\n",
        text.differences(found.total.frame, found.total.b.by, None, width),
        f"\nEach group, {first}:\n",
        text.differences(found.frame.filter(metric=first), by, others, width),
    ]
    return "\n".join([*parts, *([text.filled(note, width)] if note else [])])


def _estimates(frame: pl.DataFrame) -> list[str]:
    return [c for c in (*VALUE, *LIMITS, "note") if c in frame.columns]


def _undefined(name: str, side: str) -> pl.Expr:
    """Why a side has no value; null if it has one."""
    why = pl.col(f"{side}note").str.strip_prefix("undefined: ")
    return pl.when(pl.col(f"{side}value").is_null()).then(pl.format("{} has no value: {}", pl.lit(name), why))


def _minus(of_b: str, of_a: str) -> pl.Expr:
    """A difference of b and a; null between two infinities."""
    return (pl.col(f"{B}{of_b}") - pl.col(f"{A}{of_a}")).fill_nan(None)


def _of_lines(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Intervals between crossings of two ROC curves."""
    x = np.unique(np.concatenate([[0.0, 1.0], *(curve["fpr"].drop_nulls().to_numpy() for curve in (one, other))]))
    start, end = (_along(one, x, side) - _along(other, x, side) for side in ("right", "left"))
    left, right = (np.where(np.abs(gap) < ROUNDING, 0.0, gap) for gap in (start[:-1], end[1:]))
    crossing = np.flatnonzero(left * right < 0)
    at = x[crossing] + (x[crossing + 1] - x[crossing]) * left[crossing] / (left[crossing] - right[crossing])
    sign = np.insert(np.sign(left + right), crossing + 1, np.sign(right[crossing]))
    sign[crossing + np.arange(len(crossing))] = np.sign(left[crossing])
    return _runs(np.insert(x, crossing + 1, at), sign)


def _along(curve: pl.DataFrame, x: Values, side: Literal["left", "right"]) -> Values:
    """Recall just left or right of each x, where a curve can be vertical."""
    ends = pl.min("recall").alias("foot"), pl.max("recall").alias("top")
    fpr, foot, top = (c.to_numpy() for c in curve.drop_nulls("fpr").group_by("fpr").agg(*ends).sort("fpr"))
    if len(fpr) < 2:
        return np.full(len(x), np.nan)
    k = np.clip(np.searchsorted(fpr, x, side=side) - 1, 0, len(fpr) - 2)
    recall: Values = top[k] + (foot[k + 1] - top[k]) * (x - fpr[k]) / (fpr[k + 1] - fpr[k])
    return recall


def _of_steps(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Intervals between crossings of two step functions with bounds; none if one has no rows."""
    if not (one.height and other.height):
        return _runs(np.zeros(1), np.zeros(0))
    x = np.unique(np.concatenate([one["tolerance"].to_numpy(), other["tolerance"].to_numpy()]))
    (low1, high1), (low2, high2) = (tuple(_at(curve, side, x) for side in ("lower", "upper")) for curve in (one, other))
    least, most = low1 - high2, high1 - low2
    sign = np.where(least > ROUNDING, 1.0, np.where(most < -ROUNDING, -1.0, np.nan))
    sign[(np.abs(least) <= ROUNDING) & (np.abs(most) <= ROUNDING)] = 0.0
    return _runs(np.append(x, np.inf), sign)


def _at(curve: pl.DataFrame, side: str, x: Values) -> Values:
    """The value of a step function from each x on."""
    place = np.searchsorted(curve["tolerance"].to_numpy(), x, side="right")
    return np.append(0.0, curve[side].to_numpy())[place]


def _runs(x: Values, sign: Values) -> pl.DataFrame:
    """Adjacent intervals of the same sign, joined: columns start, end, above."""
    code = np.where(np.isnan(sign), 2, sign).astype(np.int64)
    first = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, dtype=np.intp)
    names = pl.Series(code[first]).replace_strict({1: "a", -1: "b", 0: "equal"}, default=None, return_dtype=pl.String)
    return pl.DataFrame({"start": x[first], "end": np.append(x[first][1:], x[-1:])[: len(first)], "above": names})
