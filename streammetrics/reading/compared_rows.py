"""The rows of two evaluations: how many each group has, in which folds of units, and whether they are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import A, B, hidden, joined
from streammetrics.data import FEWEST_FOLDS, FOLD, coarser_folds
from streammetrics.reading.differences import showing, values_of
from streammetrics.statistics import (
    GROUP,
    TRUTH,
    RowCounts,
    State,
    fingerprints,
    for_reports,
    identifies_rows,
    roll_up,
    with_keys,
)

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

PAIRED = hidden("paired")


def compared_rows(comparison: Comparison) -> pl.DataFrame:
    """Return the numbers of rows of both sides, by group, and whether they are the ``same`` rows.

    ``same`` is null if it is unknown. If a side also ``dropped`` rows, they can then be different ones.
    """
    by, reports, same_rows = comparison.b.by, (comparison.a, comparison.b), comparison.same_rows
    volume = values_of(showing(comparison, ["rows", "dropped"], None))
    dropped = volume.filter(metric="dropped").select(*by, dropped=pl.max_horizontal("a", "b") > 0)
    rows = joined(volume.filter(metric="rows").select(*by, "a", "b"), dropped, by)
    same: list[pl.Expr] = [pl.when(pl.col("a").ne_missing(pl.col("b"))).then(False)]
    if same_rows is not None:
        paired = same_rows.a.keys.with_columns(same_rows.same.alias(PAIRED))
        rows = joined(rows, paired.cast(rows.select(by).schema), by)
        same += [pl.col(PAIRED), pl.when(~pl.col("dropped")).then(True)]
    if comparison.a.by == by and all(identifies_rows(report.state, report.unit) for report in reports):
        rows = _with_sides(rows, (fingerprints(report.state).select(*by, TRUTH) for report in reports), by)
        same.append(pl.col(f"{A}{TRUTH}") == pl.col(f"{B}{TRUTH}"))
    if (folds := common_folds(*reports)) is not None:
        rows = _with_sides(rows, map(_sizes_of_folds, folds), by)
        same.append(pl.when(pl.col(f"{A}{FOLD}").ne_missing(pl.col(f"{B}{FOLD}"))).then(False))
    return rows.select(*by, "a", "b", "dropped", same=pl.coalesce(same))


def can_differ() -> pl.Expr:
    """Whether the rows of both sides can be different ones, although their numbers are equal."""
    return pl.col("same").is_null() & pl.col("dropped")


def common_folds(a: Report, b: Report) -> tuple[State, State] | None:
    """Return the rows of both sides by the same folds of units, if they have enough."""
    number = number_of_common_folds(a, b)
    if a.folds is None or b.folds is None or number < FEWEST_FOLDS:
        return None
    return _coarser(a.folds, a.number_of_folds // number), _coarser(b.folds, b.number_of_folds // number)


def has_common_folds(a: Report, b: Report) -> bool:
    """Return whether `common_folds` are enough."""
    have_folds = a.folds is not None and b.folds is not None
    return have_folds and number_of_common_folds(a, b) >= FEWEST_FOLDS


def number_of_common_folds(a: Report, b: Report) -> int:
    """Return the number of folds of units that both sides have; 0 without the same units."""
    return gcd(a.number_of_folds, b.number_of_folds) if a.unit == b.unit and a.by == b.by else 0


def _coarser(folds: State, times: int) -> State:
    """The state by fewer folds, of which each has so many."""
    return folds if times == 1 else roll_up(for_reports(with_keys(folds, coarser_folds(times))), folds.by)


def _with_sides(rows: pl.DataFrame, sides: Iterable[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """The rows, with the column of each side that is not a key."""
    for side, frame in zip((A, B), sides, strict=True):
        value = frame.columns[-1]
        rows = joined(rows, frame.cast(rows.select(by).schema).rename({value: f"{side}{value}"}), by)
    return rows


def _sizes_of_folds(folds: State) -> pl.DataFrame:
    """The group columns, and the number of rows of each fold."""
    by = [c for c in folds.by if c != FOLD]
    rows = folds.groups.join(folds.tables[RowCounts.name], on=GROUP).filter(pl.col("rows") > 0).sort(FOLD)
    sizes = pl.struct(pl.col(FOLD).cast(pl.Int64), "rows").alias(FOLD)
    return rows.group_by(by, maintain_order=True).agg(sizes) if by else rows.select(sizes.implode())
