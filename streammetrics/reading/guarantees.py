"""Thresholds at which constraints hold for new rows with a confidence level, by learn-then-test.

A constraint on a proportion of rows is tested at one threshold after the other, from the safe end on: each test has an
exact binomial p-value, and the first threshold that fails ends the sequence (fixed-sequence testing; Angelopoulos,
Bates, Candès, Jordan & Lei 2021). The chance that any threshold that passes violates the constraint is at most the
error of one test. Several constraints share the error equally.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import STATUS, UNMET, PointStatus, require_level
from streammetrics.errors import Argument, MetricError, Parts
from streammetrics.metrics import CELLS, Requirement, binomial_tail, cells_of, find_metric
from streammetrics.statistics import GROUP

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

ABOVE, BELOW = {"tp", "fp"}, {"fn", "tn"}  # cells of the rows that reach the threshold, and of the others
ALLOWED = "precision, npv, recall, specificity, fdr, false_omission_rate, fnr, fpr, and predicted_positive_rate"
FARTHER = 4  # rows of a start of a sequence, relative to the one before
STEP = 1.02  # rows of a test, relative to the one before


@dataclass(frozen=True)
class Constraint:
    """A requirement that at least a share ``limit`` of the rows in the cells ``total`` are in the cells ``hits``."""

    text: str
    hits: tuple[str, ...]
    total: tuple[str, ...]
    limit: float
    highest_first: bool  # whether high thresholds are safe

    def passed(self, counts: pl.DataFrame, error: float) -> Flags:
        """Return which thresholds pass, given the confusion counts of a group from the highest threshold down."""
        hits, total = (
            counts.select(pl.sum_horizontal(cells)).to_series().cast(pl.Int64).to_numpy()
            for cells in (self.hits, self.total)
        )
        order = slice(None) if self.highest_first else slice(None, None, -1)
        test = self._grows if {*self.total} in (ABOVE, BELOW) else self._constant
        return test(hits[order], total[order], error)[order]

    def fewest(self, error: float) -> int:
        """Return the smallest number of rows that can pass, if all of them are hits."""
        return math.ceil(math.log(error) / math.log(self.limit))

    def _constant(self, hits: Counts, total: Counts, error: float) -> Flags:
        """The tests of a share of the same rows, of which fewer and fewer are hits."""

        def fails(place: int) -> bool:
            return bool(binomial_tail(hits[place], total[place], self.limit) > error)

        return np.arange(len(hits)) < bisect_left(range(len(hits)), True, key=fails)

    def _grows(self, hits: Counts, total: Counts, error: float) -> Flags:
        """The tests of a share of more and more rows, of which a few may contain too few hits by chance.

        Sequences start at several numbers of rows, which share the error. One that reaches the start of the next adds
        its part to it (the fallback procedure of Wiens 2003).
        """
        rows = int(total[-1])
        starts = self._starts(rows, error)
        sizes = starts[0] * STEP ** np.arange(math.log(max(rows, starts[0]) / starts[0]) / math.log(STEP) + 1)
        places = np.unique(np.searchsorted(total, np.ceil([*sizes, *starts, rows])))
        places = places[places < len(total)]
        begun = np.searchsorted(starts, total[places], side="right")
        parts = np.diff(begun, prepend=0) * (error / len(starts))
        level, passed = 0.0, np.zeros(len(hits), dtype=np.bool_)
        for place, p, part in zip(places, binomial_tail(hits[places], total[places], self.limit), parts, strict=True):
            level += part
            passed[place] = p <= level
            level *= passed[place]
        return passed

    def _starts(self, rows: int, error: float) -> list[int]:
        """The numbers of rows at which sequences start: the fewest that can pass, and others if there is room."""
        count = 1
        while self.fewest(error / (count + 1)) * FARTHER**count <= rows:
            count += 1
        return [self.fewest(error / count) * FARTHER**i for i in range(count)]


def constraint_of(requirement: Requirement) -> Constraint:
    """Return a requirement as a constraint that can be tested.

    >>> constraint_of(Requirement.parse("fpr <= 0.1"))
    Constraint(text='fpr <= 0.1', hits=('tn',), total=('fp', 'tn'), limit=0.9, highest_first=True)
    """
    metric = find_metric(requirement.metric, CELLS)
    hits, total = cells_of(metric) or ([], [])
    if not requirement.wants_high:
        hits = [cell for cell in total if cell not in hits]
    moving = {*total} in (ABOVE, BELOW)
    against = moving and metric.better != ("high" if requirement.wants_high else "low")
    nested = {*total} in ({"tp", "fn"}, {"fp", "tn"}, {*CELLS}) and ({*hits} <= ABOVE or {*hits} <= BELOW)
    if against or not (moving or nested):
        raise MetricError(
            f"'{requirement}' cannot be guaranteed. Constraints with ", Argument("confidence"), f" can be on {ALLOWED}."
        )
    if not 0 < requirement.limit < 1:
        raise MetricError(f"The limit of '{requirement}' must be between 0 and 1, both exclusive, to be guaranteed.")
    limit = requirement.limit if requirement.wants_high else 1 - requirement.limit
    highest_first = {*total} == ABOVE or ({*total} != BELOW and {*hits} <= BELOW)
    return Constraint(str(requirement), tuple(hits), tuple(total), limit, highest_first)


def require_guarantees(
    subject_to: str | Sequence[str] | None, confidence: float, weighted: bool, correlated: bool
) -> None:
    """Reject guarantees without constraints, or of rows whose counts are not binomial."""
    require_level(Argument("confidence"), confidence)
    if not subject_to:
        raise MetricError(
            Argument("confidence"), " requires ", Argument("subject_to"), ", the constraints that hold for new rows."
        )
    if weighted or correlated:
        fault = " requires independent rows, each counted once. These rows are "
        fix: Parts = ("weighted. Evaluate without ", Argument("sample_weight"), ".")
        if correlated:
            what = "weighted" if weighted else "correlated"
            fix = (f"{what}. Evaluate one row of each unit, without ", Argument("unit"), ".")
        raise MetricError(Argument("confidence"), fault, *fix)


def guaranteed(
    points: pl.DataFrame, constraints: Sequence[Constraint], confidence: float
) -> tuple[pl.Series, pl.DataFrame]:
    """Return which thresholds meet all constraints for new rows, and by group why none does: a status, and `UNMET`.

    ``points`` has the confusion counts of each group from the highest threshold down.
    """
    error, chosen, reasons = (1 - confidence) / len(constraints), [], []
    for part in points.partition_by(GROUP, maintain_order=True):
        passed = [constraint.passed(part, error) for constraint in constraints]
        chosen.append(np.logical_and.reduce(passed))
        status, unmet = (None, None) if chosen[-1].any() else _unmet(part, constraints, passed, error)
        reasons.append({GROUP: part[GROUP][0], STATUS: status, UNMET: unmet})
    flags = pl.Series("chosen", np.concatenate(chosen) if chosen else [], pl.Boolean)
    constraint = pl.Struct({"constraint": pl.String, "fewest": pl.Int64, "rows": pl.Int64})
    return flags, pl.DataFrame(reasons, {GROUP: points.schema[GROUP], STATUS: PointStatus, UNMET: constraint})


def _unmet(
    counts: pl.DataFrame, constraints: Sequence[Constraint], passed: Sequence[Flags], error: float
) -> tuple[str, dict[str, Any] | None]:
    """Why no threshold of a group qualifies: too few rows, a constraint that none meets, or only all together."""
    for constraint, flags in zip(constraints, passed, strict=True):
        fewest, rows = constraint.fewest(error), counts.select(pl.sum_horizontal(constraint.total).max()).item()
        unmet = {"constraint": constraint.text, "fewest": fewest, "rows": rows}
        if rows < fewest:
            return "few_rows_of_constraint", unmet
        if not flags.any():
            return "constraint_not_met", unmet
    return "constraints_not_met", None
