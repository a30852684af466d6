"""A finding, and how the estimates of a metric decide that there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import polars as pl

from streammetrics.base import (
    LIMITS,
    VALUE,
    beyond_python,
    few_effective,
    hidden,
    joined,
    outer_limits,
    publish,
    readable,
)
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import LONGEST_SENTENCE, cut, escaped
from streammetrics.metrics import Metric

if TYPE_CHECKING:
    from streammetrics.report import Report

Severity: TypeAlias = Literal["bad", "warn", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("bad", "warn", "info")

MANY = 2_000  # groups of a column, above which groups are not searched
NAMED = 3  # groups in a sentence
LOW, HIGH, WHERE, PLACE, ROWS = map(hidden, ("low", "high", "where", "place", "rows"))

Row: TypeAlias = Mapping[str, Any]
NOWHERE: Final[Row] = {PLACE: "", WHERE: {}}


@dataclass(frozen=True)
class Finding:
    """What stands out in a report. ``str(finding)`` is its sentence.

    Args:
        code: Code, such as ``"SM101"``, under which the documentation has the reason and what to do.
        severity: ``"bad"`` if decisions based on the predictions are likely wrong, ``"warn"`` if they can be, or
            ``"info"``.
        sentence: The finding in words, with its numbers.
        keys: Values of group columns, ``model``, ``label``, and ``threshold``; empty for all rows.
        metric: Name of the metric that decides it. None if counts do.
        value: The metric, with certified bounds ``lower`` and ``upper``, and the confidence interval ``ci_lower`` and
            ``ci_upper`` at the level of the decision. Of a slice, its difference from all other rows.
        title: What the model does, in few words, as the rest of a sentence about it.

    >>> Finding("SM501", "warn", "4% of the rows were dropped.")
    SM501 (warn): 4% of the rows were dropped.
    """

    code: str
    severity: Severity
    sentence: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    metric: str | None = None
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    ci_lower: float | None = None
    ci_upper: float | None = None
    title: str = ""

    def __post_init__(self) -> None:
        for name in ("sentence", "title"):
            object.__setattr__(self, name, cut(getattr(self, name), LONGEST_SENTENCE))

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.code} ({self.severity}): {self.sentence}"


def finding(
    code: str, severity: Severity, sentence: str, row: Row = NOWHERE, metric: str | None = None, title: str = ""
) -> Finding:
    """Return a finding about a row of `placed`, whose sentence begins with its place."""
    numbers = {name: row.get(name) for name in (*VALUE, *LIMITS)} if metric else {}
    if row[PLACE]:
        begins_with_a_word = sentence[1:2].islower() or sentence[1:2] == " "
        sentence = f"{row[PLACE]}: {sentence[0].lower() if begins_with_a_word else sentence[0]}{sentence[1:]}"
    return Finding(code, severity, sentence, row[WHERE], metric, **numbers, title=title)


def finding_of_groups(
    code: str,
    severity: Severity,
    beginning: str,
    rows: Sequence[Row],
    text: Callable[[Row], str],
    metric: str,
    title: str = "",
) -> Iterator[Finding]:
    """Yield a finding about the first of some rows of `placed`, if there are any, that lists their places.

    Its title ends with the first place.
    """
    if rows:
        texts, title = [f"{row[PLACE]} ({text(row)})" for row in rows], f"{title} {rows[0][PLACE]}" if title else ""
        yield finding(code, severity, f"{beginning}: {listed(texts)}.", {**rows[0], PLACE: ""}, metric, title)


def sorted_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, then by code."""
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.code))


def listed(groups: Sequence[str]) -> str:
    """Return the first of some groups, and the number of further ones.

    >>> listed(["IN", "JP"]), listed(list("abcde"))
    ('IN, JP', 'a, b, c and 2 more')
    """
    more = len(groups) - NAMED
    return ", ".join(groups[:NAMED]) + f" and {more:,} more" * (more > 0)


def decided(report: Report, metric: str, error: float, possible: pl.Expr) -> Iterator[Row]:
    """Yield the estimates of a metric that have an interval, with its ends, widened by the bounds, and their place.

    The level is such that any of the intervals misses with a probability of at most ``error`` (Bonferroni). Those that
    depend on few effective rows decide nothing. Intervals take time, so there are none if no value makes a finding
    ``possible``.
    """
    values = report.rows(metric)
    if values.filter(possible).is_empty():
        return
    rows = report.with_confidence(1 - error / values.height)._sampled_rows(metric)
    rows = rows.filter(possible, ~few_effective(units=report.folds is not None))
    ends = dict(zip((LOW, HIGH), outer_limits(), strict=True))
    yield from placed(rows.with_columns(**ends).drop_nulls([LOW, HIGH]), report)


def placed(rows: pl.DataFrame, report: Report) -> Iterator[Row]:
    """Yield rows with the keys of their place and the same in words: their group, model, and label."""
    names = [k for k in rows.columns if k in report.by or k == LABEL]
    times = [rows[k] for k in names if isinstance(rows.schema[k], pl.Date | pl.Datetime)]
    if any(map(beyond_python, times)):  # no key can name them
        return
    texts = {k: readable(rows[k]).fill_null("null") if k in report.by else readable(rows[k]) for k in names}
    model = [texts.pop(MODEL)] if MODEL in texts else []
    groups = [pl.concat_str([*texts.values()], separator=", ", ignore_nulls=True)] if texts else []
    place = pl.concat_str([*groups, *model], separator=" of ") if groups or model else pl.lit("")
    for row in rows.with_columns(place.alias(PLACE)).iter_rows(named=True):
        keys = {k: row[k] for k in (*names, "threshold") if k in report.by or row.get(k) is not None}
        yield {**row, WHERE: keys, PLACE: escaped(row[PLACE])}


def beside(frame: pl.DataFrame, row: Row, *keys: str) -> pl.DataFrame:
    """Return the rows of a frame with the same values of those keys that it has."""
    for key in keys:
        if key in frame.columns:
            frame = frame.filter(pl.col(key).eq_missing(row[key]))
    return frame


@dataclass(frozen=True)
class Searched:
    """A report that is searched, with its roll-ups, which all checks use."""

    report: Report

    @cached_property
    def total(self) -> Report:
        """All rows, per model, without intervals."""
        return self._rollup((), self.report.metrics)

    @cached_property
    def columns(self) -> dict[str, Report]:
        """The rows by each group column with few enough values, without intervals."""
        keys = self.report.state.keys
        return {c: self._rollup((c,), ()) for c in keys.columns if c != MODEL and 1 < keys[c].n_unique() <= MANY}

    def _rollup(self, columns: Sequence[str], metrics: Sequence[Metric]) -> Report:
        """The rows by group columns: the report itself if it has no others, since it knows its numbers."""
        has_others = set(self.report.by) - {MODEL, *columns}
        report = self.report.rollup(columns).showing(metrics) if has_others else self.report
        return report if report.confidence is None else report.with_confidence(None)

    def once(self, rows: pl.DataFrame) -> Iterator[Row]:
        """Yield the first row of each model and label, with its place."""
        keys = [c for c in (*self.total.by, LABEL) if c in rows.columns]
        yield from placed(rows.unique(keys, keep="first", maintain_order=True) if keys else rows.head(1), self.total)

    def with_row_weights(self, frame: pl.DataFrame, count: str, every: pl.Expr) -> pl.DataFrame:
        """Return a frame with a sum of weights as a number of rows of average weight, given the weight of all rows."""
        number = self.total.rows("rows").select(*self.total.by, pl.col("value").alias(ROWS))
        return joined(frame, number, self.total.by).with_columns(pl.col(count) * (pl.col(ROWS) / every)).drop(ROWS)

    def has(self, *metrics: str) -> bool:
        """Whether metrics are available."""
        return all(map(self.total.readable, metrics))

    def statistic(self, kind: type) -> bool:
        """Whether there is a statistic of a kind."""
        return self.report.state.find(kind) is not None


publish("streammetrics", Finding)
