"""Several reports as one, to overlay their curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.errors import ReportError
from streammetrics.metrics import Metric
from streammetrics.show.charts.series import WHICH, Reports, count
from streammetrics.statistics import State

if TYPE_CHECKING:
    from streammetrics.report import Report


class Together:
    """Reports by name, with an additional group column ``report``."""

    def __init__(self, reports: Mapping[str, Report]) -> None:
        self.reports: dict[str, Report] = dict(reports)
        self._first, *others = self.reports.values()
        for other in others:
            if set(other.by) != set(self._first.by):
                raise ReportError(f"The group columns differ: {self._first.by} and {other.by}.")
        if WHICH in self._first.by:
            raise ReportError(
                f"Group column {WHICH!r} has a name that charts of several reports use. Give it an alias."
            )
        self.confidence: float | None = self._first.confidence

    @property
    def by(self) -> list[str]:
        """The group columns."""
        return [WHICH, *self._first.by]

    @property
    def frame(self) -> pl.DataFrame:
        """All estimates."""
        return self._all(lambda report: report.frame)

    @property
    def state(self) -> State:
        """The state of the first report."""
        return self._first.state

    def find(self, metric: str | Metric) -> Metric:
        """The metric of that name."""
        return self._first.find(metric)

    def rows(self, metric: str | Metric, **keys: Any) -> pl.DataFrame:
        """The rows of one metric."""
        own = {k: v for k, v in keys.items() if k != WHICH}
        rows = self._all(lambda report: report.rows(metric, **own))
        return rows.filter(pl.col(WHICH) == keys[WHICH]) if WHICH in keys else rows

    def curve(self, kind: str | Metric, order: Any = "tied") -> pl.DataFrame:
        """A curve of every report and group. If a report has no labels, scores are not divided by class."""
        found = self._all(lambda report: report.curve(kind, order))
        if {"count", "negatives", "positives"} <= {*found.columns}:
            both = pl.col("negatives") + pl.col("positives")
            found = found.select(pl.exclude("count", "negatives", "positives"), count=pl.coalesce("count", both))
        return found

    def confusion_counts(self) -> pl.DataFrame:
        """The confusion counts."""
        return self._all(lambda report: report.confusion_counts())

    def confusion_matrix(self) -> pl.DataFrame:
        """The cells of the confusion matrices."""
        return self._all(lambda report: report.confusion_matrix())

    def rollup(self, *columns: str) -> Together:
        """The reports for fewer groups."""
        own = [c for c in columns if c != WHICH]
        return Together({name: report.rollup(*own) for name, report in self.reports.items()})

    def showing(self, metrics: Sequence[str]) -> Together:
        """The reports of other metrics."""
        return Together({name: report.showing(metrics) for name, report in self.reports.items()})

    def _all(self, read: Callable[[Report], pl.DataFrame]) -> pl.DataFrame:
        parts = [read(r).select(pl.lit(name).alias(WHICH), pl.all()) for name, r in self.reports.items()]
        return pl.concat(parts, how="diagonal_relaxed")


def is_weighted(report: Reports) -> bool:
    """Return whether counts are sums of weights, in any of several reports."""
    reports = report.reports.values() if isinstance(report, Together) else [report]
    return any(each.state.weighted for each in reports)


def rows_or_weight(report: Reports) -> str:
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
