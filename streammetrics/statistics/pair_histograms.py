"""Histograms for each pair of classes, for the one-vs-one ROC AUC of Hand and Till (2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from streammetrics import core
from streammetrics.core import Codes, Domain
from streammetrics.data import Kind, Rows
from streammetrics.metrics import near_one
from streammetrics.statistics.binned import Binned, empty, fit_by
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP, Counter
from streammetrics.statistics.statistic import Names, Types, View

TIES = {"tied": 0.5, "best": 1.0, "worst": 0.0}  # how much a pair of rows in the same coarse bin counts


@dataclass(frozen=True)
class PairHistograms(Binned):
    """Rows by true class in bins of the score of each class, for one-vs-one metrics.

    Unlike one-vs-rest histograms, these distinguish all classes. The classes share the bins of a score. Keys:
    ``scored`` (number of the label with this score), ``actual`` (number of the true label), ``shift``, ``bin``. Values:
    ``count``. The table does not depend on how the rows are split. Unweighted counts merge bit for bit. Its size grows
    with the square of the number of classes.

    Metrics use, for each ordered pair of labels, ``one_rows`` and ``other_rows``, the number of rows of each label, and
    ``ordered_pairs``, the number of pairs of these rows in which the row of the one label has the higher score for it.
    Ties count half.

    Args:
        capacity: Maximum number of bins per score. Atoms can add a few more, one for each power of two of distance.
        domain: ``"probability"`` for scores in [0, 1], as fine near 1 as near 0; ``"real"`` for any other score.
        atoms: Scores shared by many rows (point masses). Each has its own bin.

    Raises:
        SpecificationError: If the capacity is too small, the domain is unknown, or an atom is outside the domain.

    >>> PairHistograms()
    PairHistograms(capacity=1024, domain='probability', atoms=())
    """

    capacity: int = 1_024  # per score and class
    domain: Domain = "probability"

    name = "pair_histograms"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[Names] = ("y_true", "y_score")
    keys: ClassVar[Types] = {"scored": pl.UInt32(), "actual": pl.UInt32(), **Binned.keys}
    counts: ClassVar[Names] = ("count",)
    checks: ClassVar[Checks] = Checks(rows=counts, per=("scored",))

    def counter(self, weighted: bool) -> ScoreCounters:
        """Counts by bin and class."""
        return ScoreCounters(self, weighted)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge into one row per cell, in order, with the bins of a score at the smallest shift that fits."""
        return fit_by(table, [GROUP, "scored", "actual"], self.lattice, self.capacity, share=True)

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid: label numbers are below the number of labels."""
        return super().valid(labels) & (pl.max_horizontal("scored", "actual") < len(labels))

    def parts(self, labels: Sequence[Any]) -> int:
        """How often each row is counted: once per scored label."""
        return len(labels)

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The pairs of classes with the rows of coarse bins tied, in the best order, and in the worst."""
        cells = _with_own(table)
        hidden = (pl.col("shift") > 0) & (pl.col("own") > 0) & (pl.col("scored") != pl.col("actual"))
        coarse = cells.select(hidden.any()).item()
        return {case: _pairs(cells, tie) for case, tie in TIES.items() if coarse or case == "tied"}

    def views(self) -> tuple[View, ...]:
        """Views of the ordered pairs of labels."""
        return (View(frozenset({"one_rows", "other_rows", "ordered_pairs"}), (), True, self.cases),)


def _with_own(table: pl.DataFrame) -> pl.DataFrame:
    """The cells, with the number of rows of the scored class in the same bin, ``own``, and above it, ``above``."""
    score = [GROUP, "scored"]
    low = table["bin"].to_numpy() << table["shift"].to_numpy().astype(np.int64)
    count = pl.col("count").cast(pl.Float64)
    cells = table.with_columns(*near_one(count.sum().over(GROUP), count), low=pl.Series(low, dtype=pl.Int64))
    of_class = pl.col("count").filter(pl.col("actual") == pl.col("scored"))
    bins = (
        cells.group_by(*score, "low")
        .agg(own=of_class.sum())
        .sort(*score, "low")
        .with_columns(above=pl.col("own").cum_sum(reverse=True).shift(-1, fill_value=0).over(score))
    )
    return cells.join(bins, on=[*score, "low"], how="left", maintain_order="left")


def _pairs(cells: pl.DataFrame, tie: float) -> pl.DataFrame:
    """Rows of each ordered pair of labels, and how many pairs of these rows are in order.

    Two rows in the same bin count half if it is a single score, else ``tie``.
    """
    equal = pl.when(pl.col("shift") > 0).then(tie).otherwise(TIES["tied"])
    sums = cells.group_by(GROUP, "scored", "actual", maintain_order=True).agg(
        rows=pl.sum("count"), ordered_pairs=(pl.col("count") * (pl.col("above") + pl.col("own") * equal)).sum()
    )
    rows_of_class = sums.filter(pl.col("scored") == pl.col("actual")).select(GROUP, "scored", one_rows="rows")
    labels = sums.select(GROUP, "scored").unique(maintain_order=True)
    return (
        labels.join(labels.select(GROUP, actual="scored"), on=GROUP, maintain_order="left_right")
        .filter(pl.col("scored") != pl.col("actual"))
        .join(rows_of_class, on=[GROUP, "scored"], how="left", maintain_order="left")
        .join(sums, on=[GROUP, "scored", "actual"], how="left", maintain_order="left")
        .select(GROUP, "one_rows", "ordered_pairs", other_rows="rows")
        .fill_null(0)
    )


@dataclass
class ScoreCounters(Counter):
    """Rows by bin of the score of each class, and by true class."""

    statistic: PairHistograms
    weighted: bool
    counters: list[core.Bins] = field(default_factory=list)  # one per class

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        self._know(len(rows.score))
        for counter, score in zip(self.counters, rows.score, strict=True):
            counter.add_classes(score, rows.truth[0], rows.weight, rows.runs, groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Count the rows of another."""
        self._know(len(other.counters))
        for one, more in zip(self.counters, other.counters, strict=True):
            one.absorb(more, numbers, groups)

    def table(self) -> pl.DataFrame:
        """The counts as a table."""
        return pl.concat(self._cells(i) for i in range(len(self.counters)))

    def _cells(self, scored: int) -> pl.DataFrame:
        group, shift, bin, amounts = self.counters[scored].cells()
        actual, place = np.nonzero(np.stack(amounts))
        return self.statistic.table(
            self.weighted,
            group=group[place],
            scored=np.full(len(place), scored),
            actual=actual,
            shift=shift[place],
            bin=bin[place],
            count=np.stack(amounts)[actual, place],
        )

    def _know(self, classes: int) -> None:
        if not self.counters:
            of = self.statistic
            self.counters = [empty(of.lattice, of.capacity, classes, self.weighted) for _ in range(classes)]
