"""The check of rules on the newest windows of a history, and reports of its breaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import polars as pl

from streammetrics.base import LIMITS, NEEDED, ROWS, VALUE, VERDICT, because, dates, hidden, joined, publish
from streammetrics.data import MODEL
from streammetrics.errors import SpecificationError, StateError
from streammetrics.monitor.history.alarms import E_VALUE, SINCE
from streammetrics.monitor.history.history import History
from streammetrics.monitor.history.rules import COVERAGE, Rule, name_of, rules_of, title_of
from streammetrics.monitor.history.store import MetricStore, require_store
from streammetrics.monitor.history.table import deltalake, write
from streammetrics.monitor.history.verdicts import REFERENCE, verdicts_now
from streammetrics.monitor.history.window import after, time_of
from streammetrics.report import OF_RULES, PASSING, SCHEMA, Verdicts, verdict_rows

ALL_ROWS = "all rows"
RANKS = {verdict: i for i, verdict in enumerate(("breached", "undefined", "open", "too few rows", "holds"))}
FOLDER = "_told"
BREACH = ("name", "rule", "where")
WINDOW = "window"  # the newest one at the time of the report
NEWEST = hidden("newest window")
REPORTED = dict.fromkeys((*BREACH, WINDOW), pl.String())


def check(
    store: MetricStore,
    rules: Rule | Sequence[Rule],
    *,
    until: date | str | None = None,
    scores: MetricStore | None = None,
) -> Verdicts:
    """Check rules on the newest windows of a history.

    Args:
        store: The history.
        rules: One rule, or several.
        until: End of the checked windows, exclusive: a date, datetime, or ISO 8601 string. The time zone defaults to
            that of the window column. Defaults to the newest windows.
        scores: History of scores, such as of `predictions`, for rules with ``before_labels``. They check its newest
            windows, and ``store`` provides the windows with labels.

    Returns:
        `Verdicts` with the verdict of every rule in every segment.

    Raises:
        StateError: If the history is empty or unreadable.
        SpecificationError: If ``rules`` is empty, an argument has an invalid type, or a segment is unknown.
        MetricError: If a metric is not available.
        ReportError: If a distribution is not available, or a model is unknown.

    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> days = {"day": [date(2026, 1, 1), date(2026, 1, 1), date(2026, 1, 2)], "p": [0.2, 0.6, 0.7]}
    >>> with TemporaryDirectory() as directory:
    ...     store = sm.MetricStore(directory)
    ...     added = store.append(sm.predictions(y_score="p", by="day").update(days), batch_id="January")
    ...     sm.check(store, [sm.Rule("rows >= 1"), sm.Rule("mean <= 0.1", against="7d")])
    rule                                     value  verdict
    ───────────────────────────────────────  ─────  ──────────────────────────────────────────
    change of mean <= 0.1 against 7d before    0.3  ✗ breached: from 0.4 to 0.7, on these rows
    rows >= 1                                    1  ✓ holds
    Failing: 1 of 2
    In every line: bound exact.
    Windows 2026-01-02.
    """
    rules = rules_of(rules, scores)
    labels = require_store(store)._open()
    if not rules:
        raise SpecificationError("No rules to check. Pass at least one rule.")
    early = None if scores is None else require_store(scores, "scores")
    unlabeled = labels if early is None or not any(rule.before_labels for rule in rules) else early._open()
    rows = [_verdicts(unlabeled if rule.before_labels else labels, rule, until, labels) for rule in rules]
    by = dict.fromkeys([*(column for rule in rules for column in rule.by), MODEL])
    frame = pl.concat(rows)
    return VerdictsOfHistory(frame.drop(NEWEST), tuple(by), newest=frame[NEWEST])


def _verdicts(history: History, rule: Rule, until: date | str | None, labels: History) -> pl.DataFrame:
    """The verdicts on a rule. Its reference, if any, is in the history with labels."""
    starts, times = history.starts, history.times
    if starts.is_empty():
        raise StateError(f"The history at {history.place.uri} has no windows.")
    if rule.alarm and starts.name in rule.by:
        raise SpecificationError(f"Rule field 'by' cannot contain the window {starts.name!r} together with 'alarm'.")
    now = after(starts) if until is None else time_of(until, starts)
    window, verdicts = verdicts_now(history, rule, now, labels)
    if rule.model is not None:  # which the text of the rule names
        verdicts = verdicts.drop(MODEL, strict=False)
    start, end, step = window.starts.item(), window.ends.item(), times.diff().median()
    inside = (times >= start) & (times < end)
    newer = ((times >= end) & (times < now.item())).any()
    earlier = times.filter(times < start)
    between = not inside.any() and len(earlier) > 1 and start - earlier[-1] < times.diff().quantile(0.75, "higher")
    verdicts = verdicts.with_columns(
        because(incomplete_period=pl.lit(newer), no_window=pl.lit(between), before_labels=pl.lit(rule.before_labels))
    )
    columns = {name: pl.lit(getattr(rule, name, None), SCHEMA[name]) for name in OF_RULES}
    checked = [*map(str, dates(starts).filter(inside))]
    if checked:
        period, newest = " to ".join(dict.fromkeys([checked[0], checked[-1]])), checked[-1]
    else:
        first, last = dates(pl.concat([window.starts, window.ends]).cast(starts.dtype))
        period = newest = f"none from {first} until {last}" if first < last else f"none until {last}"
    columns |= {"windows": pl.lit(period)}
    columns |= {"reference": pl.col(REFERENCE), "coverage": pl.col(COVERAGE)}
    if isinstance(step, timedelta):  # of the windows, which are checked as a whole
        needed = (pl.col(NEEDED) * inside.sum() / pl.col(ROWS)).ceil() * (step / timedelta(days=1))
        columns |= {"days_needed": needed}
    if rule.alarm:
        columns |= {"since": pl.col(SINCE), "e_value": pl.col(E_VALUE)}
    passes = pl.lit(rule.severity == "warn") | pl.col(VERDICT).is_in(PASSING[rule.open])
    return verdict_rows(verdicts, rule, rule.by, passes, rule.confidence, **columns).with_columns(
        pl.lit(newest).alias(NEWEST)
    )


def now(verdicts: Verdicts, rules: Sequence[Rule]) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """Yield what each of the checked rules finds, with its segments, the worst first."""
    segment = pl.col("where").replace("", ALL_ROWS).alias("segment")
    for rule in rules:
        names = {"rule": str(rule), "name": rule.name, "severity": rule.severity}
        rows = verdicts.frame.filter(pl.col(column).eq_missing(pl.lit(name)) for column, name in names.items())
        duration = pl.format("since {}", "since").alias("duration")
        rows = rows.select(segment, "verdict", duration, "rows_needed", "coverage", *VALUE, *LIMITS)
        yield title_of(rule), name_of(rule), rule.severity, worst_first(rows, rule)


def worst_first(segments: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Sort segments by their ``verdict``, then by their ``value``, the worst first."""
    value = pl.col("value") * (1 if rule.required.wants_high else -1)
    return segments.sort(rank("verdict"), value, maintain_order=True, nulls_last=True)


def rank(verdict: str) -> pl.Expr:
    """The rank of the verdict in a column, the worst first."""
    return pl.col(verdict).replace_strict(RANKS, default=len(RANKS))


@dataclass(frozen=True, repr=False)
class VerdictsOfHistory(Verdicts):
    """Verdicts with the newest window that each of them is on."""

    newest: pl.Series = field(default_factory=pl.Series)

    def __reduce__(self) -> tuple[Any, ...]:
        return Verdicts, (self.frame, self.by, self.note)  # pickles name public classes


def report_breaches(store: MetricStore, verdicts: Verdicts, report: Callable[[pl.DataFrame], None]) -> None:
    """Report new breaches of a history, and store them. If reporting fails, the next check reports them again.

    They are in a table beside the history, so that each is reported once and not at every check: its rule, its segment,
    and the newest window at the time of the report. An alarm that began after this window is a new one. A rule without
    alarms is reported again if it has held in between. ``report`` is called with the rows of ``verdicts.frame``.
    """
    place = require_store(store)._table.beside(FOLDER)
    newest = verdicts.newest if isinstance(verdicts, VerdictsOfHistory) else None
    frame = verdicts.frame.with_columns(pl.Series(NEWEST, newest, pl.String))

    def reported(table: Any) -> pl.DataFrame:
        """The reported breaches of a version of their table."""
        if table is None:
            return pl.DataFrame(schema=REPORTED)
        with place.reading():
            return place.scan(table).select(REPORTED.keys()).collect()

    before = reported(place.find())
    new = new_breaches(before, frame)
    if new.height:
        report(new.select(verdicts.frame.columns))
    if lasting_breaches(before, frame).equals(before):
        return
    if place.find() is None:
        place.create(before.to_arrow().schema, {})

    def store_breaches(table: Any) -> None:
        mark = deltalake().Transaction(app_id=FOLDER, version=table.version() + 1)  # end of a complete commit
        rows = lasting_breaches(reported(table), frame)
        write(table, rows.to_arrow(), mode="overwrite", transactions=[mark])

    place.commit(store_breaches)


def new_breaches(reported: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return breached verdicts that were not reported, and those of alarms that began after the last report."""
    breached = joined(frame.filter(verdict="breached"), reported, BREACH)
    later = (pl.col("since") > pl.col(WINDOW)).fill_null(False)
    return breached.filter(pl.col(WINDOW).is_null() | later)


def lasting_breaches(reported: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the reported breaches that last, including newly reported ones."""
    new = new_breaches(reported, frame).group_by(BREACH, maintain_order=True).agg(pl.max(NEWEST).alias(WINDOW))
    breached, holding = (frame.filter(verdict=verdict).select(BREACH) for verdict in ("breached", "holds"))
    ended = holding.join(breached, on=BREACH, how="anti", nulls_equal=True)
    lasting = reported.join(pl.concat([ended, new.select(BREACH)]), on=BREACH, how="anti", nulls_equal=True)
    return pl.concat([lasting, new])


publish("streammetrics", check)
