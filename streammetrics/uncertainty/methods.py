"""Methods for the confidence intervals of metrics: the values of ``@metric(interval=...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import polars as pl
from polars import Expr

from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.influence import counted
from streammetrics.uncertainty.limits import Interval, limits
from streammetrics.uncertainty.means import ROUNDING, mean_interval
from streammetrics.uncertainty.moments import PRODUCTS, with_products
from streammetrics.uncertainty.proportions import (
    in_effective_rows,
    mean_of_proportions_interval,
    sum_interval,
    wilson_interval,
)
from streammetrics.uncertainty.quantiles import quantile_interval
from streammetrics.uncertainty.quantity import Quantity
from streammetrics.uncertainty.spread import iqr_interval, mad_interval
from streammetrics.uncertainty.tails import (
    Largest,
    of_error_deviation,
    of_errors,
    of_loss,
    of_square_error,
    of_square_percentage,
)

Closed: TypeAlias = Callable[[Quantity, float], Interval]

ROWS = ("rows",)
COUNT, SQUARES = pl.col("count"), pl.col("count_w2")
FEWEST = 20  # minimum number of rows per class
FEWEST_OF_STEPS = 100
FEWEST_AT_LEVEL = 50
FEWEST_OF_LOSSES = 50
FEWEST_OF_HEAVIEST = 100
FEWEST_OF_LABELS = 25  # of all labels together, if rows have weights, which double it


@dataclass(frozen=True)
class Influence:
    """How to compute the influence of a row on metrics of some columns. See `influence_intervals`."""

    products: tuple[tuple[tuple[str, str], str], ...]
    added: float = 0.0
    fewest: int = 2
    sliced: bool = False
    prepared: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # computes products from the table
    largest: Largest | None = None  # rows as large as the largest ones
    classes: bool = False  # whether each row of the table is a class

    @property
    def columns(self) -> set[str]:
        """Columns that are varied to compute influences."""
        return {c for pair, _ in self.products for c in pair}

    @property
    def squares(self) -> list[str]:
        """Columns of sums of products, which are not varied."""
        return [column for _, column in self.products if column not in self.columns]

    def of_weights(self, twins: Mapping[str, str]) -> Influence | None:
        """Return the influence for weighted rows, with products multiplied by squared weights.

        Returns None if one of these columns is not stored.
        """
        if self.prepared is not None:
            return replace(self, fewest=2 * self.fewest)
        if not {column for _, column in self.products} <= twins.keys():
            return None
        products = tuple((pair, twins[column]) for pair, column in self.products)
        return replace(self, products=products, fewest=2 * self.fewest)


@dataclass(frozen=True)
class Method:
    """Method for the confidence interval of a metric with independent rows.

    By default, a metric that is a proportion has the interval of a proportion. Other metrics use the influence of a row
    on their columns, if these are sums over rows (see `streammetrics.reading.intervals`).

    Args:
        closed: Function that returns limits as expressions over a table of unweighted rows.
        weighted: Function that returns limits as expressions over a table of weighted rows. Weights are scaled so that
            their sum equals the sum of their squares.
        influence: How to compute the influence of a row. Defaults to the influence for the columns of the metric.
        fewest: Minimum number of rows of each class. Defaults to the minimum of the influence.
        maximum: Whether the metric is a maximum over thresholds, whose bias is subtracted.
        share: Option with the share of the negatives on which the metric depends. Others do not count for the minimum.
        of_auc: Whether the metric is a linear function of the ROC AUC.
        counted: Metrics whose sum is the number of rows that the metric is a proportion of, if it is one. Not for
            proportions of confusion counts, whose formulas tell it.
        without: Reason why the metric never has an interval.
        without_units: Reason why the metric has an interval only if rows belong to units.
        without_folds: Reason why the jackknife over units is not valid.
    """

    closed: Closed | None = None
    weighted: Closed | None = None
    influence: Influence | None = None
    fewest: int | None = None
    maximum: bool = False
    share: str = ""
    of_auc: bool = False
    counted: tuple[str, ...] = ()
    without: str = ""
    without_units: str = ""
    without_folds: str = ""


def share(count: Expr, total: Expr, counted: tuple[str, ...] = ()) -> Method:
    """A proportion of rows."""
    return Method(lambda _, confidence: wilson_interval(count, total, confidence), counted=counted)


def share_of_labels(*, correct: bool) -> Method:
    """The proportion of rows predicted correctly, or incorrectly, from a table with a row for each label."""
    (hits, hits_w2), (rows, rows_w2) = ([pl.sum(f"{c}{end}") for end in ("", "_w2")] for c in ("correct", "actual"))
    count, count_w2 = (hits, hits_w2) if correct else (rows - hits, rows_w2 - hits_w2)
    effective = in_effective_rows(count, rows, count_w2, rows_w2)
    return replace(share(count, rows, ROWS), weighted=lambda _, confidence: wilson_interval(*effective, confidence))


def share_of_rows(count: Expr = COUNT, counted: tuple[str, ...] = ()) -> Method:
    """A proportion of all rows, which bins can hide."""
    rows = count.sum()
    return Method(
        lambda metric, confidence: wilson_interval(metric.expression() * rows, rows, confidence), counted=counted
    )


def sum_of_shares(factor: float, shift: float, *shares: tuple[str, str]) -> Method:
    """A multiple of a sum of proportions of different rows, each the share of the first column in a pair of columns."""
    parts = [(pl.col(count), pl.col(count) + pl.col(rest)) for count, rest in shares]
    return Method(lambda _, confidence: sum_interval(parts, factor, shift, confidence))


def mean_of_proportions(count: str, total: str) -> Method:
    """The mean of proportions of different rows, one in each row of the table."""
    (hits, hits_w2), (rows, rows_w2) = ([pl.col(f"{c}{end}") for end in ("", "_w2")] for c in (count, total))
    effective = in_effective_rows(hits, rows, hits_w2, rows_w2)
    return Method(
        lambda _, confidence: mean_of_proportions_interval(hits, rows, confidence),
        lambda _, confidence: mean_of_proportions_interval(*effective, confidence),
    )


def quantile(low: Expr, high: Expr, q: float | None = None, count: Expr = COUNT) -> Method:
    """A quantile of binned values. ``q`` defaults to the option of the metric."""

    def closed(metric: Quantity, confidence: float, squares: Expr | None = None) -> Interval:
        level = float(metric.options["q"] or 0) if q is None else q
        return quantile_interval(low, high, count, level, confidence, squares)

    return _of_quantiles(closed)


def mad(low: Expr, high: Expr, normal_scale: float) -> Method:
    """The median absolute deviation of binned values, with the option ``scaled``."""

    def closed(metric: Quantity, confidence: float, squares: Expr | None = None) -> Interval:
        scale = normal_scale if metric.options["scaled"] else 1.0
        lower, upper = mad_interval(metric.expression() / scale, low, high, COUNT, confidence, squares)
        return lower * scale, upper * scale

    return _of_quantiles(closed)


def iqr(low: Expr, high: Expr) -> Method:
    """The interquartile range of binned values."""

    def closed(metric: Quantity, confidence: float, squares: Expr | None = None) -> Interval:
        return iqr_interval(metric.expression(), low, high, COUNT, confidence, squares)

    return _of_quantiles(closed)


def _of_quantiles(closed: Callable[..., Interval]) -> Method:
    return Method(closed, partial(closed, squares=SQUARES), without_folds="the jackknife is not valid for quantiles")


def mean_of_bins(value: Callable[[Quantity], Expr]) -> Method:
    """The mean of a value that is the same for all rows of a bin."""

    def closed(metric: Quantity, confidence: float) -> Interval:
        each = value(metric)
        return mean_interval((each * COUNT).sum(), (each**2 * COUNT).sum(), COUNT.sum(), confidence, range=metric.range)

    return Method(closed)


def mean(side: str) -> Method:
    """The mean of the true values or predictions, from stored moments. ``side`` is ``actual`` or ``predicted``."""

    def closed(metric: Quantity, confidence: float, end: str = "") -> Interval:
        weight, middle = pl.col("weight"), pl.col(f"{side}_mean")
        spread = pl.col(f"{side}_m2{end}")
        if end:  # moments with squared weights are about another mean
            spread += pl.col(f"weight{end}") * (pl.col(f"{side}_mean{end}") - middle) ** 2
        error = (spread / weight / (weight - 1)).sqrt()
        return limits(middle, error, normal_quantile(upper_level(confidence)))

    return Method(closed, partial(closed, end="_w2"))


def mean_of_shares(total: str, squares: str, parts: str, rows: str) -> Method:
    """The mean over rows of a share of parts, from a sum and a sum of squares. All rows must have as many parts."""

    def closed(metric: Quantity, confidence: float, end: str = "") -> Interval:
        weight, each = pl.col(rows), pl.col(parts) / pl.col(rows)
        middle = pl.col(total) / pl.col(parts)
        square = pl.col(squares + end) / each**2
        spread = square - 2 * middle * pl.col(total + end) / each + middle**2 * pl.col(rows + end)
        error = pl.when(spread > ROUNDING * square).then((spread / weight / (weight - 1)).sqrt())
        return limits(middle, error, normal_quantile(upper_level(confidence)), metric.range)

    return Method(closed, partial(closed, end="_w2"))


def share_of_sets(count: str, rows: str) -> Method:
    """A proportion of rows, from a table of sums over rows."""
    weighted = mean_of_shares(count, count, rows, rows).weighted
    return replace(share(pl.col(count), pl.col(rows), ROWS), weighted=weighted)


def sums(*products: tuple[str, str, str], largest: Largest | None = None, **squares: str) -> Method:
    """A function of the number of rows and of sums over rows.

    Args:
        products: Pairs of sums, each with the column of the sum of products of both contributions of a row. Pairs that
            are not listed have products of 0.
        largest: Rows as large as the largest ones, for losses with heavy tails.
        squares: For each sum, the column with the sum of squares.
    """
    with_rows = [(("weight", c), c) for c in ("weight", *squares)]
    among = [((a, b), column) for a, b, column in (*((c, c, square) for c, square in squares.items()), *products)]
    return Method(influence=Influence((*with_rows, *among), largest=largest))


def mean_loss(total: str, squares: str) -> Method:
    """A function of the number of rows and of the sum of a loss that can have a heavy tail."""
    return sums(largest=of_loss(total, squares), **{total: squares})


def losses(name: str, weight: str = "weight") -> Method:
    """The mean of a loss of probabilities."""
    return Method(influence=_of_losses(weight, name), fewest=2 if weight == "weight" else 0)


def without(reason: str) -> Method:
    """No interval, for a reason that the report shows."""
    return Method(without=reason)


def of_units(reason: str) -> Method:
    """An interval only if rows belong to units, for a reason that the report shows."""
    return Method(without_units=reason)


INFLUENCE = Method()
AUC = Method(of_auc=True, fewest=FEWEST)
AREA = Method(share="max_fpr")
STEPS = Method(fewest=FEWEST_OF_STEPS)
LEVEL = Method(fewest=FEWEST_AT_LEVEL, share="fpr")
MAXIMUM = Method(fewest=FEWEST_OF_STEPS, maximum=True)
AT_MAXIMUM = "at its maximum if classes are equally large"
SEPARATE = of_units("labels are counted separately")
NO_SQUARES = of_units("the state does not hold the squares of its terms")
OF_MOMENTS = Influence(tuple(PRODUCTS.items()), prepared=with_products, largest=of_errors)
MOMENTS = Method(influence=OF_MOMENTS)
ERROR_DEVIATION = Method(influence=replace(OF_MOMENTS, largest=of_error_deviation))
SQUARE_PERCENTAGE = sums(largest=of_square_percentage, percentage_square_sum="percentage_fourth_sum")
SQUARE_ERROR = sums(largest=of_square_error, square_error_sum="error_fourth_sum")

OF_OUTCOMES = Influence(tuple(counted("tp", "fp", "fn", "tn").items()), added=0.5)
OF_MATRIX = Influence(tuple(counted("count").items()), fewest=FEWEST_OF_LABELS)


def _of_losses(weight: str, name: str) -> Influence:
    total, squares = f"{name}_sum", f"{name}_square_sum"
    products = (((weight, weight), weight), ((weight, total), total), ((total, total), squares))
    return Influence(products, fewest=FEWEST_OF_LOSSES, largest=of_loss(total, squares, weight), classes=True)


BY_COLUMNS = (
    OF_OUTCOMES,
    Influence(tuple(counted("predicted_positives", "predicted_negatives").items()), added=0.5),
    Influence(tuple(counted("neg", "pos").items()), fewest=FEWEST, sliced=True),
    Influence(tuple(counted("count").items()), sliced=True),
    *(_of_losses(weight, name) for weight in ("weight", "class_weight") for name in ("log_loss", "brier")),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "pos", "score_sum")),
            *((("pos", "pos"), "pos"), (("pos", "score_sum"), "pos_score_sum")),
            (("score_sum", "score_sum"), "score_square_sum"),
        ),
        fewest=0,
    ),
)
