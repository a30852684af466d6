"""A report with replaced parts: of one model, at one threshold, or with its groups sorted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from streammetrics.data import LABEL
from streammetrics.metrics import Metric
from streammetrics.reading import estimates, models
from streammetrics.reading.readings import R, Readings, with_parts
from streammetrics.statistics import CalibrationBins, RowCounts, State, periods, select


def of_model(report: R, name: str) -> R:
    """Return the report of one model."""
    return _with_states(report, lambda state: models.of_model(state, name))


def of_periods(report: R, names: pl.Series, since: pl.Series, until: pl.Series) -> R:
    """Return the report of some periods of a report by windows, the group column that ``names`` is named after."""
    return _with_states(report, lambda state: periods(state, names.name, names, since, until))


def at_only(report: R, threshold: float) -> R:
    """Return the report with confusion counts at one threshold only."""
    return _with_states(report, lambda state: estimates.at_only(state, threshold))


def of_wrong_labels(report: R) -> R:
    """Return the report of whether predicted labels are wrong, with 1 minus their probability as the score.

    A row counts if a label has a probability above 0.5, which no other label of the row then has.
    """
    return _with_states(report, _wrong_labels)


def least_confidence(report: Readings) -> float:
    """Return the probability above which the rows of `of_wrong_labels` count: 0.5, or the next edge of a bin."""
    bins = _calibration_bins(report.state).bins
    return -(-bins // 2) / bins


def sorted_by(report: R, metric: str | Metric) -> R:
    """Return the report with its groups sorted by a metric, the worst first. The metric is shown first.

    If it has no preferred direction, the highest value comes first. A group with several values, such as those of
    several thresholds, is placed by the worst. Groups in which the metric is undefined come last.
    """
    found = report.find(metric)
    shown = report.showing([found, *report.metrics])
    if not report.by:
        return shown
    descending = found.better != "high"
    worst = pl.col("value").max() if descending else pl.col("value").min()
    groups = report.rows(found).group_by(report.by, maintain_order=True).agg(worst)
    groups = groups.sort("value", descending=descending, nulls_last=True, maintain_order=True)
    return with_parts(shown, state=select(report.state, groups.drop("value")))


def _wrong_labels(state: State) -> State:
    bins = _calibration_bins(state)
    confident = bins.with_floats(state.tables[bins.name]).drop(LABEL).filter(2 * pl.col("bin") >= bins.bins)
    columns: dict[str, pl.Expr] = {}
    for end in ("", "_w2") if state.weighted else ("",):
        weight, right, score, square, both = (pl.col(f"{c}{end}") for c in (*bins.counts, *bins.sums))
        columns |= {
            f"pos{end}": weight - right,
            f"score_sum{end}": weight - score,
            f"score_square_sum{end}": weight - 2 * score + square,
            f"pos_score_sum{end}": weight - right - score + both,
        }
    tables = state.tables | {bins.name: bins.merge(confident.with_columns(**columns))}
    kept = tuple(s for s in state.statistics if isinstance(s, RowCounts) or s == bins)
    return replace(state, statistics=kept, tables={s.name: tables[s.name] for s in kept}, labels=())


def _calibration_bins(state: State) -> CalibrationBins:
    return next(s for s in state.statistics if isinstance(s, CalibrationBins))


def _with_states(report: R, change: Callable[[State], State]) -> R:
    """Return the report of another state, with the same change of its folds."""
    folds = None if report.folds is None else change(report.folds)
    return with_parts(report, state=change(report.state), folds=folds)
