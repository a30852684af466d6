"""Reading many groups: the worst of them, how far the values of a column lie apart, and whether that is fair.

These functions are methods of `streammetrics.Report`.
"""

from __future__ import annotations

from typing import Any, Protocol

import polars as pl

from streammetrics.errors import MetricError, ReportError
from streammetrics.keys import require_free, require_group_columns
from streammetrics.metrics import Metric

KEYS_END = "metric"  # the columns before it in a frame are the keys of its rows
ENDS = ("highest", "lowest")
MEASURES = tuple(f"{measure}{end}" for measure in ("difference", "ratio") for end in ("", "_lower", "_upper"))
CRITERIA = {
    "demographic_parity": ("predicted_positive_rate",),
    "equal_opportunity": ("recall",),
    "equalized_odds": ("recall", "fpr"),
    "predictive_parity": ("precision",),
}


class Segmented(Protocol):
    """What is needed of a report."""

    @property
    def by(self) -> list[str]:
        """The group columns."""
        ...

    def find(self, metric: str | Metric) -> Metric:
        """The metric of that name."""
        ...

    def readable(self, metric: str | Metric) -> bool:
        """Whether a metric can be read."""
        ...

    def rows(self, metric: str | Metric, **keys: Any) -> pl.DataFrame:
        """The rows of one metric."""
        ...


def worst(
    report: Segmented,
    metric: str | Metric,
    n: int = 10,
    *,
    min_rows: int = 1,
    by_bound: bool = False,
    **keys: Any,
) -> pl.DataFrame:
    """The groups in which a metric is worst, the worst first; of equal ones the larger group.

    A tiny group can lead by chance. ``min_rows`` leaves it out; ``by_bound`` ranks by the end of the sampling interval
    that is nearer to good, so that the groups come first that are bad even if chance was against them.

    Args:
        report: the report.
        metric: what to rank by, such as ``"roc_auc"``; one that is better high or low.
        n: the most groups to give.
        min_rows: the fewest rows of a group.
        by_bound: rank by confidence bound; the report needs a confidence.
        keys: values of group columns and kept keys, such as ``threshold=0.5``, that rows must have.

    Returns:
        The columns of `Report.frame` and ``rows`` after the metric; without groups where it is undefined.

    Raises:
        MetricError: for an unknown metric, and for one that is neither better high nor low.
        ReportError: for a key that is no column, for ``by_bound`` where there are no sampling intervals, and where a
            group column is called ``rows``.

    >>> import streammetrics as sm
    >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
    >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
    >>> report.worst("roc_auc", n=2).select("g", "rows", "value").rows()
    [('b', 2, 0.0), ('c', 2, 0.5)]
    """
    return _ranked(report, metric, n, min_rows, by_bound, keys, worst_first=True)


def best(
    report: Segmented,
    metric: str | Metric,
    n: int = 10,
    *,
    min_rows: int = 1,
    by_bound: bool = False,
    **keys: Any,
) -> pl.DataFrame:
    """The groups in which a metric is best, the best first: as `worst`, by the other end of the interval.

    >>> import streammetrics as sm
    >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
    >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
    >>> report.best("roc_auc", n=2)["g"].to_list()
    ['a', 'c']
    """
    return _ranked(report, metric, n, min_rows, by_bound, keys, worst_first=False)


def gaps(report: Segmented, metric: str | Metric, *, over: str, min_rows: int = 1, **keys: Any) -> pl.DataFrame:
    """How far a metric differs between the values of a group column, in each group of the other columns.

    Args:
        report: the report.
        metric: what to compare.
        over: the group column whose values are compared, such as ``"gender"``.
        min_rows: the fewest rows of a group that takes part.
        keys: values of group columns and kept keys that rows must have.

    Returns:
        The other group columns and kept keys, metric, ``highest`` and ``lowest`` (the values of the column where the
        metric is so), ``max`` and ``min`` (the metric there), ``difference`` (max - min) and ``ratio`` (min / max; null
        for metrics that are negative somewhere, and for 0/0), each with its certified bounds ``_lower`` and ``_upper``,
        and a note where the metric is undefined for some values of the column, which are left out.

    Raises:
        MetricError: for an unknown metric.
        ReportError: where ``over`` is no group column, or where a group column has the name of one of these.

    >>> import streammetrics as sm
    >>> batch = {"z": [1, 1, 1, 0, 0, 0], "gender": ["f", "f", "m", "m", "m", "m"]}
    >>> report = sm.predictions(y_pred="z", by="gender").update(batch).finalize()
    >>> report.gaps("predicted_positive_rate", over="gender").select("highest", "lowest", "difference", "ratio").row(0)
    ('f', 'm', 0.75, 0.25)
    """
    require_group_columns([over], report.by)
    require_free(report.by, {*ENDS, *MEASURES, "max", "min", "criterion"})
    rows = _with_rows(report, report.rows(metric, **keys)).filter(pl.col("rows") >= min_rows)
    index = [c for c in _keys(rows) if c != over] + [KEYS_END]
    found = rows.group_by(index, maintain_order=True).agg(
        *(_place(over, side) for side in ENDS),
        pl.max("value").alias("max"),
        pl.min("value").alias("min"),
        *_bounds(),
        undefined=pl.col("value").null_count(),
        of=pl.len(),
    )
    note = pl.format("undefined for {} of {} values of {}", "undefined", "of", pl.lit(over))
    return found.select(*index, *ENDS, "max", "min", *MEASURES, note=pl.when(pl.col("undefined") > 0).then(note))


def fairness(report: Segmented, *, over: str, min_rows: int = 1, **keys: Any) -> pl.DataFrame:
    """How far a classifier treats the values of a group column alike, in each group of the other columns.

    A row for each criterion whose metrics can be read off what was kept:

    - ``demographic_parity``: the predicted-positive rates are equal (Dwork et al. 2012); needs no labels;
    - ``equal_opportunity``: the recalls are (Hardt, Price and Srebro 2016);
    - ``equalized_odds``: the recalls and the false positive rates are (the same); the larger of both differences, and
      the smaller of both ratios, as fairlearn has it;
    - ``predictive_parity``: the precisions are (Chouldechova 2017).

    They can't all hold where the values of the column differ in prevalence, but for a perfect classifier (Kleinberg,
    Mullainathan and Raghavan 2016).

    Args:
        report: the report, of a binary task or of one with several labels.
        over: the group column whose values are compared, such as ``"gender"``.
        min_rows: the fewest rows of a group that takes part.
        keys: values of group columns and kept keys, such as ``threshold=0.5``, that rows must have.

    Returns:
        The other group columns and kept keys, ``criterion``, ``metric`` (the one that differs most), ``highest`` and
        ``lowest``, ``difference`` (0 is fair) and ``ratio`` (1 is fair), each with certified bounds, and a note: the
        columns of `gaps`. What is undefined for one of two metrics is null.

    Raises:
        MetricError: where none of the metrics can be read off what was kept.
        ReportError: where ``over`` is no group column.

    >>> import streammetrics as sm
    >>> batch = {"y": [1, 0, 1, 0, 1, 0], "z": [1, 1, 1, 0, 0, 0], "gender": ["f", "f", "m", "m", "m", "m"]}
    >>> report = sm.binary(y_true="y", y_pred="z", by="gender").update(batch).finalize()
    >>> report.fairness(over="gender").select("criterion", "metric", "difference", "ratio").rows()
    [('demographic_parity', 'predicted_positive_rate', 0.75, 0.25),
     ('equal_opportunity', 'recall', 0.5, 0.5),
     ('equalized_odds', 'fpr', 1.0, 0.0),
     ('predictive_parity', 'precision', 0.5, 0.5)]
    """
    metrics = dict.fromkeys(m for needed in CRITERIA.values() for m in needed)
    gap = {m: gaps(report, m, over=over, min_rows=min_rows, **keys) for m in metrics if report.readable(m)}
    if not gap:
        raise MetricError("fairness is read off predicted positives, which the accumulator does not keep.")
    table = pl.concat(
        pl.concat([gap[m] for m in needed]).with_columns(criterion=pl.lit(criterion))
        for criterion, needed in CRITERIA.items()
        if gap.keys() >= set(needed)
    )
    index = _keys(table)
    widest = pl.col("metric", *ENDS).sort_by("difference", descending=True, nulls_last=True).first()
    difference, ratio = ([c for c in MEASURES if c.startswith(m)] for m in ("difference", "ratio"))
    of_all = [pl.when(pl.col(c).is_not_null().all()).then(pl.col(c).max()).alias(c) for c in difference]
    of_all += [pl.when(pl.col(c).is_not_null().all()).then(pl.col(c).min()).alias(c) for c in ratio]
    note = pl.col("note").drop_nulls().first()
    found = table.group_by(*index, "criterion", maintain_order=True).agg(widest, *of_all, note)
    return found.sort(index, nulls_last=True, maintain_order=True) if index else found


def _ranked(
    report: Segmented,
    metric: str | Metric,
    n: int,
    min_rows: int,
    by_bound: bool,
    keys: dict[str, Any],
    worst_first: bool,
) -> pl.DataFrame:
    if n < 0:
        raise ReportError(f"there cannot be {n} groups.")
    found = report.find(metric)
    if found.better is None:
        raise MetricError(f"{found.name} is neither better when high nor when low; no group is worst or best.")
    descending = (found.better == "low") == worst_first
    column = ("ci_lower" if descending else "ci_upper") if by_bound else "value"
    rows = report.rows(metric, **keys)
    if column not in rows.columns:
        raise ReportError("by_bound= ranks by sampling intervals; finalize(confidence=0.95) gives them.")
    if by_bound and rows["value"].count() and not rows[column].count():
        raise ReportError(f"{found.name} has no sampling intervals here; rank by value, with min_rows=.")
    own = _keys(rows)
    return (
        _with_rows(report, rows)
        .filter(pl.col("rows") >= min_rows, pl.col(column).is_not_null())
        .sort(column, "rows", descending=[descending, True], maintain_order=True)
        .head(n)
        .select(*own, KEYS_END, "rows", pl.exclude(*own, KEYS_END, "rows"))
    )


def _with_rows(report: Segmented, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the number of rows of each group."""
    require_free(report.by, ["rows"])
    counts = report.rows("rows").select(*report.by, rows=pl.col("value").cast(pl.Int64))
    if not report.by:
        return frame.join(counts, how="cross")
    return frame.join(counts, on=report.by, how="left", nulls_equal=True, maintain_order="left")


def _keys(frame: pl.DataFrame) -> list[str]:
    return frame.columns[: frame.columns.index(KEYS_END)]


def _place(over: str, side: str) -> pl.Expr:
    """The value of a column where the metric is highest or lowest."""
    value = pl.col("value")
    return pl.col(over).get(value.arg_max() if side == "highest" else value.arg_min()).alias(side)


def _bounds() -> list[pl.Expr]:
    """Difference and ratio of the highest and the lowest of some values, wherever these are within their bounds."""
    value, lower, upper = (pl.col(c) for c in ("value", "lower", "upper"))
    alone = value.count() == 1
    difference, ratio = value.max() - value.min(), value.min() / value.max()
    least, most = (lower.max() - upper.min()).clip(0), upper.max() - lower.min()
    low, high = lower.min().clip(0) / upper.max(), (upper.min() / lower.max().clip(0)).fill_nan(1).clip(0, 1)
    sound = value.min() >= 0
    found = {"difference": difference, "difference_lower": least, "difference_upper": most}
    found |= {"ratio": ratio, "ratio_lower": low, "ratio_upper": high}
    return [
        pl.when(sound if name.startswith("ratio") else True)
        .then(pl.when(alone).then(found[name.partition("_")[0]]).otherwise(bound))
        .fill_nan(None)
        .alias(name)
        for name, bound in found.items()
    ]
