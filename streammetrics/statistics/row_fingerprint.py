"""Fingerprint of the evaluated rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.base import few
from streammetrics.core import Runs
from streammetrics.data import Roles, Rows, identities
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.statistic import Names
from streammetrics.statistics.summed import Summed, Sums

ROW_SUMS = slice(2, 4)  # of the counts


@dataclass(frozen=True)
class RowFingerprint(Summed):
    """Sums of a hash of each row, which tell whether two evaluations saw the same rows, in any order.

    Values, each a sum modulo 2**64: ``truth_first`` and ``truth_second``, of row IDs, units, true values, weights, and
    additional inputs; ``row_first`` and ``row_second``, also of predictions and scores, and of dropped rows. Two
    different sets of rows have the same 128 bits with a probability of about 2**-64. The hash is not secret: a
    fingerprint detects mistakes and lost or repeated data, and not an adversary who constructs rows for it. The integer
    1, the float 1.0, and True have the same hash, and so do equal scores of type Float32 and Float64, and IDs that are
    null or NaN.

    Args:
        columns: Names of columns that identify a row, such as a request ID. Without them and without units, the truth
            of a binary task consists of 0 and 1 only, so its fingerprint says no more than the number of positives.

    Raises:
        SpecificationError: If a column is not a name.

    >>> import streammetrics as sm
    >>> acc = sm.Accumulator(sm.statistics.RowFingerprint(), y_true="y").update({"y": [1, 0]})
    >>> again = acc.empty().update({"y": [0]}).update({"y": [1]})
    >>> again.to_bytes() == acc.to_bytes()
    True
    """

    columns: tuple[str, ...] = ()

    name = "row_fingerprint"
    counts: ClassVar[Names] = ("truth_first", "truth_second", "row_first", "row_second")

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not all(isinstance(name, str) for name in self.columns):
            raise SpecificationError(
                Argument("columns"), f" must be a tuple of names of columns, got {self.columns!r}."
            )

    def misfit(self, roles: Roles) -> str:
        """Why it cannot be computed from columns of these roles."""
        missing = [name for name in self.columns if name not in roles.row_id]
        return f"requires the columns {few(missing)}" if missing else super().misfit(roles)

    def counter(self, weighted: bool) -> Sums:
        """Sums of hashes, without weights."""
        return Sums(self, weighted, integers=True)

    def count(self, rows: Rows, out: NDArray[np.int64]) -> None:
        """Sums of the hashes of rows: shape (groups, 4)."""
        weight = [] if rows.weight is None else [rows.weight]
        truth = [*rows.row_id, *_values(rows, rows.truth), *weight, *rows.inputs.values()]
        core.add_fingerprints(truth, [*_values(rows, rows.predicted), *rows.score], rows.runs, out)
        if rows.lost is not None:
            runs, sums = Runs(rows.lost.starts, rows.numbers[rows.lost.local]), np.zeros_like(out)
            core.add_fingerprints([], rows.lost.row_id, runs, sums)
            out[:, ROW_SUMS] += sums[:, ROW_SUMS]

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Any integers are valid."""
        return pl.all_horizontal(pl.col(self.counts).is_not_null())

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table: integers even if rows have weights."""
        return super().schema(weighted=False)


def _values(rows: Rows, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The arrays, with the hashes of labels in place of their numbers, which differ between batches."""
    return [*arrays] if rows.labels is None else [identities(rows.labels)[numbers] for numbers in arrays]
