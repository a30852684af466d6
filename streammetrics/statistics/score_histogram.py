"""Histogram of the scores of positives and negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from streammetrics.base import as_float, percentage, shown
from streammetrics.core import CLIP, Domain, Lattice, shortest_decimal
from streammetrics.data import Kind
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.binned import LABELS, Binned, Bins, bins_of_labels, changes
from streammetrics.statistics.cases import order_cases
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.statistic import Names, View, exact

HEAVY = 1e-3
FINEST = 1e-15  # step of rounded scores, since floats are rounded too


@dataclass(frozen=True)
class ScoreHistogram(Binned):
    """Histogram of the scores of negatives and positives, with bins that adapt to the data.

    Bins are intervals of the ordered floating-point numbers, so their width is relative to the score. Every distinct
    score has its own bin until there are more than ``capacity`` scores. Keys: ``shift``, ``bin``. Values: ``neg``,
    ``pos``. The table does not depend on how the rows are split. Unweighted counts merge bit for bit.

    Args:
        capacity: Maximum number of bins per group, at most 1,073,741,824. Atoms can add a few more, one for each power
            of two of distance.
        domain: ``"probability"`` for scores in [0, 1], as fine near 1 as near 0; ``"real"`` for any other score.
        atoms: Scores shared by many rows (point masses), such as a fallback score. Each has its own bin.
        rounding: Step to which scores were rounded before, such as 1e-4. Bounds of ranking metrics then include every
            order of rows with equal scores. Scores that are not multiples of it raise an error.

    Raises:
        SpecificationError: If the capacity is too small, the domain is unknown, an atom is outside the domain, or the
            rounding is not between 1e-15 and 1e15.

    >>> ScoreHistogram(capacity=1024)
    ScoreHistogram(capacity=1024, domain='probability', atoms=(), rounding=None)
    """

    domain: Domain = "probability"
    rounding: float | None = None

    name = "score_histogram"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[Names] = ("y_true", "y_score")
    counts: ClassVar[Names] = ("neg", "pos")
    checks: ClassVar[Checks] = Checks(rows=counts)
    squared: ClassVar[Names] = counts
    influences: ClassVar[tuple[Influence, ...]] = (methods.SCORES,)
    support: ClassVar[pl.Expr | None] = pl.sum("pos")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding is not None:
            rounding = as_float(self.rounding)
            if not FINEST <= rounding <= 1 / FINEST:
                range_ = f"between {FINEST:g} and {1 / FINEST:g}"
                raise SpecificationError(Argument("rounding"), f" must be {range_}, got {shown(self.rounding)}.")
            self._set(rounding=rounding)

    def counter(self, weighted: bool) -> Bins:
        """Counts by bin."""
        return Bins(lambda rows: (rows.score[0], rows.truth[0]), self.lattice, self.capacity, 2, weighted)

    def views(self) -> tuple[View, ...]:
        """Views of the bins, and of bins of probabilities with the scores at their ends."""
        views = super().views()
        if self.domain != "probability":
            return views
        columns = views[0].columns - {*self.keys} | {"score_low", "score_high", "row_weight"}
        return (*views, View(columns, (), True, self._with_edges, influences=self.influences))

    def _with_edges(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        ends = self.edges(table).rename({"low": "score_low", "high": "score_high"}).drop("shift", "bin")
        rows, squares = pl.sum_horizontal(self.counts), pl.sum_horizontal(self.twins.values())
        weight = squares / rows if self.is_weighted(table) else pl.lit(1.0)
        return exact(ends.with_columns(row_weight=pl.when(rows > 0).then(weight).otherwise(0.0)))

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The table with the rows of coarse bins, or of rounded scores, tied, positives first, and negatives first."""
        if self.rounding is not None:
            table = table.with_columns(pl.max_horizontal("shift", pl.lit(1, pl.UInt8)))
        return order_cases(table, weighted=table.schema["pos"].is_float())

    def wide(self, table: pl.DataFrame) -> pl.DataFrame:
        """A note on the bin that widens the bounds most, if by more than 0.001."""
        hidden = pl.col("pos") / pl.col("pos").sum().over(GROUP) * (pl.col("neg") / pl.col("neg").sum().over(GROUP))
        amount = pl.col("pos") + pl.col("neg")
        heavy = (
            table.with_columns(
                hidden=pl.when(pl.col("shift") > 0).then(hidden), share=amount / amount.sum().over(GROUP)
            )
            .filter(pl.col("hidden") > HEAVY)
            .sort("hidden", descending=True, maintain_order=True)
            .unique(GROUP, keep="first", maintain_order=True)
        )
        words = [
            f"{percentage(share)} of rows score {low:.6g} to {high:.6g}; "
            f"if they share one score, declare the atom {shortest_decimal(low, high)}"
            for share, low, high in self.edges(heavy).select("share", "low", "high").iter_rows()
        ]
        return heavy.select(GROUP, pl.Series("wide", words, dtype=pl.String))

    def distributions(self, table: pl.DataFrame) -> dict[str, tuple[Lattice, pl.DataFrame]]:
        """The distributions of scores and labels."""
        sums = {f"count{w}": pl.col(f"neg{w}") + pl.col(f"pos{w}") for w in ("", "_w2") if f"neg{w}" in table.columns}
        scores = table.select(GROUP, "shift", "bin", **sums)
        labels = bins_of_labels(table, pl.sum("neg"), pl.sum("pos"))
        return {"y_score": (self.lattice, scores), "y_true": (LABELS, labels)}

    def tails_of_losses(self, table: pl.DataFrame) -> pl.DataFrame:
        """How skewed the losses of each class are: ratios of the sums of their powers, from the middle of each bin.

        The columns are ``group``, ``actual``, and for both losses, such as ``log_loss``, ``log_loss_third`` (of the
        third power to the second) and ``log_loss_fourth`` (of the fourth to the third). Only for probabilities.
        """
        bins, starts = self.edges(table), np.flatnonzero(changes(table[GROUP].to_numpy()))
        score = (bins["low"].to_numpy() + bins["high"].to_numpy()) / 2
        parts = []
        for actual, count, of_class in ((0, "neg", 1 - score), (1, "pos", score)):
            losses = {"log_loss": -np.log(of_class.clip(CLIP, 1 - CLIP)), "brier": (1 - of_class) ** 2}
            rows, ratios = table[count].to_numpy(), dict[str, Any]()
            for loss, of_row in losses.items() if len(rows) else ():
                sums = {power: np.add.reduceat(rows * of_row**power, starts) for power in (2, 3, 4)}
                with np.errstate(all="ignore"):
                    ratios |= {f"{loss}_third": sums[3] / sums[2], f"{loss}_fourth": sums[4] / sums[3]}
            groups = table[starts].select(GROUP, actual=pl.lit(actual, pl.Int8))
            parts.append(groups.with_columns(pl.Series(name, ratio, pl.Float64) for name, ratio in ratios.items()))
        return pl.concat(parts)
