"""Series of a chart: one per report, group, model, and label of a curve, up to a maximum number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from streammetrics.base import amount, hidden, joined, matching, readable, require_free, text
from streammetrics.data import LABEL
from streammetrics.errors import MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.show.charts.marks import MAX_SERIES

if TYPE_CHECKING:
    from streammetrics.report import Report
    from streammetrics.statistics import State

Reports: TypeAlias = "Report | Together"  # one, or several in the same chart

WHICH = "report"  # group column of several reports, whose names need no title
SIDES = ("model", WHICH)  # group columns whose values share an axis
CLASS = "actual class"  # column of the histograms of scores
SERIES, BY_CHARTS = "series", "a name that charts use"
SIZE, PLACE, SHARED = map(hidden, ("size", "place", "sides"))
POSITIVES: dict[tuple[str, ...], pl.Expr] = {  # of a curve, by its columns
    ("tp", "fn"): (pl.col("tp") + pl.col("fn")).max(),
    ("positives",): pl.sum("positives"),
    ("weight", "observed_rate"): (pl.col("weight") * pl.col("observed_rate")).sum(),
}


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
        others = {k: v for k, v in keys.items() if k != WHICH}
        rows = self._all(lambda report: report.rows(metric, **others))
        return rows.filter(pl.col(WHICH) == keys[WHICH]) if WHICH in keys else rows

    def curve(self, kind: str | Metric, order: Any = "tied") -> pl.DataFrame:
        """A curve of every report and group. If a report has no labels, scores are not divided by class."""
        curve = self._all(lambda report: report.curve(kind, order))
        if {"count", "negatives", "positives"} <= {*curve.columns}:
            both = pl.col("negatives") + pl.col("positives")
            curve = curve.select(pl.exclude("count", "negatives", "positives"), count=pl.coalesce("count", both))
        return curve

    def confusion_counts(self) -> pl.DataFrame:
        """The confusion counts."""
        return self._all(lambda report: report.confusion_counts())

    def confusion_matrix(self) -> pl.DataFrame:
        """The cells of the confusion matrices."""
        return self._all(lambda report: report.confusion_matrix())

    def rollup(self, *columns: str) -> Together:
        """The reports for fewer groups."""
        others = [c for c in columns if c != WHICH]
        return Together({name: report.rollup(*others) for name, report in self.reports.items()})

    def showing(self, metrics: Sequence[str]) -> Together:
        """The reports of other metrics."""
        return Together({name: report.showing(metrics) for name, report in self.reports.items()})

    def _all(self, read: Callable[[Report], pl.DataFrame]) -> pl.DataFrame:
        parts = [read(r).select(pl.lit(name).alias(WHICH), pl.all()) for name, r in self.reports.items()]
        return pl.concat(parts, how="diagonal_relaxed")


@dataclass(frozen=True)
class Series:
    """A frame with a column ``series``, the names of its values, and the columns ``keys`` that define it.

    ``legend`` is the title of the names, empty if they are those of several reports.
    """

    frame: pl.DataFrame
    names: tuple[str, ...]
    legend: str
    keys: list[str]
    left_out: int = 0
    note: str = ""  # on what is shown

    def join(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return another frame with the same keys, for the same series."""
        if not self.keys:
            return frame.with_columns(series=pl.lit(self.names[0]))
        named = self.frame.select(*self.keys, "series").unique(maintain_order=True)
        return frame.join(named, on=self.keys, nulls_equal=True, maintain_order="left_right")

    def require_one(self, what: str) -> None:
        """Reject all but a single series."""
        if not self.names:
            raise ReportError("No group has rows.")
        if (size := len(self.names) + self.left_out) != 1:
            raise ReportError(f"{size} {what} match. Select one with: {self.legend or WHICH}.")


def shared(names: list[str]) -> str:
    """Return the common prefix of long names, up to the end of a word.

    >>> shared(["shop 01", "shop 02", "shop 10"]), shared(["north", "northeast", "northwest"])
    ('shop ', '')
    """
    first, last = (min(names), max(names)) if len(names) > 2 else ("", "")
    differs = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    words = re.match(r".*[\W_]", first[:differs])
    return words[0] if words and len(words[0]) > 3 else ""


def keys_of(report: Reports, frame: pl.DataFrame) -> list[str]:
    """Return the columns of a curve that identify its groups."""
    return [c for c in frame.columns if c in (*report.by, LABEL, CLASS)]


def series_of(
    report: Reports,
    frame: pl.DataFrame,
    keys: Mapping[str, Any],
    most: int = MAX_SERIES,
    columns: Sequence[str] | None = None,
) -> Series:
    """Return the rows of a curve, or of a metric, that match some keys, with a name for each group.

    If there are too many groups, the largest are shown, of labels those with the lowest ROC AUC. Groups are identified
    by ``columns``, or by all that are not curve columns.
    """
    columns = keys_of(report, frame) if columns is None else list(columns)
    require_free(columns, [SERIES], BY_CHARTS)
    frame = matching(frame, columns, keys)
    if keys and frame.is_empty():
        raise ReportError(f"No row has {', '.join(f'{k}={v!r}' for k, v in keys.items())}.")
    if not columns:
        return Series(frame.with_columns(series=pl.lit("all rows")), ("all rows",), "", columns)
    groups = frame.select(columns).unique(maintain_order=True)
    total, note = groups.height, ""
    if total > most:
        groups, note = _largest(report, frame, groups, most)
    varying = [c for c in columns if groups[c].n_unique() > 1] or columns
    values = [readable(groups[c]).fill_null("null") for c in varying]
    name = pl.concat_str(values, separator=" · ")
    again = pl.int_range(pl.len()).over(name)  # of names that are equal as text
    groups = groups.with_columns(series=pl.when(again > 0).then(pl.format("{} ({})", name, again + 1)).otherwise(name))
    named = frame.join(groups, on=columns, nulls_equal=True, maintain_order="left")
    of_reports = WHICH not in report.state.keys
    legend = " · ".join(c for c in varying if not (of_reports and c == WHICH))
    return Series(named, tuple(groups["series"]), legend, columns, total - groups.height, note)


def _largest(report: Reports, frame: pl.DataFrame, groups: pl.DataFrame, most: int) -> tuple[pl.DataFrame, str]:
    """The groups with the most rows, or the labels with the lowest ROC AUC, in order, and a note on which they are.

    Each model and each report has as many, and the same ones if all have them, so that they can be compared.
    """
    sides = [c for c in SIDES if c in groups.columns]
    columns = [c for c in groups.columns if c not in sides] or sides
    ranked, ranks = groups.with_row_index(PLACE).with_columns(pl.len().over(columns).alias(SHARED)), list[str]()
    for sizes, on, what in _sizes(report, frame, columns):
        ranked = joined(ranked, sizes.rename({SIZE: hidden(what)}), on)
        ranks.append(what)
    ranked = ranked.sort([SHARED, *map(hidden, ranks)], descending=True, nulls_last=True, maintain_order=True)
    if sides:
        ranked = ranked.sort(pl.int_range(pl.len()).over(sides), maintain_order=True)
        most = most - most % groups.select(sides).n_unique() or most
    largest = ranked.head(most).sort(PLACE).select(groups.columns)
    kinds, size = largest.select(columns).unique(maintain_order=True), groups.select(columns).n_unique()
    what, which = "labels" if columns == [LABEL] else "groups", f"with {ranks[0]}" if ranks else "that come first"
    if kinds.height > 1:
        return largest, f"{kinds.height} of {size:,} {what}, those {which}"
    return largest, f"only {', '.join(map(text.cell, kinds.row(0)))}, the one of {size:,} {what} {which}"


def _sizes(report: Reports, frame: pl.DataFrame, columns: list[str]) -> Iterator[tuple[pl.DataFrame, list[str], str]]:
    """Numbers by which groups of some columns are ranked, with those that identify them, and what is largest."""
    shared = [c for c in report.by if c in columns]
    metrics = [("rows", shared, pl.sum("value"), "the most rows")] if shared else []
    if columns == [LABEL]:
        metrics.append(("roc_auc", columns, -pl.mean("value"), "the lowest ROC AUC"))
    for metric, on, size, what in metrics:
        try:
            estimates = report.rows(metric)
        except MetricError:
            continue
        if {*on} <= {*estimates.columns}:
            yield estimates.group_by(on).agg(size.alias(SIZE)), on, what
    for needed, positives in POSITIVES.items():
        if {*needed} <= {*frame.columns}:
            yield frame.group_by(columns).agg(positives.alias(SIZE)), columns, "the most positives"
            break


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


def count(column: str) -> pl.Expr:
    """Return counts or sums of weights as text.

    >>> pl.DataFrame({"n": [1234.0, 0.123456]}).select(count("n")).to_series().to_list()
    ['1,234', '0.1235']
    """
    return pl.col(column).map_elements(amount, return_dtype=pl.String)
