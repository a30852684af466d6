"""Fairness of a classifier over the values of a group column: criteria, and their metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import LIMITS, VALUE, capitalized, cell, markup, percentage, rows
from streammetrics.errors import escaped
from streammetrics.metrics import FEWEST, better, in_a_sentence, words
from streammetrics.reading import listed as listed_of
from streammetrics.show import charts
from streammetrics.show.charts.axes import Spec
from streammetrics.show.pages.pictures import Maker
from streammetrics.show.tables.estimates import CERTIFIED, listed
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.table import Cell, Column, Table, columns, key_cell

if TYPE_CHECKING:
    from streammetrics.report import Report

ENDS = {"highest": "max", "lowest": "min"}  # a value of the column, which can be null, and its metric
ERROR = 0.05  # probability that equal values are said to differ
METRICS = ("predicted_positive_rate", "recall", "fpr", "precision")


def criteria_and_charts(report: Report, over: str, draw: Callable[[str, Iterable[Maker]], str]) -> str:
    """Return the fairness criteria in sentences, a table, and charts, the largest gap first."""
    rolled_up = report.rollup(*(c for c in report.by if c in (over, "model")))
    frame = rolled_up.fairness(over=over).sort("difference", descending=True, nulls_last=True, maintain_order=True)
    metrics = frame["metric"].drop_nulls().unique(maintain_order=True).to_list()
    order = cache(lambda: _order(report, over, metrics[0]))
    makers = (partial(_chart, report, over, metrics[0], order, metric) for metric in metrics)
    return _criteria(rolled_up, over, frame) + draw("fair", makers)


def _criteria(report: Report, over: str, frame: pl.DataFrame) -> str:
    """Sentences and a table with the highest and the lowest value of each criterion."""
    keys = [c for c in frame.columns[: frame.columns.index("criterion")] if frame[c].count()]
    lines = [
        [
            Cell(row["criterion"].replace("_", " ")),
            *map(key_cell, (row[k] for k in keys)),
            Cell(words(report.find(row["metric"])) if row["metric"] else ""),
            *(_end(row[end], row[value]) for end, value in ENDS.items()),
            *(_measure(row, measure) for measure in ("difference", "ratio")),
            Cell(row["note"] or ""),
        ]
        for row in rows(frame)
    ]
    named = columns(*keys, "metric", "highest", "lowest", "difference", "ratio")
    named = [Column("criterion", "head"), *named, Column("note", optional=True)]
    sentences = (*_verdicts(report, over), *_few(report, over))
    verdicts = "".join(f"<p><strong>{markup(sentence)}</strong></p>" for sentence in sentences)
    level = f"{100 * report.confidence:.6g}% " if report.confidence else ""
    lead = (
        f"<p>Each criterion compares the values of {markup(over)} with the highest and the lowest metric, the largest "
        "difference first. Difference: highest minus lowest, 0 if they are equal. Ratio: lowest divided by highest, 1 "
        f"if they are equal. Below each: its {level}confidence interval, or its certified bounds ({CERTIFIED}) if it "
        "has none.</p>"
    )
    return verdicts + lead + scrolled(Table(named, lines, f"Fairness criteria over {over}"), "fairness criteria")


def _order(report: Report, over: str, metric: str) -> list[str]:
    """The names of groups in a chart of a metric, the highest first."""
    dots = charts.values(charts.segments(report, metric, over), "dot")
    return [row["y"] for row in sorted(dots, key=lambda row: -row["x"])]


def _chart(report: Report, over: str, first: str, order: Callable[[], list[str]], metric: str) -> Spec:
    """A metric of each group, in the order of the first metric, as percentages."""
    chart, names = charts.segments(report, metric, over), order()
    encoding = chart["encoding"]
    encoding["y"]["scale"]["domain"].sort(key=lambda name: names.index(name) if name in names else math.inf)
    encoding["x"]["axis"]["format"] = "~%"
    encoding["x"]["axis"].pop("labelExpr", None)
    caption = f"{better(report.find(metric))} Highest {in_a_sentence(report.find(first))} first.".strip()
    return chart | {"description": caption}


def _end(value: Any, share: float | None) -> Cell:
    """A value of the column, and its metric."""
    return Cell("") if share is None else Cell(key_cell(value).text, share, percentage(share))


def _verdicts(report: Report, over: str) -> Iterator[str]:
    """Sentences on metrics that differ between values, at a level that allows for all pairs, and on those that do not.

    Of several models, labels, or thresholds, each metric that differs in one of them is told.
    """
    pairs = math.comb(report.state.keys[over].n_unique(), 2)
    if not pairs:
        return
    frame = report.with_confidence(1 - ERROR / pairs / len(METRICS)).fairness(over=over)
    if "difference_ci_lower" not in frame.columns:
        return
    low = pl.col("difference_ci_lower") - (pl.col("difference") - pl.col("difference_lower"))
    decided = frame.filter(low.is_not_null()).unique("metric", maintain_order=True, keep="first")
    differing = frame.filter(low > 0).sort("difference", descending=True).unique("metric", maintain_order=True)
    for row in rows(differing):
        metric, ends = in_a_sentence(report.find(row["metric"])), [row[name] for name in ENDS]
        highest, lowest = ("null" if end is None else escaped(str(end)) for end in ends)
        most, least = (percentage(row[end]) for end in ENDS.values())
        yield f"{capitalized(metric)} differs: {most} for {highest}, {least} for {lowest}."
    alone = [metric for metric in decided["metric"] if metric not in set(differing["metric"])]
    if alone:
        names = ", ".join(in_a_sentence(report.find(metric)) for metric in alone)
        yield f"No significant difference, all pairs of {escaped(over)} considered: {names}."


def _few(report: Report, over: str) -> Iterator[str]:
    """A sentence on values with few predicted positives."""
    if report.state.weighted or not report.readable("precision"):
        return
    predicted = report.confusion_counts().with_columns(predicted=pl.col("tp") + pl.col("fp"))
    few = predicted.filter(pl.col("predicted") < FEWEST).unique(over, maintain_order=True)
    if few.height:
        texts = [f"{cell(row[over])} ({row['predicted']:,.0f})" for row in rows(few)]
        yield f"Too few predicted positives to compare precision: {listed_of(texts)}."


def _measure(row: dict[str, Any], name: str) -> Cell:
    estimate = {"value": row[name]} | {end: row.get(f"{name}_{end}") for end in (*VALUE[1:], *LIMITS)}
    return listed([estimate], bounded=True)[0]
