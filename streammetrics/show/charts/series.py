"""Series of a chart: one per group, model, and label of a curve, up to a maximum number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from streammetrics.base import amount, hidden, joined, matching, readable, require_free, text
from streammetrics.data import LABEL
from streammetrics.errors import MetricError, ReportError
from streammetrics.show.charts.axes import Spec
from streammetrics.show.charts.marks import MAX_SERIES, area

if TYPE_CHECKING:
    from streammetrics.report import Report
    from streammetrics.show.charts.together import Together

Reports: TypeAlias = "Report | Together"  # one, or several in the same chart

WHICH = "report"  # group column of several reports, whose names need no title
SIDES = ("model", WHICH)  # group columns whose values share an axis
CLASS = "actual class"  # column of the histograms of scores
SERIES, BY_CHARTS = "series", "a name that charts use"
SIZE, AUC, POSITIVES, PLACE, SHARED = map(hidden, ("rows", "auc", "positives", "place", "sides"))


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

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return another frame with the same keys, for the same series."""
        if not self.keys:
            return frame.with_columns(series=pl.lit(self.names[0]))
        named = self.frame.select(*self.keys, "series").unique(maintain_order=True)
        return frame.join(named, on=self.keys, nulls_equal=True, maintain_order="left_right")

    def require_one(self, what: str) -> None:
        """Reject all but a single series."""
        if (found := len(self.names) + self.left_out) != 1:
            raise ReportError(f"{found} {what} match. Select one with: {self.legend or WHICH}.")


def count(column: str) -> pl.Expr:
    """Return counts or sums of weights as text.

    >>> pl.DataFrame({"n": [1234.0, 0.123456]}).select(count("n")).to_series().to_list()
    ['1,234', '0.1235']
    """
    return pl.col(column).map_elements(amount, return_dtype=pl.String)


def shared(names: list[str]) -> str:
    """Return the common prefix of long names, up to the end of a word.

    >>> shared(["shop 01", "shop 02", "shop 10"]), shared(["north", "northeast", "northwest"])
    ('shop ', '')
    """
    first, last = (min(names), max(names)) if len(names) > 2 else ("", "")
    differs = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    words = re.match(r".*[\W_]", first[:differs])
    return words[0] if words and len(words[0]) > 3 else ""


def filled(path: pl.DataFrame, series: Series) -> list[Spec]:
    """Return the areas of histograms; of more than two, which would hide each other, only their outlines are drawn."""
    return [area(path)] if len(series.names) <= 2 else []


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
    """Return the rows of a curve that match some keys, with a name for each group.

    If there are too many groups, the largest are shown, of labels those with the lowest ROC AUC. Groups are identified
    by ``columns``, or by all that are not curve columns.
    """
    columns = keys_of(report, frame) if columns is None else list(columns)
    require_free(columns, [SERIES], BY_CHARTS)
    frame = matching(frame, columns, keys)
    if keys and frame.is_empty():
        given = ", ".join(f"{k}={v!r}" for k, v in keys.items())
        raise ReportError(f"No row has {given}.")
    if not columns:
        return Series(frame.with_columns(series=pl.lit("all rows")), ("all rows",), "", columns)
    groups = frame.select(columns).unique(maintain_order=True)
    total, note = groups.height, ""
    if total > most:
        groups, note = _largest(report, frame, groups, most)
    varying = [c for c in columns if groups[c].n_unique() > 1] or columns
    groups = groups.with_columns(series=_name(groups.select(varying)))
    named = frame.join(groups, on=columns, nulls_equal=True, maintain_order="left")
    of_reports = WHICH not in report.state.keys
    legend = " · ".join(c for c in varying if not (of_reports and c == WHICH))
    return Series(named, tuple(groups["series"]), legend, columns, total - groups.height, note)


def _largest(report: Reports, frame: pl.DataFrame, groups: pl.DataFrame, most: int) -> tuple[pl.DataFrame, str]:
    """The groups with the most rows, or the labels with the lowest ROC AUC, in order, and a note on which they are.

    Each model and each report has as many, and the same ones if all have them, so that they can be compared.
    """
    sides = [c for c in SIDES if c in groups.columns]
    own = [c for c in groups.columns if c not in sides] or sides
    every, by = groups.select(own).unique(maintain_order=True), dict[str, str]()
    sized = groups.with_row_index(PLACE).with_columns(pl.len().over(own).alias(SHARED))
    ranks = ((_rows_of(report, every), "the most rows"), (_auc_of(report, every), "the lowest ROC AUC"))
    for sizes, what in (*ranks, (_positives_of(frame, every), "the most positives")):
        if sizes.width:
            *on, size = sizes.columns
            sized = joined(sized, sizes, on)
            by[size] = f"with {what}"
    sized = sized.sort([SHARED, *by], descending=True, nulls_last=True, maintain_order=True)
    if sides:
        sized = sized.sort(pl.int_range(pl.len()).over(sides), maintain_order=True)
        most = most - most % groups.select(sides).n_unique() or most
    shown = sized.head(most).sort(PLACE).select(groups.columns)
    kinds, what = shown.select(own).unique(maintain_order=True), "labels" if own == ["label"] else "groups"
    which = next(iter(by.values()), "that come first")
    if kinds.height > 1:
        return shown, f"{kinds.height} of {every.height:,} {what}, those {which}"
    return shown, f"only {', '.join(map(text.cell, kinds.row(0)))}, the one of {every.height:,} {what} {which}"


def _rows_of(report: Reports, groups: pl.DataFrame) -> pl.DataFrame:
    """The number of rows of the groups of a report."""
    try:
        sizes = report.rows("rows")
    except MetricError:
        return pl.DataFrame()
    shared = [c for c in report.by if c in groups.columns]
    return sizes.group_by(shared).agg(pl.sum("value").alias(SIZE)) if shared else pl.DataFrame()


def _auc_of(report: Reports, groups: pl.DataFrame) -> pl.DataFrame:
    """The negative ROC AUC of each label, of all models, if labels have one."""
    if groups.columns != [LABEL]:
        return pl.DataFrame()
    try:
        found = report.rows("roc_auc")
    except MetricError:
        return pl.DataFrame()
    return found.group_by(LABEL).agg(-pl.mean("value").alias(AUC)) if LABEL in found.columns else pl.DataFrame()


def _positives_of(frame: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The number of positives of each group and label of a curve."""
    if {"tp", "fn"} <= set(frame.columns):
        positives = (pl.col("tp") + pl.col("fn")).max()
    elif "positives" in frame.columns:
        positives = pl.sum("positives")
    elif {"weight", "observed_rate"} <= set(frame.columns):
        positives = (pl.col("weight") * pl.col("observed_rate")).sum()
    else:
        return pl.DataFrame()
    return frame.group_by(groups.columns).agg(positives.alias(POSITIVES))


def _name(groups: pl.DataFrame) -> pl.Expr:
    """The name of a group; duplicates are numbered."""
    values = [readable(c).fill_null("null") for c in groups.get_columns()]
    name = pl.concat_str(values, separator=" · ")
    again = pl.int_range(pl.len()).over(name)
    return pl.when(again > 0).then(pl.format("{} ({})", name, again + 1)).otherwise(name)
