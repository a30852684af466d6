"""What the estimates of a rule say of its limit: the verdict on some windows of a history."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.errors import Argument, SpecificationError
from streammetrics.frame import RIGHT, hidden, keys_of, noted
from streammetrics.history.alarms import ALARM, SOUND
from streammetrics.history.evidence import COLUMNS, estimated
from streammetrics.history.rules import Rule, before
from streammetrics.history.windows import Windows
from streammetrics.reading.verdicts import ON_THESE_ROWS, verdict

VERDICT = hidden("verdict")


def require_scores(rules: Sequence[Rule], scores: object) -> None:
    """Reject rules before labels without a history of scores."""
    if scores is None and any(rule.before_labels for rule in rules):
        raise SpecificationError(
            "Rules with 'before_labels' require the history of scores. Pass ", Argument("scores"), "."
        )


def beginning(windows: Windows, rule: Rule, end: pl.Series) -> pl.Series:
    """When the windows begin that a rule looks at, of some that are there."""
    times = windows.times
    return times.head(1) if rule.always else before(end, rule.over).clip(times[0])


def judged(windows: Windows, rule: Rule, start: pl.Series, end: pl.Series, labels: Windows) -> pl.DataFrame:
    """The estimates of a rule from one time to another, and in the column `VERDICT` what they say of its limit.

    Of a rule with an alarm, it is not known yet whether evidence suffices. A reference is in the history with labels.
    """
    earliest = None if rule.before_labels else windows.times[0]
    earlier = None if rule.against is None else before(start, rule.against).clip(earliest).item()
    reference = labels.ask(earlier, start.item(), rule.by, None) if earlier or rule.before_labels else None
    return _with_verdicts(rule, estimated(rule, windows.ask(start.item(), end.item(), rule.by, None), reference))


def _with_verdicts(rule: Rule, found: pl.DataFrame) -> pl.DataFrame:
    """The estimates of a rule with what its bounds and its interval say of the limit."""
    if found.is_empty():
        found = found.select("metric", *COLUMNS).clear(1).with_columns(note=pl.lit("no rows"))
    said = verdict(rule.required, rule.min_rows, bounded=rule.before_labels)
    return found.with_columns(said.alias(VERDICT), note=noted("note", ON_THESE_ROWS))


def with_alarms(found: pl.DataFrame, raised: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of a rule with an alarm: breached are those segments that are in alarm, and no others."""
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
