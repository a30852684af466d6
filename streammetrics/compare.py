"""Two evaluations side by side: the difference of each metric, and where one curve lies above the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import text
from streammetrics.accumulator import Accumulator
from streammetrics.errors import ReportError
from streammetrics.metrics import Metric
from streammetrics.report import Report

Values = NDArray[np.float64]

ESTIMATE = ("value", "lower", "upper", "note")
ROUNDING = 1e-12


def compare(
    a: Accumulator | Report, b: Accumulator | Report, *, metrics: Sequence[str | Metric] | None = None
) -> Comparison:
    """Compare two evaluations, such as two models on the same rows or one model on two days.

    Args:
        a: an accumulator, or a report.
        b: another one, of the same group columns.
        metrics: what to compare, where accumulators are given; those of the task unless given.

    Raises:
        ReportError: where the group columns differ.

    >>> import streammetrics as sm
    >>> y = [1, 0, 1, 0]
    >>> a, b = (sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}) for p in ([0.9, 0.6, 0.4, 0.1], y))
    >>> compare(a, b).frame.filter(metric="roc_auc").select("a", "b", "difference", "better").row(0)
    (0.75, 1.0, 0.25, 'b')
    """
    one, other = (x.finalize(metrics) if isinstance(x, Accumulator) else x for x in (a, b))
    if one.by != other.by:
        raise ReportError(f"the group columns differ: {one.by} and {other.by}.")
    return Comparison(one, other)


@dataclass(frozen=True)
class Comparison:
    """Two reports side by side."""

    a: Report
    b: Report

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The difference of each metric that both reports show, in the groups of either.

        Group columns, kept keys such as ``threshold``, metric, ``a``, ``b``, ``difference`` (b - a), ``lower`` and
        ``upper`` (certified bounds of the difference) and ``better``: ``"a"`` or ``"b"`` where the bounds and the
        metric's direction leave no doubt, ``"equal"`` where both are the same for certain, else null.
        """
        one, other = (r.frame.with_columns(pl.col(ESTIMATE[:3]).cast(pl.Float64)) for r in (self.a, self.b))
        keys = [c for c in one.columns if c not in ESTIMATE and c in other.columns]
        joined = one.join(other, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
        joined = joined.filter(pl.col("metric").is_in(list(set(one["metric"]) & set(other["metric"]))))
        sign = {m.name: {"high": 1, "low": -1}.get(m.better or "", 0) for m in self.a.metrics}
        lower, upper = pl.col("lower_right") - pl.col("upper"), pl.col("upper_right") - pl.col("lower")
        gain = pl.col("metric").replace_strict(sign, default=0, return_dtype=pl.Int8)
        return joined.select(
            *keys,
            a="value",
            b="value_right",
            difference=pl.col("value_right") - pl.col("value"),
            lower=lower,
            upper=upper,
            better=pl.when((lower == 0) & (upper == 0))
            .then(pl.lit("equal"))
            .when(((gain > 0) & (lower > 0)) | ((gain < 0) & (upper < 0)))
            .then(pl.lit("b"))
            .when(((gain > 0) & (upper < 0)) | ((gain < 0) & (lower > 0)))
            .then(pl.lit("a")),
        )

    def __str__(self) -> str:
        return text.differences(self.frame)

    def __repr__(self) -> str:
        return str(self)

    def roc(self) -> pl.DataFrame:
        """Where which ROC curve lies above the other: group columns, ``from_fpr``, ``to_fpr``, ``above``.

        A row for each stretch of false positive rates; ``above`` is ``"a"``, ``"b"`` or ``"equal"``. Between thresholds
        the curves are straight lines. One row means that one curve dominates, or that both are equal.

        Raises:
            MetricError: where a score histogram is not kept.
        """
        return self._stretches("roc", "fpr", _of_lines)

    def error_cdf(self) -> pl.DataFrame:
        """Where whose absolute errors are smaller: group columns, ``from_tolerance``, ``to_tolerance``, ``above``.

        A row for each stretch of tolerances; ``above`` says which model has the larger share of errors up to there:
        ``"a"``, ``"b"``, ``"equal"``, or null where the bins of the error histograms leave it open.

        Raises:
            MetricError: where an error histogram is not kept.
        """
        return self._stretches("rec", "tolerance", _of_steps)

    def _stretches(
        self, kind: str, along: str, found: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    ) -> pl.DataFrame:
        one, other = self.a.curve(kind), self.b.curve(kind)
        keys = one.columns[: next(i for i, c in enumerate(one.columns) if c in ("threshold", along))]
        names = {"start": f"from_{along}", "end": f"to_{along}"}
        if not keys:
            return found(one, other).rename(names)
        theirs = dict(other.group_by(keys, maintain_order=True))
        parts = [
            curve.select(keys).head(1).join(found(curve, theirs[key]), how="cross")
            for key, curve in one.group_by(keys, maintain_order=True)
            if key in theirs
        ]
        nothing = one.select(keys).clear().join(_runs(np.zeros(1), np.zeros(0)), how="cross")
        return pl.concat([nothing, *parts]).rename(names)


def _of_lines(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Stretches between which two ROC curves change places."""
    x = np.union1d(one["fpr"].drop_nulls().to_numpy(), other["fpr"].drop_nulls().to_numpy())
    start, end = (_along(one, x, side) - _along(other, x, side) for side in ("right", "left"))
    left, right = (np.where(np.abs(gap) < ROUNDING, 0.0, gap) for gap in (start[:-1], end[1:]))
    crossing = np.flatnonzero(left * right < 0)
    at = x[crossing] + (x[crossing + 1] - x[crossing]) * left[crossing] / (left[crossing] - right[crossing])
    sign = np.insert(np.sign(left + right), crossing + 1, np.sign(right[crossing]))
    sign[crossing + np.arange(len(crossing))] = np.sign(left[crossing])
    return _runs(np.insert(x, crossing + 1, at), sign)


def _along(curve: pl.DataFrame, x: Values, side: Literal["left", "right"]) -> Values:
    """Recall just left or right of each x: a curve may rise steeply there."""
    ends = pl.min("recall").alias("foot"), pl.max("recall").alias("top")
    fpr, foot, top = (c.to_numpy() for c in curve.drop_nulls("fpr").group_by("fpr").agg(*ends).sort("fpr"))
    if len(fpr) < 2:
        return np.full(len(x), np.nan)
    k = np.clip(np.searchsorted(fpr, x, side=side) - 1, 0, len(fpr) - 2)
    recall: Values = top[k] + (foot[k + 1] - top[k]) * (x - fpr[k]) / (fpr[k + 1] - fpr[k])
    return recall


def _of_steps(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Stretches between which two step functions with bounds change places."""
    x = np.unique(np.concatenate([one["tolerance"].to_numpy(), other["tolerance"].to_numpy()]))
    (low1, high1), (low2, high2) = (tuple(_at(curve, side, x) for side in ("lower", "upper")) for curve in (one, other))
    sign = np.where(low1 > high2, 1.0, np.where(low2 > high1, -1.0, np.nan))
    sign[(low1 == high1) & (low2 == high2) & (low1 == low2)] = 0.0
    return _runs(np.append(x, np.inf), sign)


def _at(curve: pl.DataFrame, side: str, x: Values) -> Values:
    """The value of a step function from each x on."""
    place = np.searchsorted(curve["tolerance"].to_numpy(), x, side="right")
    return np.append(0.0, curve[side].to_numpy())[place]


def _runs(x: Values, sign: Values) -> pl.DataFrame:
    """Neighbouring intervals of one sign, joined: columns start, end, above."""
    code = np.where(np.isnan(sign), 2, sign).astype(np.int64)
    first = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, dtype=np.intp)
    names = pl.Series(code[first]).replace_strict({1: "a", -1: "b", 0: "equal"}, default=None, return_dtype=pl.String)
    return pl.DataFrame({"start": x[first], "end": np.append(x[first][1:], x[-1:]), "above": names})
