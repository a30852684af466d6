"""The t-digest: a distribution as a few hundred centroids, most precise in the tails, with certified ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import whole
from streammetrics.core import Floats
from streammetrics.data import Rows
from streammetrics.errors import Argument
from streammetrics.statistics.binned import changes
from streammetrics.statistics.blocks import Blocks, concatenated
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.histogram import READ, require_role
from streammetrics.statistics.statistic import Names, Statistic, View, exact, with_weighted

Of = Literal["error", "y_score", "y_pred", "y_true"]

CENTROID = ("mean", "weight", "min", "max")


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

    name = "tdigest"
    counts: ClassVar[Names] = ("weight",)
    checks: ClassVar[Checks] = Checks(rows=counts)
    depends_on_order = True

    def __post_init__(self) -> None:
        compression = whole(Argument("compression"), self.compression, least=1, most=1_000_000)
        require_role(self.of, get_args(Of))
        of_error = self.of == "error"
        self._set(
            compression=compression,
            kind="regression" if of_error else None,
            roles=("y_true", "y_pred") if of_error else (self.of,),
        )

    @property
    def per_label(self) -> bool:
        """Whether each label has its own table."""
        return True

    def counter(self, weighted: bool) -> Blocks[pl.DataFrame]:
        """Centroids of blocks."""
        return Blocks(self._centroids, concatenated, self.merge)

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table."""
        types = dict.fromkeys(CENTROID, pl.Float64()) | super().schema(weighted)
        return {name: types[name] for name in (GROUP, *CENTROID)}

    def empty_table(self, groups: int, weighted: bool) -> pl.DataFrame:
        """Return the table of groups without rows: no centroids."""
        return pl.DataFrame(schema=self.schema(weighted))

    def _centroids(self, rows: Rows) -> pl.DataFrame:
        """The centroids of a block."""
        values = READ[self.of](rows)[0] + 0.0  # turns -0.0 into 0.0
        weight = np.ones(len(values), dtype=np.int64) if rows.weight is None else rows.weight
        group: NDArray[Any] = np.zeros(len(values), dtype=np.uint32) if rows.codes is None else rows.codes
        if rows.codes is None and rows.weight is None:
            values.sort()
        else:
            order = np.argsort(values)
            order = order[np.argsort(group[order], kind="stable")]
            group, values, weight = group[order], values[order], weight[order]
        return _merged([group, values, weight, values, values], self.compression)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge centroids, up to the maximum number of each group. See `cluster`."""
        return cluster(table, self.compression)

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The centroids, and whether their weights are sums of weights."""
        return exact(with_weighted(table, "weight"))

    def views(self) -> tuple[View, ...]:
        """Views of the centroids of a group."""
        [view] = super().views()
        return (replace(view, columns=view.columns | {"weighted"}, folds=True),)

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        weight = pl.col("weight")
        ordered = pl.col("mean").is_between("min", "max") & pl.col("max").is_not_nan()
        return (weight > 0) & weight.is_finite() & ordered


def cluster(table: pl.DataFrame, compression: int) -> pl.DataFrame:
    """Merge centroids, and rows as centroids of themselves, up to a maximum number per group.

    Equal values are merged. If a group then has more than ``compression`` finite centroids, those whose middle is in
    the same cell are merged. The middle at the share q of the weight is in the cell
    ``floor(compression * (asin(2 * q - 1) / pi + 1 / 2))``, so cells are narrow in the tails, and a merged centroid
    weighs less than two cells. Infinities stay separate. For every x, ``min`` and ``max`` certify

        sum of the weights with max < x   <=  weight of the rows < x
        weight of the rows <= x           <=  sum of the weights with min <= x

    >>> rows = pl.DataFrame({"mean": [3.0, 1.0, 2.0, 1.0]}).with_columns(group=0, weight=1, min="mean", max="mean")
    >>> cluster(rows, compression=100).rows()
    [(0, 1.0, 2, 1.0, 1.0), (0, 2.0, 1, 2.0, 2.0), (0, 3.0, 1, 3.0, 3.0)]
    >>> cluster(rows, compression=2).rows()
    [(0, 1.0, 2, 1.0, 1.0), (0, 2.5, 2, 2.0, 3.0)]
    """
    ordered = table.select(GROUP, *CENTROID).sort(GROUP, "mean", "min", "max", "weight")
    return _merged([column.to_numpy() for column in ordered], compression)


def _merged(columns: Sequence[NDArray[Any]], compression: int) -> pl.DataFrame:
    """Merge centroids that are sorted by group and mean."""
    group, mean, weight, low, high = columns
    several = low < high
    new = changes(group) | changes(mean) | several
    new[1:] |= several[:-1]
    if not new.all():
        weight = np.add.reduceat(weight, np.flatnonzero(new))
        group, mean, low, high = group[new], mean[new], low[new], high[new]

    starts = np.flatnonzero(changes(group))
    sizes = np.diff(starts, append=len(group))
    infinite = np.flatnonzero(np.isinf(mean))
    ends = np.zeros(len(weight) + 1)
    np.cumsum(_shares(weight, starts, sizes), out=ends[1:])  # in groups
    finite = sizes - np.bincount(np.searchsorted(starts, infinite, "right") - 1, minlength=len(starts))
    full = finite > compression
    first, last = ends[starts[full], None], ends[(starts + sizes)[full], None]
    borders = (first + (last - first) * np.sin(np.arange(1, compression) * (np.pi / 2 / compression)) ** 2).ravel()
    place = np.minimum(np.searchsorted(ends, borders, side="right"), len(mean)) - 1  # contains the border,
    place += ends[place] + ends[place + 1] < 2 * borders  # or the next one, if its own middle is before the border
    new = np.repeat(~full, sizes)
    for border in (starts, place, infinite, infinite + 1):
        new[border[border < len(new)]] = True

    runs = np.flatnonzero(new)
    total, low, high = np.add.reduceat(weight, runs), np.minimum.reduceat(low, runs), np.maximum.reduceat(high, runs)
    share = _shares(weight, runs, np.diff(runs, append=len(weight)))  # since a sum of values could overflow
    mean = np.add.reduceat(mean * share, runs).clip(low, high)
    table = {GROUP: group[runs].astype(np.uint32), "mean": mean, "weight": total, "min": low, "max": high}
    return pl.DataFrame(table)


def _shares(weight: NDArray[Any], starts: NDArray[np.intp], sizes: NDArray[np.intp]) -> Floats:
    """The share of each weight in the sum of its run."""
    weights = weight.astype(np.float64)
    total = np.add.reduceat(weights, starts)
    weights /= np.repeat(total, sizes) if len(total) > 1 else total
    return weights
