"""Histograms of one column: errors, scores, true values, or predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from streammetrics.core import Floats, Lattice
from streammetrics.data import Kind, Rows
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import methods
from streammetrics.statistics.binned import Binned, Bins, Read
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.statistic import Names, View, exact, with_weighted

Of = Literal["y_score", "y_pred", "y_true"]


class ColumnHistogram(Binned):
    """Histogram of one column, whose name `READ` has."""

    counts: ClassVar[Names] = ("count",)
    checks: ClassVar[Checks] = Checks(rows=counts)
    squared: ClassVar[Names] = counts

    @property
    @abstractmethod
    def _column(self) -> str: ...

    def counter(self, weighted: bool) -> Bins:
        """Counts by bin."""
        return Bins(READ[self._column], self.lattice, self.capacity, 1, weighted)

    def views(self) -> tuple[View, ...]:
        """Views of the bins with the values at their ends."""
        what = "error" if self._column == "error" else "value"
        low, high = f"{what}_low", f"{what}_high"

        def with_edges(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
            ends = self.edges(table).rename({"low": low, "high": high})
            return exact(with_weighted(ends.drop("shift", "bin"), "count"))

        return (View(frozenset({low, high, "count", "weighted"}), (), True, with_edges, influences=(methods.BINS,)),)

    def distributions(self, table: pl.DataFrame) -> dict[str, tuple[Lattice, pl.DataFrame]]:
        """The distribution of the column."""
        return {self._column: (self.lattice, table)}


@dataclass(frozen=True)
class Histogram(ColumnHistogram):
    """Histogram of one column: scores (also without labels), predictions, or true values.

    Keys: ``shift``, ``bin``. Value: ``count``. Metrics use ``value_low``, ``value_high``, ``count``, and ``weighted``.

    Args:
        capacity: Maximum number of bins per group, at most 1,073,741,824. Atoms can add a few more, one for each power
            of two of distance.
        domain: ``"real"``, or ``"probability"`` for values in [0, 1], as fine near 1 as near 0.
        atoms: Values shared by many rows (point masses), such as a fallback score. Each has its own bin.
        of: Role of the column: ``"y_score"``, ``"y_pred"`` or ``"y_true"``.

    Raises:
        SpecificationError: If the capacity is too small, the domain or the role is unknown, or an atom is outside the
            domain.

    >>> Histogram(capacity=1024)
    Histogram(capacity=1024, domain='real', atoms=(), of='y_score')
    """

    of: Of = "y_score"

    name = "histogram"

    def __post_init__(self) -> None:
        require_role(self.of, get_args(Of))
        self._set(roles=(self.of,))
        super().__post_init__()

    @property
    def per_label(self) -> bool:
        """Whether each label has its own table."""
        return True

    @property
    def _column(self) -> str:
        return self.of


class ErrorHistogram(ColumnHistogram):
    """Histogram of errors: prediction minus true value.

    Keys: ``shift``, ``bin``. Value: ``count``. Metrics use ``error_low``, ``error_high``, ``count``, and ``weighted``.

    Args:
        capacity: Maximum number of bins per group, at most 1,073,741,824. Atoms can add a few more, one for each power
            of two of distance.
        domain: Always ``"real"``.
        atoms: Errors shared by many rows (point masses). Each has its own bin, and so has 0.

    Raises:
        SpecificationError: If the capacity is too small, or the domain is unknown.

    >>> ErrorHistogram(capacity=4096)
    ErrorHistogram(capacity=4096, domain='real', atoms=())
    """

    name = "error_histogram"
    kind: ClassVar[Kind | None] = "regression"
    roles: ClassVar[Names] = ("y_true", "y_pred")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain != "real":
            raise SpecificationError("Errors always have the real domain. Remove ", Argument("domain"), ".")

    @property
    def _column(self) -> str:
        return "error"


def require_role(role: Any, roles: Sequence[str]) -> None:
    """Reject an option ``of`` that is none of some roles."""
    if role not in roles:
        raise SpecificationError(Argument("of"), f" must be one of {', '.join(roles)}, got {role!r}.")


def _errors(rows: Rows) -> tuple[Floats, None]:
    with np.errstate(over="ignore"):
        return rows.predicted[0] - rows.truth[0], None


READ: dict[str, Read] = {
    "error": _errors,
    "y_score": lambda rows: (rows.score[0], None),
    "y_pred": lambda rows: (rows.predicted[0].astype(np.float64, copy=False), None),
    "y_true": lambda rows: (rows.truth[0].astype(np.float64, copy=False), None),
}
