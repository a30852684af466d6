"""The check of a comparison: requirements with margins, for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from numbers import Real
from typing import Any

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    NO_LIMITS,
    A,
    B,
    as_float,
    because,
    enough_rows,
    false_discovery_rate,
    few_effective,
    hidden,
    keys_of,
    matching,
    noted,
)
from streammetrics.errors import Argument, SpecificationError, escaped
from streammetrics.metrics import EVERYWHERE, Margin, Margins, Metric, margins, rows_to_decide
from streammetrics.reading import ROWS, Differences, at_only, with_names, with_row_count
from streammetrics.report.verdicts import (
    ENOUGH_ROWS,
    NO_INTERVAL,
    PASSING,
    VERDICT,
    Verdicts,
    at_least_one,
    judged,
    levels,
    verdict_rows,
    with_rows_needed,
)

OTHER_ROWS = hidden("rows of a")
MOST = 0.49  # largest error of a limit


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
    rate = None if segments is None else false_discovery_rate(Argument("segments"), segments)
    wanted = [*margins(not_worse, improves=False), *margins(better, improves=True)]
    if not wanted:
        raise SpecificationError(
            "Pass ",
            Argument("not_worse"),
            " or ",
            Argument("better"),
            ", such as ",
            Argument("not_worse", {"roc_auc": 0.002}),
            ".",
        )
    sides = at_threshold(sides, keys.get("threshold"))
    at_level = replace(sides, confidence=level)._showing(list(dict.fromkeys(m.metric for m in wanted)))
    passes = pl.col(VERDICT).is_in(PASSING[open])
    parts, reasons = [], dict[str, list[str]]()
    for margin in wanted:
        gate = _Gate(at_level, margin, least, keys)
        judgements = gate.judged if rate is None or level is None else gate.discovered(rate)
        found = verdict_rows(judgements, margin, sides.b.by, passes)
        parts.append(found)
        if found["reasons"].list.contains("no_interval").any():
            reasons.setdefault(gate.sides._without_interval(gate.metric), []).append(margin.metric)
    frame = pl.concat(parts)
    values = "Values are {1} - {0}.".format(*map(escaped, sides.names))
    without = [why if why.endswith(".") else f"No interval of {', '.join(own)}: {why}." for why, own in reasons.items()]
    notes = dict.fromkeys(filter(None, [at_level.note, *without, values, _chance(frame, confidence, open)]))
    return Verdicts(frame, tuple(sides.b.by), "\n".join(notes))


def at_threshold(sides: Differences, threshold: Any) -> Differences:
    """Return the comparison at one threshold, which the evaluations need not have counted."""
    if not isinstance(threshold, Real) or isnan(as_float(threshold)):
        return sides
    return replace(sides, a=at_only(sides.a, float(threshold)), b=at_only(sides.b, float(threshold)))


@dataclass(frozen=True)
class _Gate:
    """A requirement of a comparison that shows its metric."""

    sides: Differences
    margin: Margin
    min_rows: int
    keys: Mapping[str, Any]

    @cached_property
    def metric(self) -> Metric:
        """The metric, as the comparison shows it."""
        found = self.sides.b.find(self.margin.metric)
        return next(m for m in self.sides.b.metrics if m == found)

    @property
    def judged(self) -> pl.DataFrame:
        """The change in each group with its verdict, which is open without an interval."""
        sides, limit = self.sides, self.margin.limit(self.metric)
        own = self._relative(limit.limit) if self.margin.relative else sides._changes.filter(metric=self.metric.name)
        sampled = sides.confidence is not None
        change = own if sampled else own.with_columns(NO_LIMITS)
        for report, name in ((sides.a, OTHER_ROWS), (sides.b, ROWS)):
            change = with_row_count(change, report.state, name)
        change = change.with_columns(pl.min_horizontal(ROWS, OTHER_ROWS).fill_null(0).alias(ROWS))
        without_rows = pl.col("value").is_null() & pl.col("note").is_null()
        note = pl.when(without_rows).then(pl.lit("undefined: only one side has rows")).otherwise("note")
        change = change.with_columns(note=note)
        found = with_names(at_least_one(matching(change, keys_of(change), self.keys)), sides.names)
        without, units = NO_INTERVAL & pl.lit(sampled), sides._folds is not None
        few, effective = few_effective(units=units) & ~NO_INTERVAL, pl.col(EFFECTIVE_ROWS)
        found = judged(found, limit, self.min_rows, sampled=False, undecided=without | few)
        is_open = pl.col(VERDICT) == "open"
        needed = rows_to_decide(limit.limit, EVERYWHERE, ROWS, effective, units=units)
        found = found.with_columns(
            pl.lit(enough_rows(units)).alias(ENOUGH_ROWS),
            *because(no_interval=is_open & without, **{sides._few: is_open & ~without & few}),
            note=noted("note", pl.when(is_open & without).then(pl.lit(sides._without_interval(self.metric)))),
        )
        return with_rows_needed(found, needed)

    def _relative(self, limit: float) -> pl.DataFrame:
        """The change relative to the value of a, with limits from those of ``b - (1 + limit) * a``."""
        sides = self.sides._showing([self.metric])
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
        return found.with_columns(
            pl.when(demoted).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT),
            *because(false_discovery_rate=demoted),
        )

    def _breached(self, error: float) -> pl.Series:
        sides = replace(self.sides._showing([self.metric]), confidence=1 - 2 * min(error, MOST))
        return replace(self, sides=sides).judged[VERDICT] == "breached"


def _chance(frame: pl.DataFrame, confidence: float | None, open: str) -> str:
    """How often a gate passes by chance."""
    if confidence is None:
        return "The verdicts apply to the evaluated rows only."
    if open == "pass":
        return "Open verdicts pass, so passing is no evidence that the requirements hold."
    what = "this requirement is" if frame.height == 1 else f"one of these {frame.height:,} requirements is"
    return f"If {what} not met, the gate passes in at most {100 * (1 - confidence):.3g}% of samples."
