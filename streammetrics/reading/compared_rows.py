"""The rows of two evaluations: how many, whether they are the same, and why differences then have no intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import A, B, hidden, joined, text
from streammetrics.data import FEWEST_FOLDS, FOLD, MODEL, common_types, typed
from streammetrics.reading.differences import showing, values_of
from streammetrics.statistics import (
    GROUP,
    TRUTH,
    PairedOutcomes,
    RowCounts,
    State,
    fingerprints,
    identifies_rows,
)

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

PAIRED = hidden("paired")
NOTHING_IN_COMMON = "The two evaluations have no group in common. Roll both up to columns with common values."
FILTER_NULLS = (
    "To compare both models on the same rows, with paired confidence intervals, filter out null scores. "
    'On the command line, evaluate with a condition such as --where "score_a IS NOT NULL AND score_b IS NOT NULL".'
)
PASS_INDEPENDENT = "If their rows are independent, such as rows of different days, compare them as independent."
NOT_PAIRED = (
    "Differences have no confidence intervals. Compare different rows as independent. Evaluate the same rows with both "
    "models in one pass, or with the same unit."
)
OF_THE_SAME_ROWS = (
    "Both evaluations saw the same rows, but differences have no confidence intervals. For intervals, evaluate both "
    "models in one pass, or with the same unit."
)
OTHER_FOLDS = "Both evaluations have too few folds of units in common for confidence intervals. Use the same number."
UNKNOWN_ROWS = (
    "Both sides have equal numbers of rows, but rows were dropped, possibly different ones, so differences have no "
    "confidence intervals. For intervals, filter out nulls, or keep a fingerprint of columns that identify a row."
)
NOT_INDEPENDENT = "Both evaluations saw the same rows, so they are not independent. Compare them as dependent."
WEIGHTED = "Differences of weighted rows have confidence intervals only by unit. Evaluate with a unit."
NOT_COUNTED = (
    "Differences at threshold {0} have no confidence intervals, because the evaluation did not include it. For "
    "intervals, evaluate with threshold {0}."
)


def warning(comparison: Comparison) -> str | None:
    """Return why two evaluations cannot be compared, or not with confidence intervals. See `Comparison.note`."""
    if _have_no_common_group(comparison):
        return NOTHING_IN_COMMON
    rows, by = compared_rows(comparison), comparison.b.by
    are_same = bool(rows["same"].all(ignore_nulls=False))
    if comparison.independent:
        return NOT_INDEPENDENT if are_same else None
    differing = rows.filter(~pl.col("same"))
    if differing.is_empty():
        return _advice(comparison, rows, are_same)
    groups = f" in {differing.height:,} of {rows.height:,} {'models' if by == [MODEL] else 'groups'}"
    advice = PASS_INDEPENDENT if comparison.same_rows is None else FILTER_NULLS
    if differing["a"].equals(differing["b"]):
        where = groups if by else ""
        return f"The two evaluations have equal numbers of rows, but not the same rows{where}. {advice}"
    numbers = groups if by else f": {differing['a'][0] or 0:,.0f} and {differing['b'][0] or 0:,.0f}"
    return f"The two evaluations have different numbers of rows{numbers}. {advice}"


def compared_rows(comparison: Comparison) -> pl.DataFrame:
    """Return the numbers of rows of both sides, by group, and whether they are the ``same`` rows.

    ``same`` is null if it is unknown. If a side also dropped rows, so that they can be different, it ``is_unknown``.
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
    is_unknown = pl.coalesce(same).is_null() & pl.col("dropped")
    return rows.select(*by, "a", "b", same=pl.coalesce(same), is_unknown=is_unknown)


def common_folds(a: Report, b: Report) -> tuple[State, State] | None:
    """Return the rows of both sides by the same folds of units, if they have enough."""
    if a.folds is None or b.folds is None or not has_common_folds(a, b):
        return None
    number = number_of_common_folds(a, b)
    return _coarser(a.folds, a.number_of_folds // number), _coarser(b.folds, b.number_of_folds // number)


def has_common_folds(a: Report, b: Report) -> bool:
    """Return whether both sides have enough folds of the same units."""
    return a.folds is not None and b.folds is not None and number_of_common_folds(a, b) >= FEWEST_FOLDS


def number_of_common_folds(a: Report, b: Report) -> int:
    """Return the number of folds of units that both sides have; 0 without the same units."""
    return gcd(a.number_of_folds, b.number_of_folds) if a.unit == b.unit and a.by == b.by else 0


def _have_no_common_group(comparison: Comparison) -> bool:
    """Whether both sides have groups, but no group in common."""
    by = comparison.a.by
    one, other = (report.state.keys.select(by) for report in (comparison.a, comparison.b))
    if not by or one.is_empty() or other.is_empty():
        return False
    types = common_types([one, other])
    return typed(one, types).join(typed(other, types), on=by, how="semi", nulls_equal=True).is_empty()


def _advice(comparison: Comparison, rows: pl.DataFrame, are_same: bool) -> str | None:
    """The advice if two evaluations with equal numbers of rows cannot have intervals."""
    a, b, same_rows = comparison.a, comparison.b, comparison.same_rows
    if comparison.confidence is None:
        return None
    if has_common_folds(a, b):
        return UNKNOWN_ROWS if rows["is_unknown"].any() else None
    if same_rows is None:
        by_units = 0 < number_of_common_folds(a, b) < FEWEST_FOLDS
        return OTHER_FOLDS if by_units else OF_THE_SAME_ROWS if are_same else NOT_PAIRED
    if b.state.weighted:
        return WEIGHTED
    counted = {t for s in same_rows.pairs.statistics if isinstance(s, PairedOutcomes) for t in s.thresholds}
    if not counted or "threshold" not in b.frame.columns:
        return None
    others = set(b.frame["threshold"].drop_nulls()) - counted  # single histograms have no joint outcomes
    return NOT_COUNTED.format(text.few(sorted(others))) if others else None


def _coarser(folds: State, times: int) -> State:
    """The state by fewer folds, of which each has so many."""
    return folds if times == 1 else folds.with_keys({FOLD: pl.col(FOLD) // times}).for_reports().roll_up(folds.by)


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
