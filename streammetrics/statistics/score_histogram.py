"""Positives and negatives along the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from streammetrics.bins import fit
from streammetrics.errors import SpecificationError
from streammetrics.lattice import Domain, Lattice, shortest_decimal
from streammetrics.roles import Kind
from streammetrics.statistics.cases import order_cases
from streammetrics.statistics.statistic import Statistic
from streammetrics.statistics.view import GROUP
from streammetrics.tally import BinCounter

HEAVY = 1e-3
CAPACITY = 16_384
CAPACITY_OF_A_GROUP = 1_024


@dataclass(frozen=True)
class ScoreHistogram(Statistic):
    """Counts of negatives and positives in bins that fit any distribution of scores.

    Bins are intervals of the ordered integers of the floating-point line (see `streammetrics.lattice`), so their width
    is relative to the score; every distinct score has a bin of its own until there are more than ``capacity`` of them.
    Keys: ``shift``, ``bin``. Values: ``neg``, ``pos``. The table is a pure function of the rows, however they were
    split; counts merge bit for bit where rows carry no weights.

    Args:
        capacity: most bins kept for a group. Near an atom more can be needed, one for every power of two of distance.
        domain: ``"probability"`` for scores in [0, 1], as fine near 1 as near 0; ``"real"`` for any other score.
        atoms: scores that many rows share, such as a fallback score; each keeps a bin of its own.

    Raises:
        SpecificationError: for a capacity that is too small, an unknown domain, or an atom outside of the domain.

    >>> ScoreHistogram(capacity=1024)
    ScoreHistogram(capacity=1024, domain='probability', atoms=())
    """

    capacity: int = CAPACITY
    domain: Domain = "probability"
    atoms: tuple[float, ...] = ()

    name: ClassVar[str] = "score_histogram"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {"shift": pl.UInt8(), "bin": pl.Int64()}
    counts: ClassVar[tuple[str, ...]] = ("neg", "pos")
    support: ClassVar[pl.Expr | None] = pl.sum("pos")

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", tuple(sorted({float(a) + 0.0 for a in self.atoms})))
        if self.domain not in ("probability", "real"):
            raise SpecificationError(f"domain must be 'probability' or 'real', not {self.domain!r}.")
        smallest = 8 + 64 * len(self.atoms)
        if self.capacity < smallest:
            raise SpecificationError(
                f"capacity must be at least 8 and 64 more for each atom, {smallest} here, not {self.capacity}."
            )
        for atom in self.atoms:
            if atom != atom or (self.domain == "probability" and not 0 <= atom <= 1):
                raise SpecificationError(f"the atom {atom} is no score of the domain {self.domain!r}.")

    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1]."""
        return self.domain == "probability"

    @property
    def lattice(self) -> Lattice:
        """What the bins mean."""
        return Lattice(self.domain, self.atoms)

    def counter(self, weighted: bool) -> BinCounter:
        """Counts by bin."""
        return BinCounter(self.lattice, self.capacity)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Every bin once, at the smallest shift that fits, by ascending score."""
        return fit(table, self.lattice, self.capacity)

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Rows of a coarse bin tied, its positives on top, its negatives on top."""
        return order_cases(table, weighted=table.schema["pos"].is_float())

    def wide(self, table: pl.DataFrame) -> pl.DataFrame:
        """A word on the bin that widens the bounds most, where it does so by more than one in a thousand."""
        hidden = pl.col("pos") * pl.col("neg") / (pl.col("pos").sum() * pl.col("neg").sum()).over(GROUP)
        amount = pl.col("pos") + pl.col("neg")
        heavy = (
            table.with_columns(
                hidden=pl.when(pl.col("shift") > 0).then(hidden), share=amount / amount.sum().over(GROUP)
            )
            .filter(pl.col("hidden") > HEAVY)
            .sort("hidden", descending=True, maintain_order=True)
            .unique(GROUP, keep="first", maintain_order=True)
        )
        words = [self._word(r["share"], r["low"], r["high"]) for r in self.edges(heavy).iter_rows(named=True)]
        return heavy.select(GROUP, pl.Series("wide", words, dtype=pl.String))

    @staticmethod
    def _word(share: float, low: float, high: float) -> str:
        atom = shortest_decimal(low, high)
        return f"{share:.1%} of rows score {low:.6g} to {high:.6g}; if they share one score, declare atoms=({atom},)"

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        return super().valid() & pl.struct("shift", "bin").map_batches(self._possible, return_dtype=pl.Boolean)

    def _possible(self, cells: pl.Series) -> pl.Series:
        bins, shifts = cells.struct.field("bin").to_numpy(), cells.struct.field("shift").to_numpy()
        return pl.Series(self.lattice.holds(bins, shifts))

    def edges(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with ``low`` and ``high``, the smallest and the largest score that fall in each bin."""
        bins, shifts = table["bin"].to_numpy(), table["shift"].to_numpy().astype(np.int64)
        return table.with_columns(
            low=pl.Series(self.lattice.lowest(bins, shifts)), high=pl.Series(self.lattice.highest(bins, shifts))
        )
