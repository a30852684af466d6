"""Ranking of groups: the worst and the best.

`worst` and `best` are methods of `streammetrics.Report`.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from streammetrics.base import METRIC, keys_of, require_free, whole
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.looks import with_row_count
from streammetrics.reading.readings import Readings


def worst(
    report: Readings,
    metric: str | Metric,
    n: int = 10,
    *,
    min_rows: int = 1,
    by_bound: bool = False,
    **keys: Any,
) -> pl.DataFrame:
    """Return the groups in which a metric is worst, the worst first; ties are broken by size.

    Tiny groups can be worst by chance. ``min_rows`` excludes them; ``by_bound`` ranks by the more favorable endpoint of
    the confidence interval, so that significantly bad groups come first.

    Args:
        report: The report.
        metric: Metric to rank by, such as ``"roc_auc"``, with a preferred direction.
        n: Maximum number of groups.
        min_rows: Minimum number of rows of a group.
        by_bound: Whether to rank by the endpoint of the confidence interval. Requires a confidence level.
        keys: Values of group columns and key columns, such as ``threshold=0.5``, that select rows.

    Returns:
        The columns of `Report.frame`, with ``rows`` after the value, without groups in which it is undefined.

    Raises:
        MetricError: If the metric is unknown, or has no preferred direction.
        SpecificationError: If ``n`` or ``min_rows`` is not an integer of at least 0.
        ReportError: If a key is not a column, ``by_bound`` is set without confidence intervals, or a group column is
            named ``rows``.

    >>> import streammetrics as sm
    >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
    >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
    >>> report.worst("roc_auc", n=2).select("g", "rows", "value").rows()
    [('b', 2, 0.0), ('c', 2, 0.5)]
    """
    return _ranked(report, metric, n, min_rows, by_bound, keys, worst_first=True)


def best(
    report: Readings,
    metric: str | Metric,
    n: int = 10,
    *,
    min_rows: int = 1,
    by_bound: bool = False,
    **keys: Any,
) -> pl.DataFrame:
    """Return the groups in which a metric is best, the best first; ties are broken by size.

    Arguments and errors are as in `worst`.

    Returns:
        The columns of `Report.frame`, with ``rows`` after the value, without groups in which it is undefined.

    >>> import streammetrics as sm
    >>> batch = {"y": [1, 0, 1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.7, 0.4, 0.4], "g": ["a", "a", "b", "b", "c", "c"]}
    >>> report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize()
    >>> report.best("roc_auc", n=2)["g"].to_list()
    ['a', 'c']
    """
    return _ranked(report, metric, n, min_rows, by_bound, keys, worst_first=False)


def _ranked(
    report: Readings,
    metric: str | Metric,
    n: int,
    min_rows: int,
    by_bound: bool,
    keys: dict[str, Any],
    worst_first: bool,
) -> pl.DataFrame:
    n, min_rows = whole(Argument("n"), n, least=0), whole(Argument("min_rows"), min_rows, least=0)
    found = report.find(metric)
    if found.better is None:
        raise MetricError(f"Metric {found.name!r} has no preferred direction, so groups cannot be ranked by it.")
    descending = (found.better == "low") == worst_first
    column = ("ci_lower" if descending else "ci_upper") if by_bound else "value"
    rows = report.rows(metric, **keys)
    if column not in rows.columns:
        raise ReportError(
            Argument("by_bound"), " requires confidence intervals. Pass a confidence level to finalize, such as 0.95."
        )
    if by_bound and rows["value"].count() and not rows[column].count():
        raise ReportError(
            f"Metric {found.name!r} has no confidence intervals in this report. Rank by value, with ",
            Argument("min_rows"),
            ".",
        )
    own = keys_of(rows)
    return (
        with_rows(report, rows)
        .filter(pl.col("rows") >= min_rows, pl.col(column).is_not_null())
        .sort(column, "rows", descending=[descending, True], maintain_order=True)
        .head(n)
        .select(*own, METRIC, "value", "rows", pl.exclude(*own, METRIC, "value", "rows"))
    )


def with_rows(report: Readings, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the number of rows of each group."""
    require_free(report.by, ["rows"])
    return with_row_count(frame, report.state, "rows").with_columns(pl.col("rows").cast(pl.Int64))
