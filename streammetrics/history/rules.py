"""Rules: what must hold of the newest windows of a history, as a small TOML file says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.accumulator import Accumulator
from streammetrics.differences.distances import MEASURES
from streammetrics.differences.drift import drift
from streammetrics.differences.evaluations import compare
from streammetrics.errors import SpecificationError, StateError, StreamMetricsError
from streammetrics.history.store import MetricStore
from streammetrics.metrics import all_metrics, parse_metric
from streammetrics.metrics.requirement import Requirement
from streammetrics.system.foreign import translated
from streammetrics.times import earlier, moment

ESTIMATE = ("value", "lower", "upper", "note")
COLUMNS = {
    "rule": pl.String(),
    "windows": pl.String(),
    "where": pl.String(),
    "value": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "verdict": pl.String(),
    "note": pl.String(),
}


@dataclass(frozen=True)
class Rule:
    """A requirement on the newest windows of a history.

    Args:
        require: a metric and its limit, such as ``"roc_auc >= 0.8"``, or with ``against`` a measure of drift of one
            distribution and its limit, such as ``"psi(of='y_score') <= 0.2"``; see `drift` for both. Without ``of``,
            ``ks`` is the metric.
        over: how much time the windows cover, up to the newest, such as ``"7d"``.
        against: how much time before that is the reference. Of a metric it is then the change that is limited.
        by: segments in each of which it must hold.

    Raises:
        MetricError: where the requirement cannot be read.
        SpecificationError: for an unreadable length of time, a measure of drift without a distribution or a reference,
            and for what is no text.

    >>> Rule("rows >= 1000")
    Rule(require='rows >= 1000', over='1d', against=None, by=())
    >>> print(Rule("psi(of='y_score')<=0.2", over="7d", against="28d"))
    psi(of='y_score') <= 0.2 against 28d before
    """

    require: str
    over: str = "1d"
    against: str | None = None
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.by
        by = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else (None,)
        object.__setattr__(self, "by", by)
        for name, values in {"require": (self.require,), "over": (self.over, self.against or ""), "by": by}.items():
            if not all(isinstance(value, str) for value in values):
                raise SpecificationError(f"a rule is written as text, and its {name!r} is none.")
        for length in (self.over, self.against):
            if length is not None:
                _before(pl.Series([datetime(2000, 1, 1)]), length)
        self._require_a_reference()

    def _require_a_reference(self) -> None:
        """Refuse a measure of drift that does not say of what, or against what."""
        name, options = parse_metric(self.required.metric)
        if name in MEASURES and "of" not in options and name not in {m.name for m in all_metrics()}:
            raise SpecificationError(f"{self.require!r} does not say of what; write {name}(of='y_score').")
        if self.measure is None:
            return
        if unknown := sorted(set(options) - {"of", "bins"}):
            raise SpecificationError(f"{name} takes of and bins, not {unknown[0]!r}.")
        if not isinstance(options["of"], str):
            raise SpecificationError(f"{self.require!r} must be of one distribution, such as of='y_score'.")
        if self.against is None:
            raise SpecificationError(f"{self.require!r} needs a reference: against = '28d'.")

    @property
    def required(self) -> Requirement:
        """The requirement."""
        return Requirement.parse(self.require)

    @property
    def measure(self) -> tuple[str, dict[str, Any]] | None:
        """Name and options of the measure of drift, if it is one."""
        name, options = parse_metric(self.required.metric)
        return (name, options) if name in MEASURES and "of" in options else None

    def __str__(self) -> str:
        if self.against is None:
            return str(self.required)
        return f"{'' if self.measure else 'change of '}{self.required} against {self.against} before"


@dataclass(frozen=True)
class Findings:
    """What came of some rules. ``frame`` has a row for each rule, segment, and key such as the threshold.

    Columns: ``rule``, ``windows`` (the first and the last), ``where``, ``value``, ``lower``, ``upper``, ``verdict`` and
    ``note``. The verdict is ``"holds"`` or ``"breached"`` where the certified bounds leave no doubt, ``"open"`` where
    the limit lies between them, ``"undefined"`` where there is no value, such as without rows. Where there are more
    than forty rows, text shows those alone that do not hold.

    >>> found = Findings(pl.DataFrame({"verdict": ["holds", "open"]}))
    >>> found.hold, found.frame["verdict"].to_list()
    (False, ['holds', 'open'])
    """

    frame: pl.DataFrame

    @property
    def hold(self) -> bool:
        """Whether every rule holds, everywhere."""
        return bool((self.frame["verdict"] == "holds").all())

    def __str__(self) -> str:
        return text.findings(self.frame)

    def __repr__(self) -> str:
        return str(self)


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a TOML file, each a table ``[[rule]]`` with the arguments of `Rule`.

    Raises:
        SpecificationError: where the file cannot be read, is no such TOML, or holds no rule; and as of `Rule`.
        MetricError: where a requirement cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "rules.toml")
    ...     written = path.write_text("[[rule]]\\nrequire = 'roc_auc >= 0.8'\\nover = '7d'\\nby = ['country']")
    ...     read_rules(path)
    [Rule(require='roc_auc >= 0.8', over='7d', against=None, by=('country',))]
    """
    import tomllib  # when it is needed

    with translated(SpecificationError, f"{path} cannot be read"):
        content = Path(path).read_bytes()
    with translated(SpecificationError, f"{path} is not TOML"):
        file = tomllib.loads(content.decode())
    given = file.get("rule")
    if set(file) != {"rule"} or not isinstance(given, list) or not all(isinstance(r, dict) for r in given):
        raise SpecificationError(f"{path} should hold tables [[rule]], and nothing else.")
    if not given:
        raise SpecificationError(f"{path} holds no rule.")
    return [_rule(table, path) for table in given]


def _rule(table: dict[str, Any], path: str | Path) -> Rule:
    known = [f.name for f in fields(Rule)]
    if unknown := sorted(set(table) - set(known)):
        raise SpecificationError(f"{path} has a rule with {unknown[0]!r}; a rule has {', '.join(known)}.")
    if "require" not in table:
        raise SpecificationError(f"{path} has a rule without require = 'rows >= 1000'.")
    try:
        return Rule(**table)
    except StreamMetricsError as error:
        raise type(error)(f"{path}: {error}") from error


def check(store: MetricStore, rules: Rule | Sequence[Rule], *, until: date | str | None = None) -> Findings:
    """Whether rules hold of the newest windows of a history.

    Args:
        store: the history.
        rules: what must hold: one or several.
        until: look at windows before this time instead of the newest: a date, a datetime or ISO text of one, in the
            time zone of the window unless it has its own.

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
    windows = store.windows().to_series(0).drop_nulls().sort()
    if windows.is_empty():
        raise StateError(f"the history at {store.uri} has no windows.")
    if until is None and str(windows[-1])[:10] == str(date.max):
        raise SpecificationError(f"no time comes after the newest window, {windows[-1]}. Pass until= to leave it out.")
    zone = getattr(windows.dtype, "time_zone", None)
    end = _clock(windows).tail(1).dt.offset_by("1us") if until is None else _time(until, zone)

    @cache  # rules often ask the same
    def kept(since: datetime, until: datetime, by: tuple[str, ...]) -> Accumulator:
        return store.query(since, until, by=by)

    return Findings(pl.concat([_finding(kept, rule, windows, end) for rule in given]))


def _finding(kept: Callable[..., Accumulator], rule: Rule, windows: pl.Series, end: pl.Series) -> pl.DataFrame:
    """What came of a rule: a row for each segment and kept key."""
    required, times = rule.required, _clock(windows)
    start = _before(end, rule.over).clip(times[0])
    since, until = start.item(), end.item()
    current = kept(since, until, rule.by)
    if rule.against is None:
        found = current.finalize([required.metric]).frame.drop("metric")
    else:
        before = _before(start, rule.against).clip(times[0]).item()
        found = _moved(rule, kept(before, since, rule.by), current)
    if found.is_empty():
        found = pl.DataFrame({"value": None, "lower": None, "upper": None, "note": "no rows"})
    sure, possible = ("lower", "upper") if required.wants_high else ("upper", "lower")
    verdict = (
        pl.when(pl.col("value").is_null())
        .then(pl.lit("undefined"))
        .when(required.holds(pl.col(sure)))
        .then(pl.lit("holds"))
        .when(~required.holds(pl.col(possible)))
        .then(pl.lit("breached"))
        .otherwise(pl.lit("open"))
    )
    seen = windows.filter((times >= since) & (times < until))
    return found.select(
        rule=pl.lit(str(rule)),
        windows=pl.lit(" to ".join(dict.fromkeys(str(seen[i]) for i in (0, -1))) if len(seen) else "none"),
        where=_where(found.drop(ESTIMATE), rule.by),
        value="value",
        lower="lower",
        upper="upper",
        verdict=verdict,
        note="note",
    ).cast(pl.Schema(COLUMNS))


def _moved(rule: Rule, reference: Accumulator, current: Accumulator) -> pl.DataFrame:
    """The measure of drift, or the change of the metric: keys and estimate."""
    if rule.measure is not None:
        name, options = rule.measure
        return drift(reference, current, **options).frame.filter(measure=name).drop("of", "measure")
    changes = compare(reference, current, metrics=[rule.required.metric]).frame
    note = (
        pl.when(pl.col("a").is_null())
        .then(pl.lit("undefined: no value in the reference"))
        .when(pl.col("b").is_null())
        .then(pl.lit("undefined: no value but in the reference"))
    )
    return changes.with_columns(note.alias("note")).drop("metric", "a", "b", "better").rename({"difference": "value"})


def _where(keys: pl.DataFrame, by: Sequence[str]) -> pl.Expr:
    """The segment, and the key such as the threshold, in words."""
    values = {k: text.written(keys[k]) for k in keys.columns}
    texts = [pl.lit(f"{k} ") + (v.fill_null("null") if k in by else v) for k, v in values.items()]
    return pl.concat_str(texts, separator=", ", ignore_nulls=True) if texts else pl.lit("")


def _clock(windows: pl.Series) -> pl.Series:
    """Dates as times, so that all windows are times in microseconds."""
    return windows.cast(pl.Datetime("us", getattr(windows.dtype, "time_zone", None)))


def _time(given: date | str, zone: str | None) -> pl.Series:
    """A time, in the zone of the window unless it has its own."""
    found = moment(given, zone)
    if found is None:
        raise SpecificationError(f"{given!r} is no date or time; write one like '2026-01-31'.")
    if zone is not None:
        return pl.Series([found]).dt.convert_time_zone(zone)
    if found.tzinfo:
        raise SpecificationError(f"{given!r} has a time zone, and the windows have none.")
    return pl.Series([found])


def _before(time: pl.Series, length: str) -> pl.Series:
    """So much time earlier, and not at the same time."""
    found = earlier(time, length)
    if not (found < time).all():
        raise SpecificationError(f"{length!r} is no length of time; write one like '7d' or '12h'.")
    return found
