"""Confusion counts at any threshold, from the score histogram, and the threshold at which a metric is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.base import STATUS, at_least, few, of_percent, require_free
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import CELLS, Metric, Requirement, find_metric, requirements
from streammetrics.reading.curves import point_value, threshold_table
from streammetrics.reading.guarantees import constraint_of, guaranteed, require_guarantees
from streammetrics.statistics import GROUP, ConfusionCounts, CutCounts, RowCounts, ScoreHistogram, State, split_label

if TYPE_CHECKING:
    from streammetrics.report import Report


def single_threshold(report: Report, threshold: float) -> Report:
    """Return the report with confusion counts at one threshold only: as stored, or from the score histogram."""
    return report._with_states(lambda state: _state_at_threshold(state, threshold))


def threshold_state(state: State, threshold: float) -> State | None:
    """Return the confusion counts at a threshold from the score histogram, beside the numbers of rows.

    None without a histogram, or if the counts are stored.
    """
    stored = {t for s in state.statistics if isinstance(s, ConfusionCounts) for t in s.thresholds}
    histogram = state.find(ScoreHistogram)
    if histogram is None or threshold in stored or threshold != threshold:
        return None
    counts = CutCounts((threshold,))
    bins = histogram.edges(state.table(histogram))
    groups = state.groups_of(histogram).select(GROUP, threshold=pl.lit(counts.thresholds[0]))
    table = groups.join(counts_at(bins, threshold), on=GROUP, how="left", maintain_order="left").fill_null(0)
    rows = tuple(s for s in state.statistics if isinstance(s, RowCounts))
    table = split_label(table, len(state.labels_of(histogram)))
    tables = {s.name: state.table(s) for s in rows} | {counts.name: table}
    return replace(state, statistics=(*rows, counts), tables=tables)


def operating_point(
    state: State,
    maximize: str | Metric | None,
    minimize: str | Metric | None,
    subject_to: str | Sequence[str] | None,
    confidence: float | None,
    correlated: bool,
) -> pl.DataFrame:
    """Return the best threshold of every group of a state. See `Report.operating_point`."""
    if confidence is not None:
        require_guarantees(subject_to, confidence, state.weighted, correlated)
    histogram = state.statistic(ScoreHistogram)
    cases = histogram.cases(histogram.edges(state.table(histogram)))
    best = best_threshold(cases, maximize=maximize, minimize=minimize, subject_to=subject_to, confidence=confidence)
    groups = state.groups_of(histogram)
    require_free(groups.columns, {*best.columns} - {GROUP})
    points = groups.join(best, on=GROUP, how="left", maintain_order="left").drop(GROUP)
    if confidence is None:
        return points
    return points.with_columns(pl.when(pl.col("tp").is_null()).then(pl.col(STATUS).fill_null("no_rows")).alias(STATUS))


def best_threshold(
    cases: Mapping[str, pl.DataFrame],
    *,
    maximize: str | Metric | None = None,
    minimize: str | Metric | None = None,
    subject_to: str | Sequence[str] | None = None,
    confidence: float | None = None,
) -> pl.DataFrame:
    """Return the best threshold of each group, from the order cases of a histogram. See `Report.operating_point`.

    Metrics with a preferred direction are assumed to improve with more true positives and with fewer false positives.
    `cost` does so if a false negative costs more than a true positive, and a false positive more than a true negative.
    Constraints in the preferred direction that hold inside a bin then also hold for the best order, so they narrow the
    bound too. Others, such as ``"predicted_positive_rate <= 0.1"``, only narrow the choice.
    """
    objective, sign = _objective(maximize, minimize)
    constraints = requirements(subject_to)
    for constraint in constraints:
        constraint.require_within(*find_metric(constraint.metric, CELLS).range)
    if confidence is not None:
        points = threshold_table(cases["tied"]).drop_nulls("threshold")
        chosen, reasons = guaranteed(points, list(map(constraint_of, constraints)), confidence)
        best = _best(points.with_columns(chosen, value=point_value(objective), possible=chosen), sign)
        status = pl.when(pl.col("threshold").is_null()).then(pl.col(STATUS).fill_null("undefined"))
        return best.join(reasons, on=GROUP, maintain_order="left").with_columns(status.alias(STATUS))
    tables = (threshold_table(case).with_columns(edge=pl.lit(name == "tied")) for name, case in cases.items())
    points = (
        pl.concat(tables)
        .drop_nulls("threshold")
        .with_columns(
            value=point_value(objective),
            chosen=pl.all_horizontal("edge", *map(_holds, constraints)),
            possible=pl.all_horizontal(pl.lit(True), *map(_holds, filter(_eases, constraints))),
        )
    )
    return _best(points, sign)


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


def _state_at_threshold(state: State, threshold: float) -> State:
    if state.labels:
        raise MetricError(f"A threshold requires a binary task, got the labels {few(state.labels)}.")
    stored = [s for s in state.statistics if isinstance(s, ConfusionCounts)]
    cut = threshold_state(state, threshold)
    if cut is not None:
        if any(s.probabilities for s in state.statistics) and not 0 <= threshold <= 1 and abs(threshold) != inf:
            got = f"got {threshold:g}.{of_percent(threshold)}"
            raise MetricError(Argument("threshold"), f" must be between 0 and 1 for probabilities, {got}")
        counts = cut.statistics[-1]
        table = cut.tables[counts.name]
    elif any(threshold in s.thresholds for s in stored):
        (counts,) = (replace(s, thresholds=(threshold,)) for s in stored)
        table = state.table(counts).filter(pl.col("threshold") == threshold)
    else:
        choices = few(t for s in stored for t in s.thresholds)
        raise MetricError(
            f"Threshold {threshold:g} requires the statistic ScoreHistogram, "
            f"or one of the stored thresholds: {choices or 'none'}."
        )
    rows = tuple(s for s in state.statistics if isinstance(s, RowCounts))
    others = tuple(s for s in state.statistics if s not in (*rows, *stored))
    return replace(state, statistics=(*rows, counts, *others), tables=state.tables | {counts.name: table})


def _best(points: pl.DataFrame, sign: int) -> pl.DataFrame:
    """The chosen point of each group with the best value, and the best value of the possible points as a bound."""
    goal = sign * pl.col("value")
    chosen = pl.col("chosen") & goal.is_not_null()
    most = goal.filter(chosen).max()
    attained = chosen & at_least(goal, most)
    highest = pl.col("threshold").filter(attained)
    best = pl.col("threshold", *CELLS).filter(attained).sort_by(highest, descending=True).first()
    bound = pl.when(chosen.any()).then(sign * goal.filter("possible").max())
    return (
        points.group_by(GROUP, maintain_order=True)
        .agg(best, value=sign * most, bound=bound)
        .with_columns(lower=pl.min_horizontal("value", "bound"), upper=pl.max_horizontal("value", "bound"))
        .drop("bound")
    )


def _holds(constraint: Requirement) -> Expr:
    holds: Expr = constraint.holds(point_value(find_metric(constraint.metric, CELLS)))
    return holds


def _eases(constraint: Requirement) -> bool:
    """Whether a better order of the rows can only help to meet the constraint."""
    return find_metric(constraint.metric, CELLS).better == ("high" if constraint.wants_high else "low")


def _objective(maximize: str | Metric | None, minimize: str | Metric | None) -> tuple[Metric, int]:
    """The metric to optimize, and its sign: 1 to maximize, -1 to minimize."""
    if maximize is not None and minimize is None:
        metric, best, sign = find_metric(maximize, CELLS), "high", 1
    elif minimize is not None and maximize is None:
        metric, best, sign = find_metric(minimize, CELLS), "low", -1
    else:
        raise MetricError("Pass either ", Argument("maximize"), " or ", Argument("minimize"), ".")
    if metric.better != best:
        if metric.better is None:
            raise MetricError(f"Metric {metric.name!r} has no preferred direction, so it cannot be optimized.")
        verb = "minimize" if best == "high" else "maximize"
        raise MetricError(f"Metric {metric.name!r} is better when {metric.better}. Pass ", Argument(verb), ".")
    return metric, sign
