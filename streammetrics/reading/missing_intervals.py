"""Why the differences of two evaluations have no confidence intervals, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import text
from streammetrics.data import FEWEST_FOLDS, MODEL, common_types, typed
from streammetrics.reading.compared_rows import can_differ, compared_rows, has_common_folds, number_of_common_folds
from streammetrics.statistics import PairedOutcomes

if TYPE_CHECKING:
    from streammetrics.report import Comparison

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
        return _of_equal_numbers(comparison, rows, are_same)
    groups = f" in {differing.height:,} of {rows.height:,} {'models' if by == [MODEL] else 'groups'}"
    advice = PASS_INDEPENDENT if comparison.same_rows is None else FILTER_NULLS
    if differing["a"].equals(differing["b"]):
        where = groups if by else ""
        return f"The two evaluations have equal numbers of rows, but not the same rows{where}. {advice}"
    numbers = groups if by else f": {differing['a'][0] or 0:,.0f} and {differing['b'][0] or 0:,.0f}"
    return f"The two evaluations have different numbers of rows{numbers}. {advice}"


def _have_no_common_group(comparison: Comparison) -> bool:
    """Whether both sides have groups, but no group in common."""
    by = comparison.a.by
    one, other = (report.state.keys.select(by) for report in (comparison.a, comparison.b))
    if not by or one.is_empty() or other.is_empty():
        return False
    types = common_types([one, other])
    return typed(one, types).join(typed(other, types), on=by, how="semi", nulls_equal=True).is_empty()


def _of_equal_numbers(comparison: Comparison, rows: pl.DataFrame, are_same: bool) -> str | None:
    """The advice if two evaluations with equal numbers of rows cannot have intervals."""
    a, b, same_rows = comparison.a, comparison.b, comparison.same_rows
    if comparison.confidence is None:
        return None
    if has_common_folds(a, b):
        return None if rows.filter(can_differ()).is_empty() else UNKNOWN_ROWS
    if same_rows is None:
        by_units = 0 < number_of_common_folds(a, b) < FEWEST_FOLDS
        return OTHER_FOLDS if by_units else OF_THE_SAME_ROWS if are_same else NOT_PAIRED
    if b.state.weighted:
        return WEIGHTED
    counted = {t for s in same_rows.pairs.statistics if isinstance(s, PairedOutcomes) for t in s.thresholds}
    if not counted or "threshold" not in comparison.frame.columns:
        return None
    others = set(comparison.frame["threshold"].drop_nulls()) - counted  # single histograms have no joint outcomes
    return NOT_COUNTED.format(text.few(sorted(others))) if others else None
