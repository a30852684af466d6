"""The rows that confidence intervals are computed from, and which method serves each metric of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import SAMPLED, by_group, tidy
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.intervals.influence import Influence, is_crowded, rows_of_heavier_class, rows_of_heaviest
from streammetrics.metrics.intervals.method import GROUP, Closed, Method, Read, reader, runs_of
from streammetrics.metrics.intervals.proportions import MeanOfProportions, cells_of

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

FEWEST_OF_A_CLASS = 2  # of a loss in which every row counts, so that it does not depend on the smaller class


@dataclass(frozen=True)
class Sample:
    """Independent rows, as a table of their counts, sums, or bins.

    Args:
        table: The table, with floats, so that no product overflows. Weights are scaled so that their sum equals the
            sum of their squares in each group.
        index: The columns that identify an estimate: the number of the group and the kept keys.
        folds: Whether metrics aggregate the rows of the table, or are computed in every row.
        weighted: Whether rows have weights.
        squares: For each column with weights, the column of the same sum with squared weights.
        influences: The influences of rows on metrics of the table.
        pairs: The rows by pairs of labels, if the table was derived from them.
    """

    table: pl.DataFrame
    index: Sequence[str]
    folds: bool = True
    weighted: bool = False
    squares: Mapping[str, str] | None = None
    influences: Sequence[Influence] = ()
    pairs: Sample | None = None

    def reader(self, metrics: Sequence[Metric]) -> Read:
        """Return a function that computes metrics, by name, of each group of tables like this one."""
        return reader(metrics, by_group=self.folds)

    @cached_property
    def numbered(self) -> pl.DataFrame:
        """The table with the number of its estimate as the group of each row."""
        number = pl.struct(self.index).rle_id() if self.folds else pl.int_range(pl.len(), dtype=pl.UInt32)
        return self.table.select(number.alias(GROUP), pl.exclude(self.index))

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """The index of each estimate."""
        rows = self.table.select(self.index)
        return rows[runs_of(self.numbered)[0]] if self.folds else rows

    def method_of(self, metric: Metric) -> Method | None:
        """Return the method for a metric: its own, or the influence on its table. None if there is none.

        Averages over labels have the influence of a pair of labels.
        """
        if metric.interval.reason_of_rows or (self.weighted and not self.squares):
            return None
        if metric.average is None:
            return metric.interval.serving(metric, self)
        if self.pairs is None:
            return None
        if metric.interval.total and metric.average == "macro":
            return MeanOfProportions("correct", metric.interval.total)
        return methods.LABELS.serving(metric, self)

    @property
    def is_crowded(self) -> bool:
        """Whether a group has too many pairs of labels to process one by one."""
        return bool(self.table.select(is_crowded().any()).item())

    def rows_of(self, metric: Metric, *, binary: bool) -> Expr | None:
        """The number of rows of the smallest class, or in the denominator of a proportion; None without classes.

        The interval of a proportion of weighted rows needs rows of both classes, since a few heavy rows of either class
        can carry it. The task is ``binary`` if rows of two classes have separate losses.
        """
        weighted = self.weighted and bool(self.squares)

        def rows(count: Callable[[Callable[[str], Expr]], Expr]) -> Expr:
            total = count(pl.col)
            squares = count(lambda c: pl.col(f"{c}_w2"))
            return pl.min_horizontal(total, total / (squares / total)) if weighted else total

        def rows_with(names: Sequence[str]) -> Expr:
            return rows(lambda c: pl.sum_horizontal(map(c, names)).sum())

        if self.pairs is not None:
            if metric.interval.total == "actual" and metric.average in (None, "macro"):
                return rows(lambda c: c("actual")).filter(pl.col("actual") > 0).min()
            return rows_of_heaviest(pl.col("actual"), pl.col("actual_w2")) if weighted else None
        if metric.average is not None or not self.influences:
            return None
        influence = self.influences[0]
        if influence.classes and binary:
            of_metric = metric.interval.influence(metric, self.influences)
            loss = None if of_metric is None else of_metric.loss
            if loss is not None and loss.fewest <= FEWEST_OF_A_CLASS and metric.options["label"] is None:
                return None
            positive = pl.col("actual")
            return pl.min_horizontal(
                rows(lambda c: (c("weight") * positive).sum()), rows(lambda c: (c("weight") * (1 - positive)).sum())
            )
        positives, negatives = influence.sides
        if not (positives and negatives and influence.counts is influence.columns):
            return None
        cells = cells_of(metric)
        if cells and not weighted and {*cells[1]} in ({*positives}, {*negatives}, {*positives, *negatives}):
            return rows_with(cells[1])
        least = pl.min_horizontal(
            rows_with(negatives) * metric.interval.share_of_negatives(metric), rows_with(positives)
        )
        is_carried = influence.sliced and weighted and metric.interval.mixes_classes
        return pl.min_horizontal(least, rows_of_heavier_class()) if is_carried else least

    def limits(self, served: Mapping[Metric, Method | None], confidence: float) -> pl.DataFrame:
        """Return the index of each estimate, metric, limits, effective rows, and variance.

        Closed methods are computed in one query, and metrics with equal methods together.
        """
        metrics = {m: i for i, m in enumerate(m for m, method in served.items() if method is not None)}
        numbers = np.full((4, self.estimates.height, len(metrics)), np.nan)
        sums: dict[Metric, list[str]] = {}
        columns: dict[str, Expr] = {}
        others: dict[Method, dict[Metric, Method]] = {}
        for metric, method in served.items():
            if isinstance(method, Closed):
                expressions = method.sums(metric, confidence, self.weighted)
                sums[metric] = [f"{i} of {metric.name}" for i in range(len(expressions))]
                columns |= zip(sums[metric], expressions, strict=True)
            elif method is not None:
                others.setdefault(method, {})[metric] = method
        if columns:
            groups = self.numbered.select(pl.col(GROUP).unique(maintain_order=True)) if self.folds else None
            table = by_group(self.numbered, [GROUP], columns, groups).cast(dict.fromkeys(columns, pl.Float64))
            for metric, names in sums.items():
                method, totals = served[metric], [table[name].to_numpy() for name in names]
                assert isinstance(method, Closed)
                numbers[:2, :, metrics[metric]] = method.ends(metric, confidence, totals)
        for method, of_method in others.items():
            limits = method.limits(self, of_method, confidence)
            numbers[: len(limits), :, [metrics[m] for m in of_method]] = limits
        return tidy(self.estimates, [m.name for m in metrics], SAMPLED, numbers)
