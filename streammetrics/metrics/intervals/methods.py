"""The methods that metrics name with ``@metric(interval=...)``, and which one serves some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.metrics.intervals.brownian import RangeOfSums as RangeOfSums
from streammetrics.metrics.intervals.influence import counted
from streammetrics.metrics.intervals.means import MeanOfBins as MeanOfBins
from streammetrics.metrics.intervals.means import MeanOfMoments as MeanOfMoments
from streammetrics.metrics.intervals.means import MeanOfShares as MeanOfShares
from streammetrics.metrics.intervals.means import ShareOfSets as ShareOfSets
from streammetrics.metrics.intervals.method import COUNT as COUNT
from streammetrics.metrics.intervals.method import Closed, Method, OfUnits, Sample, Without, closed_limits
from streammetrics.metrics.intervals.moments import PRODUCTS, with_products
from streammetrics.metrics.intervals.proportions import MeanOfProportions as MeanOfProportions
from streammetrics.metrics.intervals.proportions import Proportion as Proportion
from streammetrics.metrics.intervals.proportions import ShareOfBins as ShareOfBins
from streammetrics.metrics.intervals.proportions import ShareOfRows as ShareOfRows
from streammetrics.metrics.intervals.proportions import SumOfProportions as SumOfProportions
from streammetrics.metrics.intervals.quantiles import Quantile as Quantile
from streammetrics.metrics.intervals.smooth import Influence, OfAUC, OfPairs
from streammetrics.metrics.intervals.smooth import Smooth as Smooth
from streammetrics.metrics.intervals.tails import of_bins, of_moments

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

FEWEST_OF_AUC = 20
FEWEST_OF_STEPS = 100
FEWEST_AT_LEVEL = 50
FEWEST_OF_LOSSES = 50
FEWEST_OF_RANKING = 20
FEWEST_OF_LABELS = 25  # of all labels together, if rows have weights, which double it

AT_MAXIMUM = "at its maximum if classes are equally large"
SEPARATE = OfUnits("labels are counted separately")
NO_SQUARES = OfUnits("the state does not hold the squares of its terms")
PLACES = {"actual", "rank", *(f"{what}_{end}" for what in ("error", "value") for end in ("low", "high")), "weighted"}


def share_of_labels(*, correct: bool) -> Proportion:
    """The proportion of rows predicted correctly, or incorrectly, from a table with a row for each label."""
    (hits, hits_w2), (rows, rows_w2) = ([pl.sum(f"{c}{end}") for end in ("", "_w2")] for c in ("correct", "actual"))
    if correct:
        return Proportion(hits, rows, (hits_w2, rows_w2))
    return Proportion(rows - hits, rows, (rows_w2 - hits_w2, rows_w2))


def sums(*products: tuple[str, str, str], **squares: str) -> Smooth:
    """A function of the number of rows and of sums over rows.

    Args:
        products: Pairs of sums, each with the column of the sum of products of both contributions of a row. Pairs that
            are not listed have products of 0.
        squares: For each sum, the column with the sum of squares.
    """
    with_rows = [(("weight", c), c) for c in ("weight", *squares)]
    among = [((a, b), column) for a, b, column in (*((c, c, square) for c, square in squares.items()), *products)]
    return Smooth(Influence((*with_rows, *among)))


def losses(name: str, weight: str = "weight") -> Smooth:
    """The mean of a loss of probabilities."""
    return Smooth(_of_losses(weight, name), fewest=2 if weight == "weight" else 0)


def _of_losses(weight: str, name: str) -> Influence:
    total, squares = f"{name}_sum", f"{name}_square_sum"
    products = (((weight, weight), weight), ((weight, total), total), ((total, total), squares))
    return Influence(products, fewest=FEWEST_OF_LOSSES, classes=True)


SMOOTH = Smooth()
AUC = OfAUC(fewest=FEWEST_OF_AUC)
AREA = Smooth(share="max_fpr")
STEPS = Smooth(fewest=FEWEST_OF_STEPS)
LEVEL = Smooth(fewest=FEWEST_AT_LEVEL, share="fpr")
MAXIMUM = Without("a maximum over thresholds is biased upward")
SPREAD = Without("requires density estimates at quantiles")
MOMENTS = Smooth(Influence(tuple(PRODUCTS.items()), prepared=with_products, tail=of_moments))
SQUARE_ERROR = sums(square_error_sum="error_fourth_sum")

OF_PAIRS = OfPairs(tuple(counted("count").items()), fewest=FEWEST_OF_LABELS)
BY_COLUMNS = (
    Influence(tuple(counted("tp", "fp", "fn", "tn").items()), added=0.5),
    Influence(tuple(counted("predicted_positives", "predicted_negatives").items()), added=0.5),
    Influence(tuple(counted("neg", "pos").items()), fewest=FEWEST_OF_RANKING, sliced=True),
    Influence(tuple(counted("count").items()), sliced=True),
    *(_of_losses(weight, name) for weight in ("weight", "class_weight") for name in ("log_loss", "brier")),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "pos", "score_sum")),
            *((("pos", "pos"), "pos"), (("pos", "score_sum"), "pos_score_sum")),
            (("score_sum", "score_sum"), "score_square_sum"),
        ),
        fewest=0,
        tail=of_bins,
    ),
)


def method_of(metric: Metric, sample: Sample | None = None) -> Method | None:
    """Return the method for a metric of these rows: its own, or the influence on its columns. None if there is none.

    Metrics of all labels, and averages over labels, have the influence of a pair of labels. Without a sample, rows have
    no weights, and the table has the columns of the metric.
    """
    own, pairs = metric.interval, None if sample is None else sample.pairs
    squares = sample.squares if sample is not None and sample.weighted else None
    if own.reason or own.without_units or squares == {}:
        return None
    if metric.average is not None:
        if pairs is not None and own.total and metric.average == "macro":
            return MeanOfProportions("correct", own.total)
        return None if pairs is None else _of_pairs(pairs)
    if (found := own.serving(metric, weighted=squares is not None)) is not None:
        return found
    if pairs is not None:
        return _of_pairs(pairs)
    declared = own.influence if isinstance(own, Smooth) else None
    ways = [declared] if declared else [way for way in BY_COLUMNS if _fits(metric, way)]
    fitting = (way if squares is None else way.of_weights(squares) for way in ways)
    return next((way for way in fitting if way is not None), None)


def _of_pairs(pairs: Sample) -> Influence | None:
    return OF_PAIRS.of_weights(pairs.squares) if pairs.weighted else OF_PAIRS


def _fits(metric: Metric, way: Influence) -> bool:
    """Whether a metric uses columns that are varied, and otherwise only columns that are equal for all rows."""
    return bool(way.columns & {*metric.columns}) and {*metric.columns} <= way.columns | PLACES


def limits_of(sample: Sample, metrics: Sequence[Metric], confidence: float) -> list[pl.DataFrame]:
    """Return the index of a sample, metric, and limits: of closed methods together, and method by method of others."""
    ways = {m: way for m in metrics if (way := method_of(m, sample)) is not None}
    closed = {m: way for m, way in ways.items() if isinstance(way, Closed)}
    parts = [closed_limits(sample, closed, confidence)] if closed else []
    others = [way for m, way in ways.items() if m not in closed]
    for way in dict.fromkeys(others):
        parts.append(way.limits(sample, [m for m in metrics if m not in closed and ways.get(m) == way], confidence))
    return parts
