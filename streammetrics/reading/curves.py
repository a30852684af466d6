"""A score histogram as confusion counts at every threshold: curves and operating points.

Every function takes the histogram with its bins ascending within each ``group``, and with the column ``low``, the
smallest score of the bin: a row is predicted positive when its score is at least the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl
from polars import Expr

from streammetrics.base import at_least
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import (
    CELLS,
    Metric,
    Requirement,
    at_thresholds,
    confusion_counts,
    find_metric,
    fnr,
    fpr,
    precision,
    predicted_positive_rate,
    prevalence,
    recall,
    requirements,
)
from streammetrics.reading.guarantees import constraint_of, guaranteed
from streammetrics.statistics import GROUP, threshold_cases

_COUNTS = {c: pl.col(c).cast(pl.Float64) for c in CELLS}
LOW, HIGH, COUNT = pl.col("low"), pl.col("high"), pl.col("count")


def threshold_table(table: pl.DataFrame, **others: Expr) -> pl.DataFrame:
    """Confusion counts at every bin edge, from the highest threshold down, with other columns of the bin above it.

    The first row of each group predicts no positives; its threshold is infinite, or null if a score is, too, since no
    threshold is above it.
    """
    counts = confusion_counts(pl.col("neg"), pl.col("pos"))
    bins = {name: column.append(pl.lit(None)) for name, column in others.items()}
    above = pl.when(pl.col("low").max() < math.inf).then(math.inf)
    ascending = {"threshold": pl.col("low").append(above), **counts, **bins}
    descending = {name: column.reverse() for name, column in ascending.items()}
    return table.group_by(GROUP, maintain_order=True).agg(**descending).explode(*descending)


def counts_at(table: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Confusion counts at any threshold, and the rows ``cut_neg`` and ``cut_pos`` of the bin that the threshold cuts.

    The counts exclude these rows, since the histogram does not determine whether they reach the threshold. A threshold
    that is the ``low`` of a bin, or between two bins, cuts no bin. The table also needs ``high``, the largest score of
    the bin.

    >>> bins = {"low": [0.2, 0.6, 0.9], "high": [0.2, 0.7, 0.9], "neg": [3, 1, 0], "pos": [1, 2, 4]}
    >>> table = pl.DataFrame({"group": [0] * 3, **bins})
    >>> counts_at(table, 0.6).row(0), counts_at(table, 0.61).row(0)
    ((0, 6, 1, 1, 3, 0, 0), (0, 4, 0, 1, 3, 1, 2))
    """
    reaching, short = pl.col("low") >= threshold, pl.col("high") < threshold
    neg, pos = pl.col("neg"), pl.col("pos")
    return table.group_by(GROUP, maintain_order=True).agg(
        tp=pos.filter(reaching).sum(),
        fp=neg.filter(reaching).sum(),
        fn=pos.filter(short).sum(),
        tn=neg.filter(short).sum(),
        cut_neg=neg.filter(~reaching & ~short).sum(),
        cut_pos=pos.filter(~reaching & ~short).sum(),
    )


def curve(kind: str, table: pl.DataFrame) -> pl.DataFrame:
    """The columns of a curve at every threshold. Kinds are those of `CURVES`."""
    return threshold_table(table).with_columns(**CURVES[kind])


def metric_curve(metric: Metric, table: pl.DataFrame) -> pl.DataFrame:
    """A metric of the confusion counts at every threshold, which is exact at bin edges.

    ``lower`` and ``upper`` also contain the metric at the thresholds inside the bin above, which depends on the rows of
    the bin that reach them. They are ``value`` if the bin has a single score. The table also needs ``high``, the
    largest score of the bin.

    >>> bins = {"low": [0.2, 0.5], "high": [0.4, 0.5], "neg": [3, 1], "pos": [1, 2]}
    >>> found = metric_curve(find_metric("recall", CELLS), pl.DataFrame({"group": [0] * 2, **bins}))
    >>> found.select(pl.col("threshold", "value", "lower", "upper").round(2)).rows()
    [(inf, 0.0, 0.0, 0.0), (0.5, 0.67, 0.67, 0.67), (0.2, 1.0, 0.67, 1.0)]
    """
    points = threshold_table(table, wide=pl.col("high") > pl.col("low")).with_columns(value=_value(metric))
    cut = {c: pl.when("wide").then(pl.col(c) - pl.col(c).shift().over(GROUP)).otherwise(0) for c in ("tp", "fp")}
    counts = points.with_columns(cut_pos=cut["tp"], cut_neg=cut["fp"])
    counts = counts.with_columns(tp=pl.col("tp") - pl.col("cut_pos"), fp=pl.col("fp") - pl.col("cut_neg"))
    cases = [case.select(_value(metric).alias(name)) for name, case in threshold_cases(counts).items()]
    values = pl.concat([points.select("value"), *cases], how="horizontal")
    ends = values.select(lower=pl.min_horizontal(pl.all()), upper=pl.max_horizontal(pl.all()))
    return points.drop("wide").hstack(ends).drop_nulls("threshold")


def quantile_calibration(table: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Observed rates in bins of about equal size, in ascending order of score (Hosmer and Lemeshow 1980).

    Bins of the histogram are never divided, so rows with the same score stay together, and bins can be larger or fewer.
    ``mean_score`` is known up to the width of these bins: ``lower`` and ``upper`` are its certified bounds. The table
    also needs ``high``, the largest score of the bin.
    """
    rows = pl.col("weight")
    middle = rows.cum_sum() - rows / 2
    place = (middle.over(GROUP) / rows.sum().over(GROUP) * bins).floor().clip(0, bins - 1)
    scores = pl.col("low").min(), pl.col("high").max()  # so that rounding cannot move a mean outside
    lower, upper = (((pl.col(end) * rows).sum() / rows.sum()).clip(*scores) for end in ("low", "high"))
    return (
        table.with_columns(weight=pl.col("neg") + pl.col("pos"))
        .filter(rows > 0)
        .with_columns(place=place)
        .group_by(GROUP, "place", maintain_order=True)
        .agg(
            lowest=pl.col("low").min(),
            highest=pl.col("high").max(),
            mean_score=(lower + upper) / 2,
            lower=lower,
            upper=upper,
            observed_rate=pl.col("pos").sum() / rows.sum(),
            weight=rows.sum(),
        )
        .select(GROUP, "lowest", "highest", "weight", "mean_score", "lower", "upper", "observed_rate")
    )


def operating_point(
    cases: Mapping[str, pl.DataFrame],
    *,
    maximize: str | Metric | None = None,
    minimize: str | Metric | None = None,
    subject_to: str | Sequence[str] | None = None,
    confidence: float | None = None,
) -> pl.DataFrame:
    """The best threshold of each group for a metric of the confusion counts. See `Report.operating_point`.

    ``threshold`` is the bin edge that attains ``value``, the highest one if several do, with its exact counts.
    ``lower`` and ``upper`` bound the best value over all thresholds, including those inside coarse bins: one of them is
    ``value``, the other the best value over the order cases. If no edge of a group meets the constraints, all are null.

    Metrics with a preferred direction are assumed to improve with more true positives and with fewer false positives.
    `cost` does so if a false negative costs more than a true positive, and a false positive more than a true negative.
    Constraints in the preferred direction that hold inside a bin then also hold for the best order, so they narrow the
    bound too. Others, such as ``"predicted_positive_rate <= 0.1"``, only narrow the choice.

    With a confidence level, thresholds qualify whose constraints hold for new rows, and ``note`` says why none does.

    ``cases`` are the order cases of the histogram (`streammetrics.statistics.cases.order_cases`).
    """
    objective, sign = _objective(maximize, minimize)
    constraints = requirements(subject_to)
    for constraint in constraints:
        constraint.require_within(*find_metric(constraint.metric, _COUNTS).range)
    if confidence is not None:
        points = threshold_table(cases["tied"]).drop_nulls("threshold")
        chosen, notes = guaranteed(points, list(map(constraint_of, constraints)), confidence)
        found = _best(points.with_columns(chosen, value=_value(objective), possible=chosen), sign)
        why = pl.when(pl.col("threshold").is_null()).then(pl.coalesce("note", pl.lit("undefined: 0/0")))
        return found.join(notes, on=GROUP, maintain_order="left").with_columns(note=why)
    tables = (threshold_table(case).with_columns(edge=pl.lit(name == "tied")) for name, case in cases.items())
    points = (
        pl.concat(tables)
        .drop_nulls("threshold")
        .with_columns(
            value=_value(objective),
            chosen=pl.all_horizontal("edge", *map(_holds, constraints)),
            possible=pl.all_horizontal(pl.lit(True), *map(_holds, filter(_eases, constraints))),
        )
    )
    return _best(points, sign)


def _best(points: pl.DataFrame, sign: int) -> pl.DataFrame:
    """The chosen point of each group with the best value, and the best value of the possible points as a bound."""
    goal = sign * pl.col("value")
    chosen = pl.col("chosen") & goal.is_not_null()
    most = goal.filter(chosen).max()
    attained = chosen & at_least(goal, most)
    highest = pl.col("threshold").filter(attained)
    best = pl.col("threshold", *_COUNTS).filter(attained).sort_by(highest, descending=True).first()
    bound = pl.when(chosen.any()).then(sign * goal.filter("possible").max())
    return (
        points.group_by(GROUP, maintain_order=True)
        .agg(best, value=sign * most, bound=bound)
        .with_columns(lower=pl.min_horizontal("value", "bound"), upper=pl.max_horizontal("value", "bound"))
        .drop("bound")
    )


def _holds(constraint: Requirement) -> Expr:
    holds: Expr = constraint.holds(_value(find_metric(constraint.metric, _COUNTS)))
    return holds


def _eases(constraint: Requirement) -> bool:
    """Whether a better order of the rows can only help to meet the constraint."""
    return find_metric(constraint.metric, _COUNTS).better == ("high" if constraint.wants_high else "low")


def _objective(maximize: str | Metric | None, minimize: str | Metric | None) -> tuple[Metric, int]:
    """The metric to optimize, and its sign: 1 to maximize, -1 to minimize."""
    if maximize is not None and minimize is None:
        metric, wanted, sign = find_metric(maximize, _COUNTS), "high", 1
    elif minimize is not None and maximize is None:
        metric, wanted, sign = find_metric(minimize, _COUNTS), "low", -1
    else:
        raise MetricError("Pass either ", Argument("maximize"), " or ", Argument("minimize"), ".")
    if metric.better != wanted:
        if metric.better is None:
            raise MetricError(f"Metric {metric.name!r} has no preferred direction, so it cannot be optimized.")
        verb = "minimize" if wanted == "high" else "maximize"
        raise MetricError(f"Metric {metric.name!r} is better when {metric.better}. Pass {verb}=.")
    return metric, sign


def _value(ratio: Metric) -> Expr:
    return at_thresholds(ratio, _COUNTS)


CURVES: dict[str, dict[str, Expr]] = {
    "roc": {"fpr": _value(fpr), "recall": _value(recall)},
    "pr": {"recall": _value(recall), "precision": _value(precision)},
    "det": {"fpr": _value(fpr), "fnr": _value(fnr)},
    "lift": {
        "targeted": _value(predicted_positive_rate),
        "gain": _value(recall),
        "lift": (_value(precision) / _value(prevalence)).fill_nan(None),
    },
}
"""Columns of the curves. ``lift``: how many times more frequent positives are above a threshold than among all rows."""


def cdf_curve(table: pl.DataFrame) -> pl.DataFrame:
    """Empirical distribution function: the share of rows that are at most ``value``.

    >>> cdf_curve(pl.DataFrame({"group": 0, "low": [0.0, 1.0], "high": [0.0, 2.0], "count": [3, 1]})).rows()
    [(0, 0.0, 0.75, 0.75, 0.75), (0, 1.0, 0.875, 0.75, 1.0), (0, 2.0, 1.0, 1.0, 1.0)]
    """
    return _curve(table, value=(LOW, HIGH))


def rec_curve(table: pl.DataFrame) -> pl.DataFrame:
    """Regression error characteristic of Bi and Bennett (2003): the share of rows with ``abs(error) <= tolerance``.

    >>> rec_curve(pl.DataFrame({"group": 0, "low": [-2.0, 1.0], "high": [-1.0, 1.0], "count": [1, 3]})).rows()
    [(0, 1.0, 0.875, 0.75, 1.0), (0, 2.0, 1.0, 1.0, 1.0)]
    """
    nearest, farthest = pl.max_horizontal(LOW, -HIGH, 0.0), pl.max_horizontal(HIGH, -LOW)
    return _curve(table, tolerance=(nearest, farthest))


def _curve(table: pl.DataFrame, **ends: tuple[Expr, Expr]) -> pl.DataFrame:
    """The share of rows up to each edge, for any place of rows within their bins."""
    [(edge, (first, last))] = ends.items()
    rows = table.select(GROUP, first=first, last=last, count=COUNT.cast(pl.Float64)).filter(COUNT > 0)
    reached = pl.col("lower", "upper").sort_by(edge).cum_sum()
    return (
        pl.concat(
            [
                rows.select(GROUP, pl.col("first").alias(edge), lower=pl.lit(0.0), upper=COUNT),
                rows.select(GROUP, pl.col("last").alias(edge), lower=COUNT, upper=pl.lit(0.0)),
            ]
        )
        .group_by(GROUP, edge, maintain_order=True)
        .agg(pl.sum("lower", "upper"))
        .group_by(GROUP, maintain_order=True)
        .agg(pl.col(edge).sort(), reached / reached.last())
        .explode(edge, "lower", "upper")
        .select(GROUP, edge, (pl.col("lower") + pl.col("upper")).truediv(2).alias("share"), "lower", "upper")
    )
