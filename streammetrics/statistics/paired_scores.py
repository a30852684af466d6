"""Two-dimensional histogram of the scores of two models on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import SIDE, Domain, Floats, Lattice, sides
from streammetrics.data import Kind, Rows
from streammetrics.statistics.binned import Binned, Bins, fit_by, valid_bins
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP, PAIR, KeyedCounter
from streammetrics.statistics.paired import Paired
from streammetrics.statistics.score_histogram import ScoreHistogram
from streammetrics.statistics.statistic import Names, Types

PAIRS = Lattice("real")  # of the keys of pairs
CAPACITY_OF_A_PAIR = 4_096


@dataclass(frozen=True)
class PairedScores(Paired):
    """Two-dimensional histograms of negatives and positives, for the scores of pairs of models on the same rows.

    The bits of both scores, rounded to six digits, are interleaved to one key. A bin of keys is therefore a rectangle,
    as wide in one score as in the other, or twice as wide in the second. Every pair of values has its own cell until
    there are more than ``capacity`` pairs; then bins are as in `ScoreHistogram`. The table does not depend on how the
    rows are split. Unweighted counts merge bit for bit.

    Keys: ``pair`` (number of the pair), ``shift``, ``bin``. Values: ``neg``, ``pos``. Rows without a score of both
    models are skipped.

    `Report.compare` computes confidence intervals for differences of ROC AUC, average precision, and other ranking
    metrics from it. `binary` includes it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.
        capacity: Maximum number of cells for each group and pair.
        domain: ``"probability"`` for scores in [0, 1], as fine near 1 as near 0; ``"real"`` for any other score.

    Raises:
        SpecificationError: If the capacity is too small, the domain is unknown, or a pair does not have two different
            models.

    >>> PairedScores([("new", "old")])
    PairedScores(pairs=(('new', 'old'),), capacity=4096, domain='probability')
    """

    capacity: int = CAPACITY_OF_A_PAIR
    domain: Domain = "probability"

    name = "paired_scores"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[Names] = ("y_true", "y_score")
    keys: ClassVar[Types] = {PAIR: pl.UInt32(), **Binned.keys}
    counts: ClassVar[Names] = ("neg", "pos")
    checks: ClassVar[Checks] = Checks(rows=counts, per=(PAIR,), some=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        scores = ScoreHistogram(self.capacity, self.domain)
        self._set(capacity=scores.capacity, probabilities=scores.probabilities)

    def counter(self, weighted: bool) -> KeyedCounter:
        """Counts by cell."""
        return self.counter_of_pairs(lambda: Bins(self._read, PAIRS, self.capacity, 2, weighted))

    def _read(self, rows: Rows) -> tuple[Floats, NDArray[np.uint8]]:
        one, other = rows.score
        return keys_of_pairs(one, other, self.domain), rows.truth[0]

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge into one row per cell, at the smallest shift that fits the capacity, in ascending order."""
        return fit_by(table, [GROUP, PAIR], PAIRS, self.capacity)

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid(labels) & valid_bins(_are_pairs)

    def between(self, table: pl.DataFrame, one: str, other: str) -> pl.DataFrame | None:
        """The rows of a table for two models, with ``one`` and ``other``, the order of the cells along each score."""
        corners = sides(table["bin"].to_numpy() << table["shift"].to_numpy().astype(np.int64))
        placed = (pl.Series(name, side, pl.Int64) for name, side in zip(("one", "other"), corners, strict=True))
        return super().between(table.with_columns(placed), one, other)

    def turned(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for two models, with the models swapped."""
        return table.with_columns(one="other", other="one")


def keys_of_pairs(one: Floats, other: Floats, domain: Domain) -> Floats:
    """Return the keys of pairs, rounded to six digits, as values of a histogram."""
    keys = np.empty(len(one), dtype=np.int64)
    core.interleave(one, other, domain == "probability", keys)
    return PAIRS.values(keys)


def _are_pairs(bins: NDArray[Any], shifts: NDArray[Any]) -> Any:
    """Whether each bin contains only keys of pairs."""
    low = bins << np.minimum(shifts, 2 * SIDE).astype(np.int64)
    possible: NDArray[np.bool_] = PAIRS.holds(bins, shifts) & (low >= 0) & (low < 1 << 2 * SIDE)
    return possible
