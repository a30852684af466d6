"""Check rules on a history: what came of them, and whether that fails the check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.accumulator import Accumulator
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.frame import keys_of
from streammetrics.history.alarms import ALARM, E_VALUE, SINCE, SOUND, Ask, alarms, blocks
from streammetrics.history.evidence import COLUMNS as EVIDENCE
from streammetrics.history.evidence import estimated
from streammetrics.history.rules import Rule, before, clock
from streammetrics.history.store import MetricStore
from streammetrics.reading.estimates import LIMITS
from streammetrics.reading.looks import ROWS
from streammetrics.times import moment

COLUMNS: dict[str, pl.DataType] = {
    "rule": pl.String(),
    "name": pl.String(),
    "severity": pl.String(),
    "windows": pl.String(),
    "where": pl.String(),
    "rows": pl.Int64(),
    "value": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "ci_lower": pl.Float64(),
    "ci_upper": pl.Float64(),
    "verdict": pl.String(),
    "passes": pl.Boolean(),
    "since": pl.String(),
    "e_value": pl.Float64(),
    "note": pl.String(),
    "description": pl.String(),
}
OPEN = ("open", "too few rows")
VERDICT = "verdict of the rule"  # a name that no group column has


@dataclass(frozen=True)
class Findings:
    """What came of some rules. ``frame`` has a row for each rule, segment, and key such as the threshold.

    Columns: ``rule``, ``name``, ``severity``, ``windows`` (the first and the last), ``where``, ``rows``, ``value``,
    ``lower`` and ``upper`` (certified bounds), ``ci_lower`` and ``ci_upper`` (each end with the confidence of the rule,
    null if there is no interval), ``verdict``, ``passes``, ``since`` and ``e_value`` (of a rule with an alarm),
    ``note`` and ``description``.

    The verdict is ``"holds"`` or ``"breached"`` if the certified bounds and the confidence interval lie on one side of
    the limit, ``"open"`` if they do not, ``"too few rows"`` if a segment has fewer than ``min_rows``, and
    ``"undefined"`` if there is no value. Of more than forty rows, text shows those that do not hold.

    >>> found = Findings(pl.DataFrame({"verdict": ["holds", "breached"], "passes": [True, False]}))
    >>> found.hold, found.frame["verdict"].to_list()
    (False, ['holds', 'breached'])
    """

    frame: pl.DataFrame

    @property
    def hold(self) -> bool:
        """Whether the check passes: no rule of severity ``"page"`` is breached, undefined, or open though it must not.

        What is open, or has too few rows, passes unless the rule says ``open="fail"``.
        """
        return bool(self.frame["passes"].all())

    def __str__(self) -> str:
        return text.findings(self.frame)

    def __repr__(self) -> str:
        return str(self)


def check(
    store: MetricStore,
    rules: Rule | Sequence[Rule],
    *,
    until: date | str | None = None,
    scores: MetricStore | None = None,
) -> Findings:
    """Whether rules hold of the newest windows of a history.

    Args:
        store: the history.
        rules: what must hold: one or several.
        until: look at windows before this time instead of the newest: a date, a datetime or ISO text of one, in the
            time zone of the window unless it has its own.
        scores: The history of scores, such as of `predictions`, whose newest windows rules with ``before_labels``
            look at. ``store`` then holds the windows with labels.

    Raises:
        StateError: where the history is empty or cannot be read.
        SpecificationError: without rules, for what is no store, rule or time, or for a segment that is not kept.
        MetricError: for a metric that is not kept.
        ReportError: for a distribution that is not kept.

    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> days = {"day": [date(2026, 1, 1), date(2026, 1, 1), date(2026, 1, 2)], "p": [0.2, 0.6, 0.7]}
    >>> with TemporaryDirectory() as directory:
    ...     store = sm.MetricStore(directory)
    ...     added = store.append(sm.predictions(y_score="p", by="day").update(days), batch_id="January")
    ...     sm.check(store, [sm.Rule("rows >= 3", over="2d"), sm.Rule("mean <= 0.1", against="7d")])
    rule                                     windows                   value  bound  verdict
    ───────────────────────────────────────  ────────────────────────  ─────  ─────  ────────
    rows >= 3                                2026-01-01 to 2026-01-02      3  exact  holds
    change of mean <= 0.1 against 7d before  2026-01-02                  0.3  exact  breached
    """
    given: Sequence[Any] = rules if isinstance(rules, list | tuple) else [rules]
    if not isinstance(store, MetricStore):
        raise SpecificationError(f"store must be a MetricStore, got {type(store).__name__}.")
    if wrong := [rule for rule in given if not isinstance(rule, Rule)]:
        raise SpecificationError(f"rules must be of type Rule, got {type(wrong[0]).__name__}.")
    if not given:
        raise SpecificationError("there is no rule to check.")
    if scores is None and any(rule.before_labels for rule in given):
        raise SpecificationError(
            "Rules with 'before_labels' need the history of scores. Pass ", Argument("scores"), "."
        )
    labels, sides = _asking(store), {}
    for rule in given:
        if rule.before_labels not in sides:
            own = scores if scores is not None and rule.before_labels else store
            sides[rule.before_labels] = (labels if own is store else _asking(own), *_newest(own, until))
    return Findings(pl.concat([_finding(*sides[rule.before_labels], rule, labels) for rule in given]))


def _newest(store: MetricStore, until: date | str | None) -> tuple[pl.Series, pl.Series]:
    """All windows of a history, and when those end that rules look at."""
    windows = store.windows().to_series(0).drop_nulls().sort()
    if windows.is_empty():
        raise StateError(f"the history at {store.uri} has no windows.")
    if until is None and str(windows[-1])[:10] == str(date.max):
        raise SpecificationError(
            f"No time comes after the newest window, {windows[-1]}. Pass ", Argument("until"), " to leave it out."
        )
    zone = getattr(windows.dtype, "time_zone", None)
    end = clock(windows).tail(1).dt.offset_by("1us") if until is None else time_of(until, zone)
    return windows, end


def _asking(store: MetricStore) -> Ask:
    """Queries of a history, each asked once: rules often ask the same."""

    @cache
    def ask(since: datetime | None, until: datetime, by: tuple[str, ...], every: str | None) -> Accumulator:
        return store.query(since, until, by=by, every=every)

    return ask


def _finding(ask: Ask, windows: pl.Series, end: pl.Series, rule: Rule, labels: Ask) -> pl.DataFrame:
    """What came of a rule: a row for each segment and kept key. Its reference, if any, is among those with labels."""
    times = clock(windows)
    start, raised = beginning(rule, end, times), None
    if rule.alarm:
        if windows.name in rule.by:
            raise SpecificationError(f"Rule field 'by' cannot name the window {windows.name!r} beside 'alarm'.")
        starts, days = blocks(windows, rule.over, end.item())
        if len(starts):
            start = clock(starts.tail(1))
            end = start.dt.offset_by(rule.over)
            raised = alarms(ask, rule, starts, days)
    since, until = start.item(), end.item()
    found = judged(ask, rule, start, end, times[0], labels)
    if raised is not None:
        found = _with_alarms(found, raised)
    elif rule.alarm:  # no window is whole
        found = found.with_columns(pl.col(VERDICT).replace("breached", "open"))
    seen = windows.filter((times >= since) & (times < until))
    passing = ["holds", *OPEN] if rule.open == "pass" else ["holds"]
    given = {name: pl.lit(getattr(rule, name), pl.String) for name in ("name", "severity", "description")}
    columns = {name: pl.col(name) for name in ("value", "lower", "upper", *LIMITS, "note")} | given
    if raised is not None:
        columns |= {"since": pl.when(ALARM).then(SINCE), "e_value": pl.col(E_VALUE)}
    columns |= {
        "rule": pl.lit(str(rule)),
        "windows": pl.lit(" to ".join(dict.fromkeys(str(seen[i]) for i in (0, -1))) if len(seen) else "none"),
        "where": text.where(found.select(keys_of(found)), rule.by),
        "rows": pl.col(ROWS),
        "verdict": pl.col(VERDICT),
        "passes": pl.lit(rule.severity == "warn") | pl.col(VERDICT).is_in(passing),
    }
    return found.select(columns.get(name, pl.lit(None)).alias(name) for name in COLUMNS).cast(pl.Schema(COLUMNS))


def beginning(rule: Rule, end: pl.Series, times: pl.Series) -> pl.Series:
    """When the windows begin that a rule looks at, of some that are there."""
    return times.head(1) if rule.always else before(end, rule.over).clip(times[0])


def judged(ask: Ask, rule: Rule, start: pl.Series, end: pl.Series, first: datetime, labels: Ask) -> pl.DataFrame:
    """The estimates of a rule from one time to another, and in the column `VERDICT` what they say of its limit.

    Args:
        ask: The history that the rule is about.
        rule: The rule; of one with an alarm it is not known yet whether evidence suffices.
        start: When its windows begin.
        end: When they end.
        first: First window of the history.
        labels: The history with labels.
    """
    earliest = None if rule.before_labels else first
    earlier = None if rule.against is None else before(start, rule.against).clip(earliest).item()
    reference = labels(earlier, start.item(), rule.by, None) if earlier or rule.before_labels else None
    return _with_verdicts(rule, estimated(rule, ask(start.item(), end.item(), rule.by, None), reference))


def _with_verdicts(rule: Rule, found: pl.DataFrame) -> pl.DataFrame:
    """The estimates of a rule with what its bounds and its interval say of the limit."""
    if found.is_empty():
        found = found.select("metric", *EVIDENCE).clear(1).with_columns(note=pl.lit("no rows"))
    required = rule.required
    low, high = ("lower", "ci_lower"), ("upper", "ci_upper")
    surely, possibly = (low, high) if required.wants_high else (high, low)
    no_interval = pl.all_horizontal(pl.col(LIMITS).is_null())

    def met(bound: str, end: str, wanted: bool) -> pl.Expr:
        of_bound, of_end = (required.holds(pl.col(name)) == wanted for name in (bound, end))
        found: pl.Expr = of_bound & (no_interval | of_end.fill_null(False))
        return found

    verdict = (
        pl.when(pl.col(ROWS).is_between(1, rule.min_rows, closed="left"))
        .then(pl.lit("too few rows"))
        .when(pl.col("value").is_null())
        .then(pl.lit("undefined"))
        .when(met(*surely, True))
        .then(pl.lit("holds"))
        .when(met(*possibly, False))
        .then(pl.lit("breached"))
        .otherwise(pl.lit("open"))
    )
    bare = pl.when(no_interval & pl.col("value").is_not_null()).then(pl.lit("on these rows"))
    return found.with_columns(verdict.alias(VERDICT), note=_joined(pl.col("note"), bare))


def _with_alarms(found: pl.DataFrame, raised: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of a rule with an alarm: breached are those segments that are in alarm, and no others."""
    keys = [*keys_of(found), "metric"]
    raised = raised.cast(found.select(keys).schema)
    both = found.join(raised, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
    gone, valued = pl.col(VERDICT).is_null(), pl.col("value").is_not_null()
    verdict = (
        pl.when(ALARM)
        .then(pl.lit("breached"))
        .when(valued & ~pl.col(SOUND))
        .then(pl.lit("undefined"))
        .when(pl.col(VERDICT) == "breached")
        .then(pl.lit("open"))
        .otherwise(VERDICT)
    )
    note = (
        pl.when(gone)
        .then(pl.lit("no rows"))
        .when(valued & ~pl.col(SOUND))
        .then(pl.lit("no confidence interval, so no alarm"))
        .otherwise("note")
    )
    return both.filter(pl.col(ALARM) | ~gone).with_columns(verdict.alias(VERDICT), note.alias("note"))


def _joined(*texts: pl.Expr) -> pl.Expr:
    """Some texts, one after the other; null if all are."""
    said = pl.concat_str(texts, separator="; ", ignore_nulls=True)
    return pl.when(pl.any_horizontal(text.is_not_null() for text in texts)).then(said)


def time_of(given: date | str, zone: str | None) -> pl.Series:
    """A time, in the zone of the window unless it has its own."""
    found = moment(given, zone)
    if found is None:
        raise SpecificationError(f"{given!r} is no date or time; write one like '2026-01-31'.")
    if zone is not None:
        return pl.Series([found]).dt.convert_time_zone(zone)
    if found.tzinfo:
        raise SpecificationError(f"{given!r} has a time zone, and the windows have none.")
    return pl.Series([found])
