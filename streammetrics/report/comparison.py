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
from streammetrics.metrics.words import better
from streammetrics.reading.models import SameRows
from streammetrics.rows.frames import common_types, typed
from streammetrics.rows.roles import MODEL
from streammetrics.state.tables import State, for_reports, roll_up
from streammetrics.statistics.paired_outcomes import PairedOutcomes
from streammetrics.system.writing import write_file

if TYPE_CHECKING:
    from streammetrics.charts import Plot
    from streammetrics.report.report import Report

Values = NDArray[np.float64]

COLUMNS = ("a", "b", "difference", "better", "note")
ROUNDING = 1e-12
LONG = 20  # maximum number of characters of a name in a header
FEW = 5  # maximum number of metrics in the text of each group
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
class Comparison:
    """Differences between two reports, a and b, whose ``names`` are in its text and on its page.

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
    names: tuple[str, str] = ("a", "b")

    def __post_init__(self) -> None:
        if not set(self.a.by) <= set(self.b.by):
            both = f"{text.few(self.a.by) or 'none'} and {text.few(self.b.by) or 'none'}"
            raise ReportError(
                f"The group columns differ: {both}. Roll both up to the same ones, such as with rollup()."
            )
        require_free([*self.a.by, *self.b.by], COLUMNS, "a name that comparisons use")
        if self.confidence is not None:
            from streammetrics.uncertainty.distributions import upper_level  # when it is needed

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
            .then(pl.lit("widened by the bounds, the interval includes 0"))
            .when(known)
            .then(pl.lit("could be chance"))
            .otherwise(pl.lit("no confidence interval"))
        )
        return with_limits.select(
            pl.exclude("better", "note"),
            better=pl.when(~open_).then("better"),
            note=pl.when(open_)
            .then(pl.format("{} on these rows; {}", "better", why))
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
        one, other = (r.with_confidence(confidence).frame if confidence else r.frame for r in (self.a, self.b))
        own = [*keys_of(one), METRIC]
        keys = [c for c in [*keys_of(other), METRIC] if c in own or c in self.b.by]
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
        return Comparison(self.a.showing(["rows"]), self.b.showing(["rows"])).frame

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

        return Plot(Together(dict(zip(self.names, (self.a, self.b), strict=True))))

    def save_html(
        self,
        path: str | Path,
        title: str = "Comparison",
        names: tuple[str, str] | None = None,
        interactive: bool = False,
    ) -> None:
        """Write the comparison as one HTML page, which needs no network.

        It shows the differences of all metrics with bounds and confidence intervals, the groups that differ, and the
        curves of both sides in the same charts.

        Args:
            path: File to write.
            title: Title of the page.
            names: Names of both sides, such as ``("January", "May")``. Defaults to the names of the models, or a and b.
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

        write_file(path, comparison_page(self, self.names if names is None else names, title, interactive).encode())

    def roc(self) -> pl.DataFrame:
        """Return the intervals in which one ROC curve lies above the other.

        Curves are interpolated linearly between thresholds. A single row means that one curve dominates, or that both
        are equal.

        Returns:
            One row per interval of false positive rates, in ascending order: the group columns, ``from_fpr``,
                ``to_fpr``, and ``above``, which is ``"a"``, ``"b"``, or ``"equal"``, or null if a curve is undefined
                because a class has no rows.

        Raises:
            MetricError: If a report has no score histogram.
        """
        return self._stretches("roc", "fpr", _of_lines)

    def error_cdf(self) -> pl.DataFrame:
        """Return the intervals of tolerances in which one side has more errors within the tolerance.

        Returns:
            One row per interval, in ascending order: the group columns, ``from_tolerance``, ``to_tolerance``, and
                ``above``, the side with the larger share of errors up to the tolerance. It is ``"a"``, ``"b"``, or
                ``"equal"``, or null if the bins of the error histograms do not decide it.

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


def as_text(found: Comparison, width: int | None, more: str) -> str:
    """Return a comparison as text. For many metrics by group: all for the total, and the first for each group.

    The names of both sides are headers. If they are long, or double the lines, the headers are a and b, and a line
    below explains them. ``more`` is advice on the other metrics of each group.
    """
    letters, names = ("a", "b"), found.names
    named = _tables(found, width, more, names, found.note)
    sides = "a is {}, b is {}.".format(*map(text.escaped, names)) if names != letters else None
    lettered = _tables(found, width, more, letters, " ".join(filter(None, (sides, found.note))))
    fits = max(map(len, names)) <= LONG and named.count("\n") < 2 * lettered.count("\n")
    return named if fits else lettered


def with_names(found: Comparison) -> pl.DataFrame:
    """Return the frame with the names of both sides, unless these are names of other columns."""
    headers = dict(zip(("a", "b", "difference"), (*found.names, "{1} - {0}".format(*found.names)), strict=True))
    taken = {*headers.values()} & ({*found.frame.columns} - {*headers})
    return found.frame if taken else found.frame.rename(headers)


def _note_of(sides: dict[str, str]) -> pl.Expr:
    """Notes with the names of sides in place of a and b."""
    return pl.col("note").map_elements(lambda note: text.noted(note, sides), return_dtype=pl.String)


def _tables(found: Comparison, width: int | None, more: str, names: tuple[str, str], note: str | None) -> str:
    by, metrics = found.b.by, found._metrics
    if found._lettered.height <= text.LONGEST or len(metrics) <= FEW or {*by} <= {MODEL}:
        return text.differences(found._lettered, by, note, width, names)
    first = next((m for m in metrics if m.better), metrics[0]).name
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    parts = [
        "All groups together:\n",
        text.differences(found.total._lettered, found.total.b.by, None, width, names),
        f"\nEach group, {first}:\n",
        text.differences(found._lettered.filter(metric=first), by, others, width, names),
    ]
    return "\n".join([*parts, *([text.filled(note, width)] if note else [])])


def _estimates(frame: pl.DataFrame) -> list[str]:
    return [c for c in (*VALUE, *LIMITS, "note") if c in frame.columns]


def _undefined(name: str, side: str) -> pl.Expr:
    """The reason why a side has no value; null if it has one."""
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
