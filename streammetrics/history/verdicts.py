"""Verdicts of rules on windows of a history."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.errors import SpecificationError
from streammetrics.frame import RIGHT, hidden, keys_of, noted
from streammetrics.history.alarms import ALARM, SOUND
from streammetrics.history.evidence import COLUMNS, estimated, reported
from streammetrics.history.rules import Rule, before
from streammetrics.history.windows import Windows
from streammetrics.metrics.metric import metrics_of_name
from streammetrics.reading.looks import ROWS
from streammetrics.reading.parts import of_periods
from streammetrics.reading.verdicts import is_total, on_these_rows, verdict

VERDICT = hidden("verdict")
TOO_SOON = [  # for a count to be breached
    pl.col(VERDICT).replace("breached", "open"),
    pl.when(pl.col(VERDICT) == "breached")
    .then(noted("note", pl.lit("the history is shorter than the period")))
    .otherwise("note")
    .alias("note"),
]


def require_scores(rules: Sequence[Rule], scores: object) -> None:
    """Reject rules before labels without a history of scores."""
    if scores is None and any(rule.before_labels for rule in rules):
        raise SpecificationError("Rules with 'before_labels' require the history of scores. Pass scores=.")


def beginning(windows: Windows, rule: Rule, end: pl.Series) -> pl.Series:
    """Return the start of the windows that a rule checks."""
    times = windows.times
    return times.head(1) if rule.always else before(end, rule.over).clip(times[0])


def judged(windows: Windows, rule: Rule, start: pl.Series, end: pl.Series, labels: Windows) -> pl.DataFrame:
    """Return the estimates of a rule in a time range, with its verdict in the column `VERDICT`.

    For a rule with an alarm, this does not include the evidence. The reference is computed from the history with
    labels.
    """
    earliest = None if rule.before_labels else windows.times[0]
    earlier = None if rule.against is None else before(start, rule.against).clip(earliest).item()
    reference = labels.ask(earlier, start.item(), rule.by, None) if earlier or rule.before_labels else None
    current = reported(rule, windows.ask(start.item(), end.item(), rule.by, None))
    found = estimated(rule, current, None if reference is None else reported(rule, reference))
    if found.is_empty():
        found = found.select("metric", *COLUMNS).clear(1).with_columns(note=pl.lit("no rows"))
    found = _with_verdicts(found, rule)
    return found.with_columns(TOO_SOON) if _is_growing(rule) and _is_too_short(windows, rule.over, end).any() else found


def judged_at_each(windows: Windows, rule: Rule, looks: pl.Series) -> pl.DataFrame:
    """The verdicts of a rule at the end of each of the windows with these numbers."""
    names, ends = windows.starts[looks], windows.times[looks].dt.offset_by("1us")
    starts = beginning(windows, rule, ends)
    earlier = starts if rule.against is None else before(starts, rule.against).clip(windows.times[0])
    report = reported(rule, windows.ask(earlier[0], ends[-1], (names.name, *rule.by), None))
    reference = None if rule.against is None else of_periods(report, names, earlier, starts)
    found = _with_verdicts(estimated(rule, of_periods(report, names, starts, ends), reference), rule)
    if _is_growing(rule):
        found = found.filter(~pl.col(names.name).is_in(names.filter(_is_too_short(windows, rule.over, ends)).implode()))
    return found


def _with_verdicts(found: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    said = verdict(rule.required, rule.min_rows, bounded=rule.before_labels)
    remark = on_these_rows([] if rule.against else metrics_of_name(rule.required.metric))
    without = pl.col("value").is_null() & (pl.col(ROWS) == 0) & (rule.against is None)
    note = pl.when(without).then(pl.lit("no rows")).otherwise("note")
    return found.with_columns(note=note).with_columns(said.alias(VERDICT), note=noted("note", remark))


def _is_growing(rule: Rule) -> bool:
    """Whether a rule is a lower limit of a total, which grows until the checked windows are complete."""
    if rule.against or rule.always or not rule.required.wants_high:
        return False
    return any(map(is_total, metrics_of_name(rule.required.metric)))


def _is_too_short(windows: Windows, over: str, ends: pl.Series) -> pl.Series:
    """Whether a history begins more than one window after the start of each period."""
    late, step = windows.times[0] - before(ends, over), windows.times.diff().median()
    return late > step if step is not None else pl.repeat(False, len(ends), eager=True)


def with_alarms(found: pl.DataFrame, raised: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of a rule with an alarm: only segments in alarm are breached."""
    keys = [*keys_of(found), "metric"]
    raised = raised.cast(found.select(keys).schema)
    both = found.join(
        raised, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right", suffix=RIGHT
    )
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
