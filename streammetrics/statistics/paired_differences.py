"""Differences between the losses of two models on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Kind, Rows
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.class_loss import ClassLoss
from streammetrics.statistics.counter import PAIR
from streammetrics.statistics.error_moments import ErrorMoments
from streammetrics.statistics.paired import PairedSums
from streammetrics.statistics.probability_loss import ProbabilityLoss
from streammetrics.statistics.statistic import Names, Statistic, Types
from streammetrics.statistics.summed import Summed

POWER_NAMES = ("square", "cube", "fourth")  # of differences
CUBE = "_cube_sum"
PARTS = {"log_loss": 16}  # into which a difference is divided before the cube and the fourth power
UNIT = 1e-18  # of decimals


class PairedDifferences(PairedSums):
    """Sums of powers of differences between losses of pairs of models, in the cells of the losses of one model.

    A subclass names the statistic of one model, and its losses.
    """

    single: ClassVar[type[Statistic]]
    kind: ClassVar[Kind | None]
    roles: ClassVar[Names]
    probabilities: ClassVar[bool]
    keys: ClassVar[Types]
    counts: ClassVar[Names] = ("weight",)
    sums: ClassVar[Names]
    decimals: ClassVar[Names]
    checks: ClassVar[Checks]

    def __init_subclass__(cls, of: type[Statistic], losses: Sequence[str], **keywords: Any) -> None:
        cls.single, cls.kind, cls.roles, cls.probabilities = of, of.kind, of.roles, of.probabilities
        cls.keys = {PAIR: pl.UInt32(), **of.keys}
        bounded = not of.checks.unbounded
        cls.sums = tuple(f"{loss}_difference_{power}_sum" for loss in losses for power in POWER_NAMES)
        cls.decimals = cls.sums if bounded else ()
        cls.checks = Checks(
            cls.counts,
            per=(PAIR,),
            some=True,
            most={f"{loss}_difference_square_sum": of.checks.most[f"{loss}_square_sum"] for loss in losses if bounded},
            unbounded=() if bounded else cls.sums,
        )
        super().__init_subclass__(**keywords)

    def axes(self, labels: int) -> tuple[int, ...]:
        """Those of the losses of one model."""
        one = self.single()
        return one.axes(labels) if isinstance(one, Summed) else ()

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped: cubes change their sign."""
        return table.with_columns(-pl.col(c) for c in self.sums if c.endswith(CUBE))

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid. Sums without a limit can be NaN."""
        even = [pl.col(c) for c in self.sums if not c.endswith(CUBE)]
        return super().valid(labels) & pl.all_horizontal((c >= 0) | c.is_nan() for c in even)


def powers_of(statistic: type[Statistic], loss: str) -> list[pl.Expr]:
    """The ``squares``, ``cubes``, and ``fourths`` of the differences of a loss, at least what rounding hides."""
    square, cube, fourth = (pl.col(f"{loss}_difference_{power}_sum").cast(pl.Float64) for power in POWER_NAMES)
    parts, hidden = PARTS.get(loss, 1), UNIT / 2 * pl.col(statistic.counts[0]) if statistic.decimals else 0.0
    powers = {"squares": square, "cubes": cube * parts**3, "fourths": (fourth + hidden) * parts**4}
    return [power.alias(name) for name, power in powers.items()]


class PairedLosses(PairedDifferences, of=ProbabilityLoss, losses=("log_loss", "brier")):
    """Sums of powers of differences between the probability losses of pairs of models on the same rows.

    Keys: ``pair`` (number of the pair), ``actual`` (0 or 1). Values: ``weight`` (the number of rows, or the sum of
    their weights), and for each loss, such as ``log_loss``, ``log_loss_difference_square_sum``,
    ``log_loss_difference_cube_sum``, and ``log_loss_difference_fourth_sum``. The cube and the fourth power are those of
    a sixteenth of the difference of log losses. Losses are those of `ProbabilityLoss`, which has their sums. Rows
    without a prediction of both models are skipped. Counts and sums merge bit for bit, weighted ones within 1e-12.

    `Report.compare` computes confidence intervals for differences of log loss, Brier score, and their skill scores from
    it. `binary` includes it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedLosses([("new", "old")])
    PairedLosses(pairs=(('new', 'old'),))
    """

    name = "paired_losses"

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, 2, width)."""
        one, other = rows.score
        core.sum_loss_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)


class PairedClassLosses(PairedLosses, of=ClassLoss, losses=("log_loss", "brier")):
    """`PairedLosses` for multiclass probabilities, with the losses of `ClassLoss`.

    Keys: ``pair`` (number of the pair), ``actual`` (number of the true label). Values are those of `PairedLosses`.
    `multiclass` includes it for several models with probabilities, without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedClassLosses([("new", "old")])
    PairedClassLosses(pairs=(('new', 'old'),))
    """

    name = "paired_class_losses"

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, classes, width)."""
        classes = len(rows.score) // 2
        one, other = rows.score[:classes], rows.score[classes:]
        core.sum_class_loss_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)


class PairedErrors(PairedDifferences, of=ErrorMoments, losses=("error", "absolute", "square", "percentage")):
    """Sums of powers of differences between the regression losses of pairs of models on the same rows.

    Keys: ``pair`` (number of the pair). Values: ``weight`` (the number of rows, or the sum of their weights), and for
    four losses the sums of the square, the cube, and the fourth power of the difference, such as
    ``error_difference_square_sum``, ``error_difference_cube_sum``, and ``error_difference_fourth_sum``. With e = p - y,
    the losses are ``error``: e, ``absolute``: ``|e|``, ``square``: ``e**2``, and ``percentage``: ``|e / y|``.
    `ErrorMoments` has the sums of the losses. Rows without a prediction of both models are skipped. Counts merge bit
    for bit, sums within 1e-12. Infinite and too large values follow floating-point arithmetic.

    `Report.compare` computes confidence intervals for differences of MAE, MSE, RMSE, bias, and MAPE from it.
    `regression` includes it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedErrors([("new", "old")])
    PairedErrors(pairs=(('new', 'old'),))
    """

    name = "paired_errors"

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over rows: shape (groups, 13)."""
        one, other = rows.predicted
        core.sum_error_differences(rows.truth[0], one, other, rows.float_weight, rows.runs, out)
