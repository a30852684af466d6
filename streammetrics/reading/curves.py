"""Curves of a state: of confusion counts at every threshold, of calibration, and of errors.

Functions of a table take a histogram with its bins ascending within each ``group``, and with the column ``low``, the
smallest score of the bin: a row is predicted positive when its score is at least the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from polars import Expr

from streammetrics.base import shares
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import (
    CELLS,
    Metric,
    at_thresholds,
    confusion_counts,
    find_metric,
    fnr,
    fpr,
    precision,
    predicted_positive_rate,
    prevalence,
    recall,
)
from streammetrics.statistics import (
    GROUP,
    Binned,
    CalibrationBins,
    CutCounts,
    ErrorHistogram,
    Histogram,
    ScoreHistogram,
    State,
)

COUNTS = {c: pl.col(c).cast(pl.Float64) for c in CELLS}
LOW, HIGH, COUNT = pl.col("low"), pl.col("high"), pl.col("count")
ORDERS = ("tied", "best", "worst")  # of the rows within a bin
BINS: dict[str, list[type[Binned]]] = {"scores": [ScoreHistogram, Histogram], "errors": [ErrorHistogram]}
BIN_COLUMNS = {"low": "lowest", "high": "highest", "neg": "negatives", "pos": "positives"}


def point_value(ratio: Metric) -> Expr:
    """Return a metric of the confusion counts at each threshold."""
    return at_thresholds(ratio, COUNTS)


CURVES: dict[str, dict[str, Expr]] = {
    "roc": {"fpr": point_value(fpr), "recall": point_value(recall)},
    "pr": {"recall": point_value(recall), "precision": point_value(precision)},
    "det": {"fpr": point_value(fpr), "fnr": point_value(fnr)},
    "lift": {
        "targeted": point_value(predicted_positive_rate),
        "gain": point_value(recall),
        "lift": (point_value(precision) / point_value(prevalence)).fill_nan(None),
    },
}
"""Columns of the curves. ``lift``: how many times more frequent positives are above a threshold than among all rows."""


def curve(state: State, kind: str, order: str) -> pl.DataFrame:
    """Return a curve of every group of a state. See `Report.curve`."""
    if kind == "calibration":
        bins = state.statistic(CalibrationBins)
        return state.join_groups(bins, bins.reliability(state.table(bins)))
    if kind == "quantile_calibration":
        histogram, count = state.statistic(ScoreHistogram), state.statistic(CalibrationBins).bins
        return state.join_groups(histogram, quantile_calibration(_edges(state, histogram), count))
    if kind in ERROR_CURVES:
        errors = state.statistic(ErrorHistogram)
        return state.join_groups(errors, ERROR_CURVES[kind](_edges(state, errors)))
    if kind in BINS:
        return _bins(state, BINS[kind])
    metric = None if kind in CURVES else _count_metric(kind)
    histogram = state.statistic(ScoreHistogram)
    cases = histogram.cases(_edges(state, histogram))
    if metric is not None:
        return state.join_groups(histogram, metric_curve(metric, cases["tied"]))
    if order not in ORDERS:
        raise ReportError(Argument("order"), f" must be one of {', '.join(ORDERS)}, got {order!r}.")
    points = threshold_table(cases.get(order, cases["tied"])).with_columns(**CURVES[kind])
    return state.join_groups(histogram, points)


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
    points = threshold_table(table, wide=pl.col("high") > pl.col("low")).with_columns(value=point_value(metric))
    cut = {c: pl.when("wide").then(pl.col(c) - pl.col(c).shift().over(GROUP)).otherwise(0) for c in ("tp", "fp")}
    counts = points.with_columns(cut_pos=cut["tp"], cut_neg=cut["fp"])
    counts = counts.with_columns(tp=pl.col("tp") - pl.col("cut_pos"), fp=pl.col("fp") - pl.col("cut_neg"))
    cases = [case.select(point_value(metric).alias(name)) for name, case in CutCounts().cases(counts).items()]
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
    reached = [pl.col(end).sort_by(edge).cum_sum() for end in ("lower", "upper")]
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
        .agg(pl.col(edge).sort(), *(shares(column, column.last()) for column in reached))
        .explode(edge, "lower", "upper")
        .select(GROUP, edge, (pl.col("lower") + pl.col("upper")).truediv(2).alias("share"), "lower", "upper")
    )


def _edges(state: State, histogram: Binned) -> pl.DataFrame:
    return histogram.edges(state.table(histogram))


def _bins(state: State, kinds: Sequence[type[Binned]]) -> pl.DataFrame:
    """The bins of the first histogram of these kinds, with the smallest and the largest value of each."""
    histograms = [s for s in state.statistics if not isinstance(s, Histogram) or s.of == "y_score"]
    histogram = next((s for kind in kinds for s in histograms if isinstance(s, kind)), None)
    histogram = histogram or state.statistic(kinds[0])
    names = {c: BIN_COLUMNS.get(c, c) for c in ("low", "high", *histogram.counts)}
    return state.join_groups(histogram, _edges(state, histogram).select(GROUP, *names).rename(names))


def _count_metric(kind: str) -> Metric:
    """The confusion-count metric whose curve is asked for."""
    try:
        return find_metric(kind, CELLS)
    except MetricError as error:
        kinds = ", ".join([*CURVES, "calibration", "quantile_calibration", *ERROR_CURVES, *BINS])
        raise ReportError(*error.args, f" Curves: {kinds}, and confusion-count metrics such as f1.") from error


ERROR_CURVES = {"error_cdf": cdf_curve, "rec": rec_curve}
