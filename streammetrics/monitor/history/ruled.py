"""A rule over the history: its value and verdict in every segment at each window, and what holds now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from streammetrics.base import LIMITS, VALUE, hidden, readable
from streammetrics.monitor.history.rules import Rule
from streammetrics.reading import Now
from streammetrics.report import COVERAGE, NEEDED, VERDICT, Verdicts

SEGMENT, CUT, RUN = hidden("segment"), hidden("cut"), hidden("run")
ALL_ROWS = "All rows"
RANKS = {verdict: i for i, verdict in enumerate(("breached", "undefined", "open", "too few rows", "holds"))}


@dataclass(frozen=True)
class Ruled:
    """A rule in words, and rows with columns `SEGMENT`, `CUT`, the window, its value with bounds, and `VERDICT`."""

    title: str
    rule: Rule
    rows: pl.DataFrame
    windows: pl.Series

    @property
    def name(self) -> str:
        """Its name, or the rule."""
        return self.rule.name or str(self.rule)

    @property
    def breached(self) -> pl.DataFrame:
        """The segments and windows in which it was breached."""
        return self.rows.filter(pl.col(VERDICT) == "breached").select(SEGMENT, CUT, self.windows.name).unique()

    @cached_property
    def newest(self) -> pl.DataFrame:
        """Segments with a verdict at the newest window that the rule checks, the worst first.

        Columns: ``segment``, ``verdict``, ``since``, ``rows_needed``, ``coverage`` (the share of labels that have
        arrived), the value, its bounds, and its interval.
        """
        window = self.windows.name
        worst = self.rows.sort(_rank(VERDICT), maintain_order=True)
        alone = worst.unique([SEGMENT, window], keep="first", maintain_order=True).sort(window, maintain_order=True)
        runs = alone.with_columns(pl.col(VERDICT).rle_id().over(SEGMENT).alias(RUN))
        since = pl.col(window).filter(pl.col(RUN) == pl.col(RUN).last()).first()
        last = runs.group_by(segment=SEGMENT, maintain_order=True).agg(
            pl.last(VERDICT).alias("verdict"),
            pl.last(*VALUE, *LIMITS, window),
            pl.last(NEEDED).alias("rows_needed"),
            pl.last(COVERAGE).alias("coverage"),
            since=since,
        )
        last = last.filter(pl.col(window) == pl.max(window)).drop(window)
        return worst_first(last.with_columns(readable(last["since"])), self.rule)


def now(found: Verdicts, rules: Sequence[Rule]) -> Iterator[Now]:
    """Yield what each of the checked rules finds, with its segments, the worst first."""
    named = ("rule", "name", "severity")
    for rule in rules:
        keys = pl.DataFrame(
            [(str(rule), rule.name, rule.severity)], schema=dict.fromkeys(named, pl.String), orient="row"
        )
        own = found.frame.join(keys, on=named, how="semi", nulls_equal=True)
        segment = pl.col("where").replace("", ALL_ROWS).alias("segment")
        yield (
            title_of(rule),
            rule.severity,
            worst_first(own.select(segment, "verdict", "since", "rows_needed", "coverage", *VALUE, *LIMITS), rule),
        )


def title_of(rule: Rule) -> str:
    """Return a rule in words, after its name if it has one."""
    said = f"{rule.name}: {rule}" if rule.name else str(rule)
    said += "" if rule.always else f", over {rule.over}"
    return said + (", severity warn" if rule.severity == "warn" else "")


def worst_first(segments: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Sort segments by their ``verdict``, then by their ``value``, the worst first."""
    value = pl.col("value") * (1 if rule.required.wants_high else -1)
    return segments.sort(_rank("verdict"), value, maintain_order=True, nulls_last=True)


def _rank(verdict: str) -> pl.Expr:
    return pl.col(verdict).replace_strict(RANKS, default=len(RANKS))
