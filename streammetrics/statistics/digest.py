"""Quantiles from a few centroids: the t-digest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import polars as pl

from streammetrics.counting import Tables, tdigest
from streammetrics.errors import SpecificationError
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.histogram import READ
from streammetrics.statistics.statistic import Statistic, whole
from streammetrics.statistics.view import View, exact, with_weighted

Of = Literal["error", "y_score", "y_pred", "y_true"]


@dataclass(frozen=True)
class TDigest(Statistic):
    """Centroids of the errors, scores, predictions or true values, fine in the tails.

    See `streammetrics.counting.tdigest`.

    A few kB, whatever the number of rows. Values: ``mean``, ``weight`` (the number of rows, or the sum of their
    weights), ``min``, ``max`` of each centroid. The
    published sketch (Dunning & Ertl 2019) promises nothing; here the least and the largest value of each centroid
    certify bounds. Unlike that of a histogram, the table depends on the order in which rows come and parts are merged.

    Args:
        compression: Most centroids of a group.
        of: ``"error"`` (prediction minus true value), ``"y_score"``, ``"y_pred"`` or ``"y_true"``.

    Raises:
        SpecificationError: If the compression is too small, or the role is unknown.

    >>> TDigest(of="y_score")
    TDigest(compression=1000, of='y_score')
    """

    compression: int = 1000
    of: Of = "error"

    name: ClassVar[str] = "tdigest"
    counts: ClassVar[tuple[str, ...]] = ("weight",)
    held: ClassVar[tuple[str, ...]] = counts
    depends_on_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        tdigest.check_compression(self.compression)
        whole("compression=", self.compression, most=1_000_000)
        if self.of not in get_args(Of):
            raise SpecificationError(f"of= must be one of {', '.join(get_args(Of))}, got {self.of!r}.")

    @property
    def of_label(self) -> bool:
        """Each label has a column of its own."""
        return True

    def task(self) -> Kind | None:
        """Errors are those of a regression."""
        return "regression" if self.of == "error" else None

    def needs(self) -> tuple[str, ...]:
        """The columns whose values are summed up."""
        return ("y_true", "y_pred") if self.of == "error" else (self.of,)

    def counter(self, weighted: bool) -> Tables:
        """Centroids of chunks."""
        return Tables(self)

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table."""
        counts = super().schema(weighted)
        return {c: counts.get(c, kind) for c, kind in tdigest.SCHEMA.items()}

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The centroids of a chunk."""
        values, _ = READ[self.of](rows)
        return tdigest.observe(values, rows.codes, len(rows.dropped), rows.weight, self.compression)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """As many centroids as compression allows."""
        return tdigest.cluster(table, self.compression)

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The centroids, and whether their weights are sums of weights."""
        return exact(with_weighted(table, "weight"))

    def views(self) -> tuple[View, ...]:
        """The centroids of a group together."""
        [view] = super().views()
        return (replace(view, columns=view.columns | {"weighted"}, folds=True),)

    def overflown(self) -> pl.Expr:
        """Whether the total weight is not finite; values may be infinite."""
        return ~pl.col("weight").sum().is_finite()

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        weight = pl.col("weight")
        ordered = pl.col("mean").is_between("min", "max") & pl.col("max").is_not_nan()
        return (weight > 0) & weight.is_finite() & ordered
