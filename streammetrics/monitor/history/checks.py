"""The check of rules on the newest windows of a history, and reports of its breaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl

from streammetrics.base import because, dates, ends, joined, publish
from streammetrics.data import MODEL
from streammetrics.errors import SpecificationError, StateError
from streammetrics.monitor.history.alarms import E_VALUE, SINCE, alarms, with_alarms
from streammetrics.monitor.history.estimates import REFERENCE, beginning, judged, require_scores
from streammetrics.monitor.history.history import History
from streammetrics.monitor.history.rules import Rule, rules_of
from streammetrics.monitor.history.store import MetricStore, require_store
from streammetrics.monitor.history.table import Table, deltalake, write
from streammetrics.monitor.history.window import after, time_of
from streammetrics.reading import ROWS
from streammetrics.report import COVERAGE, NEEDED, OF_RULES, PASSING, SCHEMA, VERDICT, Verdicts, verdict_rows

FOLDER = "_told"
BREACH = ("name", "rule", "where")
WINDOW = "window"
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
    rule                                     windows     value  bound  verdict
    ───────────────────────────────────────  ──────────  ─────  ─────  ────────────────────────────────────────
    rows >= 1                                2026-01-02      1  exact  holds
    change of mean <= 0.1 against 7d before  2026-01-02    0.3  exact  breached: from 0.4 to 0.7, on these rows
    Failing: 1 of 2
    """
    require_store(store)
    others = None if scores is None else require_store(scores, "scores")
    given = rules_of(rules)
    if not given:
        raise SpecificationError("No rules to check. Pass at least one rule.")
    require_scores(given, scores)
    labels = early = store._open()
    if others is not None and any(rule.before_labels for rule in given):
        early = others._open()
    found = []
    for rule in given:
        found.append(_verdicts(early if rule.before_labels else labels, rule, until, labels))
    by = dict.fromkeys([*(column for rule in given for column in rule.by), MODEL])
    return Verdicts(pl.concat(found), tuple(by))


def _verdicts(windows: History, rule: Rule, until: date | str | None, labels: History) -> pl.DataFrame:
    """The verdicts on a rule. Its reference, if any, is in the history with labels."""
    starts, times = windows.starts, windows.times
    if starts.is_empty():
        raise StateError(f"The history at {windows.place.uri} has no windows.")
    if rule.alarm and starts.name in rule.by:
        raise SpecificationError(f"Rule field 'by' cannot contain the window {starts.name!r} together with 'alarm'.")
    end = after(starts) if until is None else time_of(until, starts)
    start, last = beginning(windows, rule, end), end.item()
    raised = alarms(windows, rule, last) if rule.alarm else None
    if raised is not None:  # the newest complete period
        start = raised[0]
        end = ends(start, rule.over)
    found = judged(windows, rule, start, end, labels)
    if rule.alarm:
        found = with_alarms(found, rule, raised and raised[1])
    if rule.model is not None:  # which the text of the rule names
        found = found.drop(MODEL, strict=False)
    seen = dates(starts).filter((times >= start.item()) & (times < end.item()))
    newer = ((times >= end.item()) & (times < last)).any()
    earlier = times.filter(times < start.item())
    between = (
        seen.is_empty() and len(earlier) > 1 and start.item() - earlier[-1] < times.diff().quantile(0.75, "higher")
    )
    found = found.with_columns(
        because(incomplete_period=pl.lit(newer), no_window=pl.lit(between), before_labels=pl.lit(rule.before_labels))
    )
    of_rules = {name: pl.lit(getattr(rule, name, None), SCHEMA[name]) for name in OF_RULES}
    of_rules |= {"windows": pl.lit(_period(seen, dates(pl.concat([start, end]).cast(starts.dtype))))}
    of_rules |= {"reference": pl.col(REFERENCE), "coverage": pl.col(COVERAGE)}
    step = times.diff().median()  # of the windows, which are checked as a whole
    if isinstance(step, timedelta):
        needed = (pl.col(NEEDED) * len(seen) / pl.col(ROWS)).ceil() * (step / timedelta(days=1))
        of_rules |= {"days_needed": needed}
    if rule.alarm:
        of_rules |= {"since": pl.col(SINCE), "e_value": pl.col(E_VALUE)}
    passes = pl.lit(rule.severity == "warn") | pl.col(VERDICT).is_in(PASSING[rule.open])
    return verdict_rows(found, rule, rule.by, passes, **of_rules)


def _period(seen: pl.Series, wanted: pl.Series) -> str:
    """The first and the last of some windows, or the period without any."""
    first, last = map(str, (seen if len(seen) else wanted)[[0, -1]])
    return f"none from {first} until {last}" if seen.is_empty() else first if first == last else f"{first} to {last}"


def tell(store: MetricStore, verdicts: Verdicts, report: Callable[[pl.DataFrame], None]) -> None:
    """Report new breaches of a history, and store them. If reporting fails, the next check reports them again.

    They are in a table beside the history, so that each is reported once and not at every check: its rule, its segment,
    and the newest window at the time of the report. An alarm that began after this window is a new one. A rule without
    alarms is reported again if it has held in between. ``report`` is called with the rows of ``verdicts.frame``.
    """
    place = require_store(store)._table.beside(FOLDER)
    told = reported(place, place.find())
    new = unknown(told, verdicts.frame)
    if new.height:
        report(new)
    if remembered(told, verdicts.frame).equals(told):
        return
    if place.find() is None:
        place.create(told.to_arrow().schema, {})

    def remember(table: Any) -> None:
        mark = deltalake().Transaction(app_id=FOLDER, version=table.version() + 1)  # end of a complete commit
        rows = remembered(reported(place, table), verdicts.frame)
        write(table, rows.to_arrow(), mode="overwrite", transactions=[mark])

    place.commit(remember)


def reported(place: Table, table: Any) -> pl.DataFrame:
    """Return the reported breaches of a version of their table. Without a version, none were reported yet."""
    if table is None:
        return pl.DataFrame(schema=REPORTED)
    with place.reading():
        return place.scan(table).select(REPORTED.keys()).collect()


def unknown(told: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return breached verdicts that were not reported, and those of alarms that began after the last report."""
    breached = frame.filter(pl.col("verdict") == "breached")
    both = joined(breached, told, BREACH)
    later = (pl.col("since") > pl.col(WINDOW)).fill_null(False)
    return both.filter(pl.col(WINDOW).is_null() | later).select(frame.columns)


def remembered(told: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the reported breaches that last, including newly reported ones."""
    new = unknown(told, frame).with_columns(pl.col("windows").str.split(" to ").list.last().alias(WINDOW))
    new = new.group_by(BREACH, maintain_order=True).agg(pl.col(WINDOW).max())
    breached, held = (frame.filter(pl.col("verdict") == verdict).select(BREACH) for verdict in ("breached", "holds"))
    ended = held.join(breached, on=BREACH, how="anti", nulls_equal=True)
    lasting = told.join(pl.concat([ended, new.select(BREACH)]), on=BREACH, how="anti", nulls_equal=True)
    return pl.concat([lasting, new])


publish("streammetrics", check)
