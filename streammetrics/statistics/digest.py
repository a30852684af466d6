"""The t-digest: quantiles from few centroids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import polars as pl

from streammetrics.arguments import whole
from streammetrics.errors import SpecificationError
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics import tdigest
from streammetrics.statistics.blocks import Blocks, concatenated
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.histogram import READ
from streammetrics.statistics.statistic import Statistic
from streammetrics.statistics.view import View, exact, with_weighted

Of = Literal["error", "y_score", "y_pred", "y_true"]


@dataclass(frozen=True)
class TDigest(Statistic):
    """t-digest of errors, scores, predictions, or true values: quantiles from few centroids, precise in the tails.

    The table takes a few kB, for any number of rows. Values: ``mean``, ``weight`` (the number of rows, or the sum of
    their weights), ``min``, and ``max`` of each centroid. The original t-digest (Dunning & Ertl 2019) has no
    guarantees; here the smallest and the largest value of each centroid certify bounds. Unlike a histogram, the table
    depends on the order of rows and merges.

    Args:
        compression: Maximum number of centroids per group, at most 1,000,000.
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
    checks: ClassVar[Checks] = Checks(rows=counts)
    depends_on_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression", whole("compression=", self.compression, least=1, most=1_000_000))
        if self.of not in get_args(Of):
            raise SpecificationError(f"of= must be one of {', '.join(get_args(Of))}, got {self.of!r}.")

    @property
    def of_label(self) -> bool:
        """Whether each label has its own table."""
        return True

    def task(self) -> Kind | None:
        """Errors require a regression task."""
        return "regression" if self.of == "error" else None

    def needs(self) -> tuple[str, ...]:
        """The roles of the columns that are summarized."""
        return ("y_true", "y_pred") if self.of == "error" else (self.of,)

    def counter(self, weighted: bool) -> Blocks[pl.DataFrame]:
        """Centroids of chunks."""
        return Blocks(self.observe, concatenated, self.merge)

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table."""
        counts = super().schema(weighted)
        return {c: counts.get(c, kind) for c, kind in tdigest.SCHEMA.items()}

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The centroids of a chunk."""
        values, _ = READ[self.of](rows)
        return tdigest.observe(values, rows.codes, len(rows.dropped), rows.weight, self.compression)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge to as many centroids as compression allows."""
        return tdigest.cluster(table, self.compression)

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The centroids, and whether their weights are sums of weights."""
        return exact(with_weighted(table, "weight"))

    def views(self) -> tuple[View, ...]:
        """Views of the centroids of a group."""
        [view] = super().views()
        return (replace(view, columns=view.columns | {"weighted"}, folds=True),)

    def valid(self, labels: Sequence[Any] = ()) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        weight = pl.col("weight")
        ordered = pl.col("mean").is_between("min", "max") & pl.col("max").is_not_nan()
        return (weight > 0) & weight.is_finite() & ordered
