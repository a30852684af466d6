"""The check of a comparison: requirements with margins, for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from streammetrics.arguments import false_discovery_rate
from streammetrics.errors import SpecificationError
from streammetrics.frame import ALONE, LIMITS, NO_LIMITS, UNPAIRED, A, B, hidden, keys_of, noted
from streammetrics.keys import matching
from streammetrics.metrics.margin import Margin, Margins, margins
from streammetrics.reading.differences import Differences, with_names
from streammetrics.reading.looks import ROWS, with_count
from streammetrics.report.verdicts import (
    NO_INTERVAL,
    PASSING,
    VERDICT,
    Verdicts,
    at_least_one,
    judged,
    levels,
    verdicts,
)

OTHER_ROWS = hidden("rows of a")
MOST = 0.49  # largest error of a limit
NOT_WITHOUT_UNITS = "too few rows of a class, equal predictions, or a metric that requires unit= in the evaluation"
TOO_FEW_UNITS = "too few units, or rows of a class"


def check_sides(
    sides: Differences,
    not_worse: Margins,
    better: Margins,
    confidence: float | None,
    open: str,
    min_rows: int,
    segments: str | float | None,
    **keys: Any,
) -> Verdicts:
    """Return the verdict on each requirement, with one row per requirement, group, and key. See `Comparison.check`."""
    level, least = levels(confidence, open, min_rows)
    rate = None if segments is None else false_discovery_rate("segments=", segments)
    wanted = [*margins(not_worse, improves=False), *margins(better, improves=True)]
    if not wanted:
        raise SpecificationError("Pass not_worse= or better=, such as not_worse={'roc_auc': 0.002}.")
    at_level, passes = replace(sides, confidence=level), pl.col(VERDICT).is_in(PASSING[open])
    parts, reasons = [], []
    for margin in wanted:
        gate = _Gate(at_level._showing([margin.metric]), margin, least, keys)
        found = gate.judged if rate is None or level is None else gate.discovered(rate)
        parts.append(verdicts(found, margin, sides.b.by, passes))
        if found["note"].str.contains(UNPAIRED, literal=True).any():
            reasons.append(gate.sides.note or f"No interval of {margin.metric}: {gate.without_interval}.")
    frame = pl.concat(parts)
    values = "Values are {1} - {0}.".format(*sides.names)
    notes = [*dict.fromkeys(reasons), values, _chance(frame, confidence, open)]
    return Verdicts(frame, tuple(sides.b.by), " ".join(notes))


@dataclass(frozen=True)
class _Gate:
    """A requirement of a comparison that shows its metric only."""

    sides: Differences
    margin: Margin
    min_rows: int
    keys: Mapping[str, Any]

    @property
    def judged(self) -> pl.DataFrame:
        """The change in each group with its verdict, which is open without an interval."""
        sides, (metric,) = self.sides, self.sides.b.metrics
        limit = self.margin.limit(metric)
        change = self._relative(limit.limit) if self.margin.relative else sides._changes
        sampled = sides.confidence is not None
        change = change if sampled else change.with_columns(NO_LIMITS)
        for report, name in ((sides.a, OTHER_ROWS), (sides.b, ROWS)):
            change = with_count(change, report.state, "rows", name)
        change = change.with_columns(pl.min_horizontal(ROWS, OTHER_ROWS).fill_null(0).alias(ROWS))
        found = with_names(at_least_one(matching(change, keys_of(change), self.keys)), sides.names)
        undecided = NO_INTERVAL & pl.lit(sampled)
        found = judged(found, limit, self.min_rows, sampled=False, undecided=undecided)
        is_open = undecided & (pl.col(VERDICT) == "open")
        why = pl.when(is_open).then(pl.lit(f"{UNPAIRED}: {self.without_interval}"))
        return found.with_columns(note=noted("note", why))

    def _relative(self, limit: float) -> pl.DataFrame:
        """The change relative to the value of a, with limits from those of ``b - (1 + limit) * a``."""
        sides = self.sides
        values = sides._values if sides.confidence is None else sides._with_limits(sides._values, 1 + limit)
        a, known = pl.col("a"), pl.col("a") > 0
        limits = [pl.col(name) / a + limit for name in LIMITS if name in values.columns]
        ends = {"value": ("b", "a"), "lower": (f"{B}lower", f"{A}upper"), "upper": (f"{B}upper", f"{A}lower")}
        ratios = {name: (pl.col(x) / pl.col(y) - 1).fill_nan(None) for name, (x, y) in ends.items()}
        return values.with_columns(
            *(pl.when(known).then(end) for end in limits),
            note=pl.when(a == 0).then(pl.lit(f"undefined: {sides.names[0]} is 0")).otherwise("note"),
            **{name: pl.when(known).then(ratio) for name, ratio in ratios.items()},
        )

    @property
    def without_interval(self) -> str:
        """Why a difference has no interval, and what to do."""
        (metric,) = self.sides.b.metrics
        own = metric.interval
        with_units = self.sides._folds is not None
        return (
            self.sides.note or own.reason or (own.without_folds or TOO_FEW_UNITS if with_units else NOT_WITHOUT_UNITS)
        )

    def discovered(self, rate: float) -> pl.DataFrame:
        """The verdicts at a false discovery rate of at most ``rate``: of other groups, breached becomes open.

        This is the procedure of Benjamini & Hochberg (1995) with intervals: the k groups with the strongest evidence of
        n are breached if they are at an error of k/n times the rate.
        """
        found, count = self.judged, self.judged.height
        alone = found[VERDICT] == "breached"
        breached = alone & self._breached(rate) if alone.any() else alone
        while 0 < (fewer := int(breached.sum())) < count:
            count, breached = fewer, alone & self._breached(rate * fewer / found.height)
        demoted = pl.lit(alone & ~breached)
        note = f"{ALONE}, but not at a false discovery rate of {100 * rate:g}%"
        return found.with_columns(
            pl.when(demoted).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT),
            note=noted("note", pl.when(demoted).then(pl.lit(note))),
        )

    def _breached(self, error: float) -> pl.Series:
        sides = replace(self.sides, confidence=1 - 2 * min(error, MOST))
        return replace(self, sides=sides).judged[VERDICT] == "breached"


def _chance(frame: pl.DataFrame, confidence: float | None, open: str) -> str:
    """How often a gate passes by chance."""
    if confidence is None:
        return "The verdicts apply to the evaluated rows only."
    if open == "pass":
        return "Open verdicts pass, so passing is no evidence that the requirements hold."
    what = "this requirement is" if frame.height == 1 else f"one of these {frame.height:,} requirements is"
    return f"If {what} not met, the gate passes in at most {100 * (1 - confidence):.3g}% of samples."
