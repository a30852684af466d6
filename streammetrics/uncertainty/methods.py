"""How the confidence interval of a metric is found: what a metric says in ``@metric(interval=...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from polars import Expr

from streammetrics.uncertainty.influence import counted
from streammetrics.uncertainty.limits import Interval
from streammetrics.uncertainty.means import mean_interval
from streammetrics.uncertainty.moments import PRODUCTS, with_products
from streammetrics.uncertainty.proportions import sum_interval, wilson_interval
from streammetrics.uncertainty.quantiles import quantile_interval
from streammetrics.uncertainty.spread import iqr_interval, mad_interval

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

Closed: TypeAlias = Callable[["Metric", float], Interval]

COUNT = pl.col("count")
FEWEST = 20  # rows of a class
FEWEST_OF_STEPS = 100
FEWEST_OF_LOSSES = 50
OF_QUANTILES = "the jackknife is not sound for quantiles"


@dataclass(frozen=True)
class Influence:
    """How the influence of a row on metrics of some columns is found: see `influence_intervals`."""

    products: tuple[tuple[tuple[str, str], str], ...]
    added: float = 0.0
    fewest: int = 2
    sliced: bool = False
    prepared: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # where products follow from the table

    @property
    def columns(self) -> set[str]:
        """Those varied."""
        return {c for pair, _ in self.products for c in pair}

    @property
    def squares(self) -> list[str]:
        """Columns of products that are not varied."""
        return [column for _, column in self.products if column not in self.columns]

    def of_weights(self, twins: Mapping[str, str]) -> Influence | None:
        """The same for weighted rows: a product adds up over rows times the squares of their weights.

        None if such a column is not kept.
        """
        if not {column for _, column in self.products} <= twins.keys():
            return None
        products = tuple((pair, twins[column]) for pair, column in self.products)
        return replace(self, products=products, fewest=2 * self.fewest)


@dataclass(frozen=True)
class Method:
    """How the confidence interval of a metric is found if rows are independent.

    A metric that says nothing has that of a proportion if it is one, else that of the influence of a row on its
    columns, if these are known to add up over rows (see `streammetrics.reading.intervals`).

    Args:
        closed: Limits as expressions over the table, whose counts are of rows and not of weights.
        influence: How the influence of a row is found, if the names of the columns do not tell.
        fewest: Rows that each class needs. Defaults to those of the influence.
        maximum: Whether the metric is a maximum over thresholds, whose bias is taken off.
        of_auc: Whether the metric is the ROC AUC, moved to its range.
        without: Why there is no interval.
        without_folds: Why the jackknife of units is not sound.
    """

    closed: Closed | None = None
    influence: Influence | None = None
    fewest: int | None = None
    maximum: bool = False
    of_auc: bool = False
    without: str = ""
    without_folds: str = ""


def share(count: Expr, total: Expr) -> Method:
    """A proportion of rows."""
    return Method(lambda _, confidence: wilson_interval(count, total, confidence))


def share_of_rows(count: Expr = COUNT) -> Method:
    """A proportion whose value tells how many of all rows count."""
    rows = count.sum()
    return Method(lambda metric, confidence: wilson_interval(metric.expression() * rows, rows, confidence))


def sum_of_shares(factor: float, shift: float, *shares: tuple[str, str]) -> Method:
    """A multiple of a sum of proportions of different rows: of those in the first column among those in both."""
    parts = [(pl.col(count), pl.col(count) + pl.col(rest)) for count, rest in shares]
    return Method(lambda _, confidence: sum_interval(parts, factor, shift, confidence))


def quantile(low: Expr, high: Expr, q: float | None = None, count: Expr = COUNT) -> Method:
    """A quantile of values in bins; ``q`` is an option of the metric unless given."""

    def closed(metric: Metric, confidence: float) -> Interval:
        return quantile_interval(low, high, count, float(metric.options["q"] or 0) if q is None else q, confidence)

    return Method(closed, without_folds=OF_QUANTILES)


def mad(low: Expr, high: Expr, normal_scale: float) -> Method:
    """The median absolute deviation of values in bins, with the option ``scaled``."""

    def closed(metric: Metric, confidence: float) -> Interval:
        scale = normal_scale if metric.options["scaled"] else 1.0
        lower, upper = mad_interval(metric.expression() / scale, low, high, COUNT, confidence)
        return lower * scale, upper * scale

    return Method(closed, without_folds=OF_QUANTILES)


def iqr(low: Expr, high: Expr) -> Method:
    """The interquartile range of values in bins."""

    def closed(metric: Metric, confidence: float) -> Interval:
        return iqr_interval(metric.expression(), low, high, COUNT, confidence)

    return Method(closed, without_folds=OF_QUANTILES)


def mean_of_bins(value: Callable[[Metric], Expr]) -> Method:
    """The mean of something that each bin tells of its rows."""

    def closed(metric: Metric, confidence: float) -> Interval:
        each = value(metric)
        return mean_interval((each * COUNT).sum(), (each**2 * COUNT).sum(), COUNT.sum(), confidence, range=metric.range)

    return Method(closed)


def sums(total: Expr, squares: str, weight: str = "weight", fewest: int = 2) -> Method:
    """A function of the number of rows and a total of losses, which the columns of squares has of their squares.

    The total can be the sum or the difference of columns that different rows add to, since the influence on each of
    them is as large.
    """
    first, *others = total.meta.root_names()
    products = [((weight, c), c) for c in (weight, first, *others)]
    return Method(influence=Influence((*products, ((first, first), squares))), fewest=fewest)


def losses(name: str, weight: str = "weight") -> Method:
    """The mean of a loss of probabilities."""
    return Method(influence=_of_losses(weight, name), fewest=0)


def without(reason: str) -> Method:
    """No interval, and why."""
    return Method(without=reason)


INFLUENCE = Method()
AUC = Method(of_auc=True, fewest=FEWEST)
STEPS = Method(fewest=FEWEST_OF_STEPS)
MAXIMUM = Method(fewest=FEWEST_OF_STEPS, maximum=True)
MOMENTS = Method(influence=Influence(tuple(PRODUCTS.items()), prepared=with_products))

OF_OUTCOMES = Influence(tuple(counted("tp", "fp", "fn", "tn").items()), added=0.5)
OF_MATRIX = Influence(tuple(counted("count").items()))


def _of_losses(weight: str, name: str) -> Influence:
    total, squares = f"{name}_sum", f"{name}_square_sum"
    products = (((weight, weight), weight), ((weight, total), total), ((total, total), squares))
    return Influence(products, fewest=FEWEST_OF_LOSSES)


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
