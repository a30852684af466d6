"""The check of a comparison: requirements with margins, for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import (
    NO_LIMITS,
    ROWS,
    VERDICT,
    as_float,
    because,
    false_discovery_rate,
    few_effective,
    hidden,
    keys_of,
    matching,
)
from streammetrics.errors import Argument, SpecificationError, escaped
from streammetrics.metrics import EVERYWHERE, Margin, Margins, Metric, margins, rows_to_decide
from streammetrics.reading import changes_of, few_rows_reason, has_common_folds, single_threshold, with_row_count
from streammetrics.report.verdicts import (
    NO_INTERVAL,
    PASSING,
    Verdicts,
    judged,
    levels,
    nonempty,
    verdict_rows,
)
from streammetrics.show import reason_without_interval, without_change

if TYPE_CHECKING:
    from streammetrics.report.comparison import Comparison

OTHER_ROWS = hidden("rows of a")
MOST = 0.49  # largest error of a limit


def check_margins(
    comparison: Comparison,
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
    required = [*margins(not_worse, improves=False), *margins(better, improves=True)]
    if not required:
        example = Argument("not_worse", {"roc_auc": 0.002})
        raise SpecificationError("Pass ", Argument("not_worse"), " or ", Argument("better"), ", such as ", example, ".")
    metrics = list(dict.fromkeys(margin.metric for margin in required))
    at_level = narrowed(comparison, metrics, level, keys.get("threshold"))
    changes = pl.DataFrame() if all(margin.relative for margin in required) else changes_of(at_level)
    passes = pl.col(VERDICT).is_in(PASSING[open])
    parts, reasons = [], dict[str, list[str]]()
    for margin in required:
        gate = _Gate(at_level, changes, margin, least, keys)
        judgements = gate.verdicts if rate is None or level is None else gate.discovered(rate)
        verdicts = verdict_rows(judgements, margin, comparison.b.by, passes, confidence)
        parts.append(verdicts)
        if verdicts["reasons"].list.contains("no_interval").any():
            reason = reason_without_interval(gate.metric, at_level)
            reasons.setdefault(reason, []).append(margin.metric)
    frame = pl.concat(parts)
    values = "Values are {1} - {0}.".format(*map(escaped, comparison.names))
    without = [f"No interval of {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    first = without if at_level.note is None else [at_level.note]
    notes = filter(None, [*first, values, _chance(frame, confidence, open)])
    return Verdicts(frame, tuple(comparison.b.by), "\n".join(notes))


def narrowed(
    comparison: Comparison, metrics: Sequence[str | Metric], confidence: float | None, threshold: Any
) -> Comparison:
    """Return the comparison of some metrics, at a threshold that the evaluations need not have counted, if any."""
    a, b = comparison.a, comparison.b
    if isinstance(threshold, Real) and not isnan(as_float(threshold)):
        a, b = single_threshold(a, float(threshold)), single_threshold(b, float(threshold))
    return replace(comparison, a=a.showing(metrics), b=b.showing(metrics), confidence=confidence)


@dataclass(frozen=True)
class _Gate:
    """A requirement of a comparison that shows its metric, and the ``changes`` of the comparison, if not relative."""

    comparison: Comparison
    changes: pl.DataFrame
    margin: Margin
    min_rows: int
    keys: Mapping[str, Any]

    @cached_property
    def metric(self) -> Metric:
        """The metric, as the comparison shows it."""
        metrics = self.comparison.b.metrics
        return metrics[metrics.index(self.comparison.b.find(self.margin.metric))]

    @property
    def verdicts(self) -> pl.DataFrame:
        """The change in each group with its verdict, which is open without an interval."""
        comparison, limit = self.comparison, self.margin.limit(self.metric)
        by_units, sampled = has_common_folds(comparison.a, comparison.b), comparison.confidence is not None
        change = self._change(limit.limit)
        for report, name in ((comparison.a, OTHER_ROWS), (comparison.b, ROWS)):
            change = with_row_count(change, report.state, name)
        change = change.with_columns(pl.min_horizontal(ROWS, OTHER_ROWS).fill_null(0).alias(ROWS))
        change = nonempty(matching(change, keys_of(change), self.keys))
        without = NO_INTERVAL & pl.lit(sampled)
        verdicts = judged(
            change,
            limit,
            self.min_rows,
            sampled=False,
            units=by_units,
            undecided={
                "no_interval": without,
                few_rows_reason(comparison): few_effective(units=by_units) & ~NO_INTERVAL,
            },
            needed=rows_to_decide(limit.limit, EVERYWHERE, units=by_units),
        )
        untested = pl.when(pl.col(VERDICT) == "open", without)
        reason = pl.lit(reason_without_interval(self.metric, comparison))
        return verdicts.with_columns(note=pl.coalesce(without_change(comparison.names), untested.then(reason)))

    def _change(self, limit: float) -> pl.DataFrame:
        """The change of the metric, relative if the margin is."""
        comparison, confidence = self.comparison, self.comparison.confidence
        if self.margin.relative:
            change = changes_of(narrowed(comparison, [self.metric], confidence, None), limit)
        else:
            change = self.changes.filter(metric=self.metric.name)
        return change if confidence is not None else change.with_columns(NO_LIMITS)

    def discovered(self, rate: float) -> pl.DataFrame:
        """The verdicts at a false discovery rate of at most ``rate``: of other groups, breached becomes open.

        This is the procedure of Benjamini & Hochberg (1995) with intervals: the k groups with the strongest evidence of
        n are breached if they are at an error of k/n times the rate.
        """
        verdicts, count = self.verdicts, self.verdicts.height
        alone = verdicts[VERDICT] == "breached"
        breached = alone & self._breached(rate) if alone.any() else alone
        while 0 < (fewer := int(breached.sum())) < count:
            count, breached = fewer, alone & self._breached(rate * fewer / verdicts.height)
        demoted = pl.lit(alone & ~breached)
        return verdicts.with_columns(
            pl.when(demoted).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT),
            *because(false_discovery_rate=demoted),
        )

    def _breached(self, error: float) -> pl.Series:
        comparison = narrowed(self.comparison, [self.metric], 1 - 2 * min(error, MOST), None)
        changes = self.changes if self.margin.relative else changes_of(comparison)
        return replace(self, comparison=comparison, changes=changes).verdicts[VERDICT] == "breached"


def _chance(frame: pl.DataFrame, confidence: float | None, open: str) -> str:
    """How often a gate passes by chance."""
    if confidence is None:
        return "The verdicts apply to the evaluated rows only."
    if open == "pass":
        return "Open verdicts pass, so passing is no evidence that the requirements hold."
    what = "this requirement is" if frame.height == 1 else f"one of these {frame.height:,} requirements is"
    return f"If {what} not met, the gate passes in at most {100 * (1 - confidence):.3g}% of samples."
