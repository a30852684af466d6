"""Methods that compute the influence of a row on a metric: of its columns, or of pairs of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import EFFECTIVE_ROWS, LIMITS, SUM_ROUNDING, VARIANCE
from streammetrics.metrics.intervals.auc import auc_intervals
from streammetrics.metrics.intervals.influence import influence_intervals, sliced
from streammetrics.metrics.intervals.method import FEWEST, GROUP, Method, Sample
from streammetrics.metrics.intervals.proportions import CELLS, Proportion, as_proportion
from streammetrics.metrics.intervals.tails import Tail

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

FEWEST_OF_HEAVIEST = 100  # minimum number of rows of each class, if each weighed as much as those of the heavier class
PAIRS_OF_LABELS = 600  # maximum number of pairs of labels of a group whose influence is computed one by one


@dataclass(frozen=True)
class Influence(Method):
    """The influence of a row on metrics of some columns. See `influence_intervals`.

    Args:
        products: For pairs of columns that are varied, the column with the sum over rows of the product of both
            contributions of a row.
        added: Rows added to each cell first.
        fewest: Minimum number of rows of each class, unless the metric has its own.
        sliced: Whether columns are counts of a histogram, whose bins are merged.
        prepared: Computes products from the table.
        tail: Third and fourth powers of the influences. Defaults to those of losses with a gamma distribution.
        classes: Whether each row of the table is a class.
    """

    products: tuple[tuple[tuple[str, str], str], ...]
    added: float = 0.0
    fewest: int = 2
    sliced: bool = False
    prepared: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    tail: Tail | None = None
    classes: bool = False

    @property
    def columns(self) -> set[str]:
        """Columns that are varied to compute influences."""
        return {c for pair, _ in self.products for c in pair}

    @property
    def squares(self) -> list[str]:
        """Columns of sums of products, which are not varied."""
        return [column for _, column in self.products if column not in self.columns]

    def of_weights(self, squares: Mapping[str, str]) -> Self | None:
        """The influence of weighted rows, with products multiplied by squared weights; None if they are not stored."""
        if self.prepared is not None:
            return replace(self, fewest=2 * self.fewest)
        if not {column for _, column in self.products} <= squares.keys():
            return None
        products = tuple((pair, squares[column]) for pair, column in self.products)
        return replace(self, products=products, fewest=2 * self.fewest)

    def least_of(self, metric: Metric) -> int:
        """Minimum number of rows of each class for a metric.

        Losses of one class have heavy tails if the other class is rare, so they need as many rows as balanced losses.
        """
        of_one_class = self.classes and metric.options.get("label") is not None
        return self.fewest if of_one_class or metric.interval.fewest is None else metric.interval.fewest

    def fewest_of(self, metric: Metric) -> int:
        """The minimum number for the notes of reports."""
        return max(FEWEST, self.least_of(metric), FEWEST_OF_HEAVIEST if self._is_carried(metric) else 0)

    @np.errstate(all="ignore")  # an infinite variance has no interval
    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return the index of the sample, metric, and limits."""
        keys = sample.table.select(sample.index).unique(maintain_order=True)
        numbered = sample.floats.select(pl.struct(sample.index).rle_id().alias(GROUP), pl.exclude(sample.index))
        if self.prepared is not None:
            numbered = self.prepared(numbered)
        found = influence_intervals(
            numbered,
            metrics,
            dict(self.products),
            sample.readers(metrics),
            confidence,
            cells=sliced(numbered, sorted(self.columns), self.squares) if self.sliced else None,
            added=self.added,
            fewest=[self.least_of(m) for m in metrics],
            shares=[share_of_negatives(m) for m in metrics],
            tail=self.tail,
            classes=self.classes,
        )
        if carried := [m.name for m in metrics if self._is_carried(m)]:
            sizes = numbered.group_by(GROUP).agg(rows=rows_of_heavier_class() * (1 + SUM_ROUNDING))
            few = sizes.filter(pl.col("rows") < FEWEST_OF_HEAVIEST)[GROUP].to_list()
            by_few = pl.col(GROUP).is_in(few) & pl.col("metric").is_in(carried)
            found = found.with_columns(pl.when(~by_few).then(pl.col(LIMITS)))
        return pl.concat([keys[found[GROUP]], found.drop(GROUP)], how="horizontal")

    def _is_carried(self, metric: Metric) -> bool:
        return "neg_w2" in self.squares and mixes_classes(metric)


class OfPairs(Influence):
    """The influence of a pair of labels, for metrics of all labels and for averages over labels."""

    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return group, metric, and limits, for groups with few pairs of labels."""
        assert sample.pairs is not None
        small = sample.pairs.table.filter(~is_crowded())
        found = influence_intervals(small, metrics, dict(self.products), sample.pairs.readers(metrics), confidence)
        if not sample.weighted:
            return found
        rows = rows_of_heaviest(pl.col("actual"), pl.col("actual_w2")) * (1 + SUM_ROUNDING)
        many = sample.table.group_by(GROUP).agg(rows=rows).filter(pl.col("rows") >= self.fewest)
        return found.join(many, on=GROUP, how="semi", maintain_order="left")


def is_crowded() -> Expr:
    """Whether a group has too many pairs of labels to process one by one."""
    return pl.len().over(GROUP) > PAIRS_OF_LABELS


@dataclass(frozen=True)
class Smooth(Method):
    """A smooth function of the rows. Proportions of confusion counts have the interval of a proportion.

    Args:
        influence: How to compute the influence of a row. Defaults to the one for the columns of the metric.
        fewest: Minimum number of rows of each class. Defaults to that of the influence.
        share: Option with the share of the negatives on which the metric depends. Others do not count for the minimum.
        total: Column of totals if the metric of a label is a proportion, of which different labels have different rows.
    """

    influence: Influence | None = None
    fewest: int | None = None
    share: str = ""
    total: str = ""

    def serving(self, metric: Metric, *, weighted: bool) -> Method | None:
        """That of a proportion if rows have no weights."""
        share = None if weighted else _as_proportion(metric)
        return None if share is None else Proportion(*share)

    def rows_of(self, metric: Metric) -> Expr | None:
        """The rows of which the metric is a proportion, such as those of one label or prediction."""
        share = _as_proportion(metric)
        return None if share is None else share[1]


def _as_proportion(metric: Metric) -> tuple[Expr, Expr] | None:
    return as_proportion(metric) if {*metric.columns} <= {*CELLS} else None


class OfAUC(Smooth):
    """The ROC AUC, and linear functions of it. See `auc_intervals`; weighted rows have influences."""

    of_auc = True

    def serving(self, metric: Metric, *, weighted: bool) -> Method | None:
        """This method if rows have no weights."""
        return None if weighted else self

    def fewest_of(self, metric: Metric) -> int:
        """Those of each class."""
        return FEWEST

    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return the index of the sample, metric, and limits."""
        found = auc_intervals(sample.table, sample.index, confidence)
        parts = []
        for m in metrics:
            low, high = m.range
            ends = {side: low + (high - low) * pl.col(side) for side in LIMITS}
            variance = (pl.col(VARIANCE) * (high - low) ** 2).alias(VARIANCE)
            parts.append(found.select(*sample.index, pl.lit(m.name).alias("metric"), EFFECTIVE_ROWS, variance, **ends))
        return pl.concat(parts)


def share_of_negatives(metric: Metric) -> float:
    """Share of the negatives on which a metric depends."""
    option = metric.interval.share
    return float(metric.options[option] or 0) if option else 1.0


def mixes_classes(metric: Metric) -> bool:
    """Whether a metric of scores depends on rows of both classes together, so that heavy rows of a class can carry it.

    Areas under the ROC curve and recall at a false positive rate count each class by itself.
    """
    return not (metric.interval.of_auc or metric.interval.share)


def rows_of_heavier_class() -> Expr:
    """The rows of the smaller class, if each weighed as much as the rows of the class with the heavier rows."""
    totals = [pl.col(c).sum() for c in ("neg", "pos")]
    weights = [pl.col(f"{c}_w2").sum() / pl.col(c).sum() for c in ("neg", "pos")]
    return pl.min_horizontal(totals) / pl.max_horizontal(weights)


def rows_of_heaviest(weight: Expr, squares: Expr) -> Expr:
    """The number of rows of all labels, if each weighed as much as the rows of the label with the heaviest rows.

    If it is small, the heaviest label has so few rows that a sample can lack its errors.
    """
    return weight.sum() / (squares / weight).filter(weight > 0).max()
