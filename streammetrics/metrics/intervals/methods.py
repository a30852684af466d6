"""The methods that metrics and tables name, such as ``@metric(interval=methods.AUC)``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals.auc import AUC as OfAUC
from streammetrics.metrics.intervals.brownian import RangeOfSums as RangeOfSums
from streammetrics.metrics.intervals.influence import Influence, PairedLoss, PairsOfLabels, counted
from streammetrics.metrics.intervals.means import MeanOfBins as MeanOfBins
from streammetrics.metrics.intervals.means import MeanOfMoments as MeanOfMoments
from streammetrics.metrics.intervals.means import MeanOfShares as MeanOfShares
from streammetrics.metrics.intervals.means import ShareOfSets as ShareOfSets
from streammetrics.metrics.intervals.method import COUNT as COUNT
from streammetrics.metrics.intervals.method import Total, Without
from streammetrics.metrics.intervals.moments import PRODUCTS, with_products
from streammetrics.metrics.intervals.proportions import MeanOfProportions as MeanOfProportions
from streammetrics.metrics.intervals.proportions import Proportion as Proportion
from streammetrics.metrics.intervals.proportions import Share, as_proportion
from streammetrics.metrics.intervals.proportions import ShareOfBins as ShareOfBins
from streammetrics.metrics.intervals.proportions import ShareOfRows as ShareOfRows
from streammetrics.metrics.intervals.proportions import SumOfProportions as SumOfProportions
from streammetrics.metrics.intervals.quantiles import Quantile as Quantile
from streammetrics.metrics.intervals.tails import powers_of_bins, powers_of_moments

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric


class Smooth(Share):
    """A smooth function of the rows: the influence on the table, or the interval of a proportion of confusion counts.

    Args:
        total: Column of totals if the metric of a label is a proportion, of which different labels have different rows.
    """

    def __init__(self, total: str = "") -> None:
        self.total = total

    def counts(self, metric: Metric) -> tuple[Expr, Expr] | None:
        """Those of confusion counts, such as the rows of one label or prediction."""
        return as_proportion(metric)


def share_of_labels(*, correct: bool) -> Proportion:
    """The proportion of rows predicted correctly, or incorrectly, from a table with a row for each label."""
    (hits, hits_w2), (rows, rows_w2) = ([pl.sum(f"{c}{end}") for end in ("", "_w2")] for c in ("correct", "actual"))
    if correct:
        return Proportion(hits, rows, (hits_w2, rows_w2), ("both_right", "one_right", "other_right"))
    return Proportion(rows - hits, rows, (rows_w2 - hits_w2, rows_w2), ("none_right", "other_right", "one_right"))


def sums(*products: tuple[str, str, str], **squares: str) -> Influence:
    """A function of the number of rows and of sums over rows.

    Args:
        products: Pairs of sums, each with the column of the sum of products of both contributions of a row. Pairs that
            are not listed have products of 0.
        squares: For each sum, the column with the sum of squares.
    """
    with_rows = [(("weight", c), c) for c in ("weight", *squares)]
    among = [((a, b), column) for a, b, column in (*((c, c, square) for c, square in squares.items()), *products)]
    return Influence((*with_rows, *among))


def with_loss(influence: Influence, *loss: Any, **options: Any) -> Influence:
    """The influence on a mean loss, of which two models on the same rows keep powers of differences (`PairedLoss`)."""
    return replace(influence, loss=PairedLoss(*loss, **options))


def losses(name: str, weight: str = "weight") -> Influence:
    """A function of the mean losses of probabilities of each class."""
    total, squares = f"{name}_sum", f"{name}_square_sum"
    products = (((weight, weight), weight), ((weight, total), total), ((total, total), squares))
    influence = Influence(products, constants=("actual",), fewest=(50, 100), classes=True)
    return with_loss(influence, name, pl.col(total), squares, fewest=20)


def mean_of(losses: Influence, fewest: int, fewest_of_pairs: int) -> Influence:
    """The mean of a loss of probabilities, which does not depend on the smaller class alone."""
    assert losses.loss is not None
    return replace(losses, fewest=(fewest, fewest), loss=replace(losses.loss, fewest=fewest_of_pairs))


SMOOTH = Smooth()
OUTCOMES = Influence(counted("tp", "fp", "fn", "tn"), added=0.5)
PREDICTIONS = Influence(counted("predicted_positives", "predicted_negatives"), added=0.5)
LABELS = PairsOfLabels(counted("count"), fewest=(25, 50))

AUC = OfAUC()
SCORES = Influence(counted("neg", "pos"), fewest=(20, 40), sliced=True)
AREA = replace(SCORES, share="max_fpr")
STEPS = replace(SCORES, fewest=(100, 100))
LEVEL = replace(SCORES, fewest=(50, 50), share="fpr")
RANKS = Influence(counted("count"), ("rank",), sliced=True)
BINS = Influence(counted("count"), ("weighted", "value_low", "value_high", "error_low", "error_high"), sliced=True)

LOG_LOSS, BRIER = losses("log_loss"), losses("brier")
LOG_LOSS_OF_CLASSES, BRIER_OF_CLASSES = (losses(name, "class_weight") for name in ("log_loss", "brier"))
CALIBRATION = Influence(
    (
        *((("weight", c), c) for c in ("weight", "pos", "score_sum")),
        *((("pos", "pos"), "pos"), (("pos", "score_sum"), "pos_score_sum")),
        (("score_sum", "score_sum"), "score_square_sum"),
    ),
    fewest=(0, 0),
    tail=powers_of_bins,
)
_SQUARES = sums(square_error_sum="error_fourth_sum")
SQUARE_ERROR = with_loss(_SQUARES, "square", pl.col("square_error_sum"), "error_fourth_sum")
MOMENTS = Influence(tuple(PRODUCTS.items()), prepared=with_products, tail=powers_of_moments)

A_COUNT, A_SUM = Total("a count", is_count=True), Total("a sum")
AT_MAXIMUM = "at its maximum if classes are equally large"
MAXIMUM = Without("a maximum over thresholds is biased upward")
SPREAD = Without("requires density estimates at quantiles")
SEPARATE = Without("labels are counted separately", of_units=False)
NO_SQUARES = Without("the state does not hold the squares of its terms", of_units=False)
