"""What the histograms and shares of a chart count: rows, or weights."""

from __future__ import annotations

import polars as pl

from streammetrics.charts.series import Drawn, count
from streammetrics.charts.together import Together


def is_weighted(report: Drawn) -> bool:
    """Return whether counts are sums of weights, in any of several reports."""
    return any(map(is_weighted, report.reports.values())) if isinstance(report, Together) else report.state.weighted


def rows_or_weight(report: Drawn) -> str:
    """Return the noun for what is counted, which captions and axes use after "share of the"."""
    return "weight" if is_weighted(report) else "rows"


def sized(column: str, weighted: bool) -> pl.Expr:
    """Return numbers of rows or sums of weights as text.

    >>> rows = pl.DataFrame({"n": [1, 1234]})
    >>> [rows.select(sized("n", weighted)).to_series().to_list() for weighted in (False, True)]
    [['1 row', '1,234 rows'], ['weight 1', 'weight 1,234']]
    """
    if weighted:
        return pl.format("weight {}", count(column))
    return pl.format("{} {}", count(column), pl.when(pl.col(column) == 1).then(pl.lit("row")).otherwise(pl.lit("rows")))
