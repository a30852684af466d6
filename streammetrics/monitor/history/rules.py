"""Rules for the windows of a history, and their TOML files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.base import (
    as_float,
    false_discovery_rate,
    hidden,
    near_paths,
    publish,
    read_file,
    require_level,
    shown,
    translated,
    whole,
)
from streammetrics.data import MODEL
from streammetrics.errors import Argument, SpecificationError, StreamMetricsError
from streammetrics.metrics import Requirement, in_a_sentence, metrics_of_name, parse_metric, require_rows
from streammetrics.monitor.before_labels.filled import METRICS as EXPECTED
from streammetrics.monitor.history.window import before
from streammetrics.reading import MEASURES, WITH_INTERVALS

DAYS = {"day": 1.0, "week": 7.0, "month": 365.25 / 12, "quarter": 365.25 / 4, "year": 365.25}
NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
ALARM = re.compile(rf"{NUMBER} per ({'|'.join(DAYS)})")
METRIC_TOO = "ks"  # the measure of drift whose name is also that of a metric
COVERAGE = hidden("coverage")  # share of labels that have arrived, in verdicts
LONGEST_ACRONYM = 3  # letters of the name of a drift measure
CHOICES = {"severity": ("page", "warn"), "open": ("pass", "fail")}


@dataclass(frozen=True, repr=False)
class Rule:
    """A requirement on the windows of a history.

    Args:
        require: Metric and limit, such as ``"roc_auc >= 0.8"``; or, with ``against``, a drift measure of one
            distribution and its limit, such as ``"psi(of='y_score') <= 0.2"`` (see `drift`). Without ``of``, ``ks`` is
            the metric.
        over: Duration of the checked windows, up to the newest, such as ``"7d"``.
        against: Duration of the reference period before these windows. For a metric, the limit then applies to its
            change.
        by: Group columns. The rule must hold in each of their segments.
        model: Name of the checked model, if the history has several. Defaults to all.
        name: A short name, shown before the requirement.
        description: Purpose of the rule, or what to do about a breach.
        severity: ``"page"``, or ``"warn"`` for a rule that is reported but never fails the check.
        confidence: Confidence level of a verdict, between 0.5 and 1. The rule holds or is breached only if the
            certified bounds and the one-sided confidence interval, widened by them, are on one side of the limit.
        min_rows: Minimum number of rows of a segment for a verdict, and of the reference with ``against``.
        open: ``"pass"`` or ``"fail"``: result of the check if the verdict is open (inconclusive) or there are too few
            rows.
        alarm: Acceptable rate of false alarms, such as ``"1 per year"``. The rule is then breached only if the evidence
            of all windows of the history together, each as long as ``over``, suffices.
        segments: Acceptable false discovery rate among segments in alarm at a look, such as ``"fdr 5 %"`` or 0.05.
            Defaults to a separate alarm for each segment, at the rate of ``alarm``.
        always: Number of rows at which an interval that holds at every look is tightest, such as 100_000. Choose it
            before the first look. The rule then checks all windows of the history together.
        before_labels: Whether to check the expected metric of windows whose labels have not arrived (see `expect`). The
            reference is all earlier windows with labels, or with ``against`` the last ones of this duration.
        odds: Largest factor by which the odds of a positive can differ from the reference, with ``before_labels``.
        coverage: Minimum share of labels that must have arrived for a verdict, between 0 and 1, of the share that
            matured windows have (see `Joiner`). Below it, the verdict is open.

    Raises:
        MetricError: If the requirement is invalid.
        SpecificationError: If a duration is invalid, a drift measure has no distribution or reference, a field has a
            wrong type, fields exclude each other, or a limit with ``against`` is breached without any change.

    >>> Rule("rows >= 1000")
    Rule(require='rows >= 1000')
    >>> print(Rule("psi(of='y_score')<=0.2", over="7d", against="28d"))
    psi(of='y_score') <= 0.2 against 28d before
    >>> print(Rule("roc_auc >= 0.8", model="new", alarm="1 per year"))
    roc_auc >= 0.8, model new, alarm 1 per year
    >>> print(Rule("roc_auc >= -0.02", over="7d", against="28d"))
    change of roc_auc >= -0.02 against 28d before
    """

    require: str
    over: str = "1d"
    against: str | None = None
    by: tuple[str, ...] = ()
    model: str | None = None
    name: str | None = None
    description: str | None = None
    severity: str = "page"
    confidence: float = 0.95
    min_rows: int = 1
    open: str = "pass"
    alarm: str | None = None
    segments: str | float | None = None
    always: int | None = None
    before_labels: bool = False
    odds: float = 1.0
    coverage: float = 0.95

    def __post_init__(self) -> None:
        columns: Any = self.by
        by = (columns,) if isinstance(columns, str) else columns if isinstance(columns, list | tuple) else (None,)
        object.__setattr__(self, "by", tuple(by))
        for faults in (self._wrong_texts, self._wrong_values, self._wrong_measure, self._wrong_combinations):
            for fault in faults():
                raise SpecificationError(fault)
        object.__setattr__(self, "min_rows", whole("Rule field 'min_rows'", self.min_rows, least=1))

    def _wrong_texts(self) -> Iterator[str]:
        texts = {"require": (self.require,), "over": (self.over,), "by": self.by}
        others = {name: getattr(self, name) for name in ("against", "model", "name", "description", "alarm")}
        texts |= {name: () if value is None else (value,) for name, value in others.items()}
        for name, values in texts.items():
            if not all(isinstance(value, str) for value in values):
                yield f"Rule field {name!r} must be a string, got {shown(getattr(self, name))}."

    def _wrong_values(self) -> Iterator[str]:
        for length in (self.over, self.against):
            if length is not None:
                before(pl.Series([datetime(2000, 1, 1)]), length)
        for name, choices in CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in choices:
                got = shown(getattr(self, name))
                yield f"Rule field {name!r} must be {' or '.join(map(repr, choices))}, got {got}."
        require_level("Rule field 'confidence'", self.confidence, above=0.5)
        if self.alarm is not None and not (self.alarms_per_day or 0) > 0:
            yield f"Rule field 'alarm' must be a rate such as '1 per year', got {shown(self.alarm)}."
        if self.segments is not None:
            false_discovery_rate("Rule field 'segments'", self.segments)
        if self.always is not None:
            require_rows(self.always)
        if not isinstance(self.before_labels, bool):
            yield f"Rule field 'before_labels' must be true or false, got {shown(self.before_labels)}."
        if not (_is_number(self.odds) and 1 <= as_float(self.odds) < inf):
            yield f"Rule field 'odds' must be a number of at least 1, got {shown(self.odds)}."
        if not (_is_number(self.coverage) and 0 <= as_float(self.coverage) <= 1):
            yield f"Rule field 'coverage' must be a number from 0 to 1, got {shown(self.coverage)}."

    def _wrong_measure(self) -> Iterator[str]:
        name, options = parse_metric(self.required.metric)
        if name in MEASURES and "of" not in options and name != METRIC_TOO:
            yield f"{self.require!r} names no distribution. Write one, such as {name}(of='y_score')."
        if self.measure is None:
            return
        if unknown := sorted(set(options) - {"of", "bins"}):
            yield f"Unknown option {unknown[0]!r} of {name}. Options: of, bins."
        if not isinstance(options["of"], str):
            yield f"{self.require!r} must name one distribution, such as of='y_score'."
        if self.against is None:
            yield f"{self.require!r} requires a reference, such as against = '28d'."
        if self.alarm and name not in WITH_INTERVALS:
            yield f"Rule field 'alarm' requires a metric with confidence intervals, unlike {name}."

    def _wrong_combinations(self) -> Iterator[str]:
        required = self.required
        if MODEL in self.by:
            yield "Rule field 'by' cannot contain 'model': each model always has its own verdict. Remove it."
        if self.segments is not None and not (self.alarm and self.by):
            yield "Rule field 'segments' requires 'alarm' and 'by'."
        if self.always is not None and (self.alarm or self.against or self.over != "1d"):
            yield (
                "Rule field 'always' applies to all windows, so 'over', 'against', and 'alarm' cannot be set. "
                "Use 'alarm' to watch single windows."
            )
        if self.against and not (self.measure or self.before_labels or required.holds(0.0)):  # meant for the value
            sign, better = ("-", "rise") if required.wants_high else ("", "fall")
            yield (
                f"Rule field 'against' limits the change, and '{required}' requires a {better}. Allow a change, such "
                f"as '{required.metric} {required.comparison} {sign}0.02', or remove 'against' to limit the value."
            )
        if self.before_labels and (self.alarm or self.always):
            yield "Rule field 'before_labels' cannot be combined with 'alarm' or 'always'."
        if self.before_labels and required.metric not in EXPECTED:
            yield f"{required.metric} cannot be estimated before labels arrive. Metrics: {', '.join(EXPECTED)}."
        if self.odds != 1 and not self.before_labels:
            yield "Rule field 'odds' requires 'before_labels'."
        if self.alarm:
            single = f"Rule field 'over' must have a single unit of time with 'alarm', got {self.over!r}"
            with translated(SpecificationError, single):
                pl.Series([datetime(2000, 1, 1)]).dt.truncate(self.over)

    @property
    def required(self) -> Requirement:
        """The requirement."""
        return Requirement.parse(self.require)

    @property
    def measure(self) -> tuple[str, dict[str, Any]] | None:
        """Name and options of the drift measure, if it is one."""
        name, options = parse_metric(self.required.metric)
        return (name, options) if name in MEASURES and "of" in options else None

    @property
    def two_sided(self) -> float:
        """The confidence level of a two-sided interval whose endpoints each have the level of the rule."""
        return 2 * self.confidence - 1

    @property
    def alarms_per_day(self) -> float | None:
        """Acceptable number of false alarms per day; None without an alarm, or if it is invalid."""
        match = ALARM.fullmatch(self.alarm or "")
        return float(match[1]) / DAYS[match[2]] if match else None

    @property
    def fdr(self) -> float | None:
        """Acceptable false discovery rate among segments; None for separate alarms."""
        return None if self.segments is None else false_discovery_rate("Rule field 'segments'", self.segments)

    def __str__(self) -> str:
        text = str(self.required)
        if self.before_labels:
            text += " before labels" + (f", odds {self.odds:g}" if self.odds != 1 else "")
        if self.against is not None:
            change = "" if self.measure or self.before_labels else "change of "
            text = f"{change}{text} against {self.against} before"
        text += "" if self.model is None else f", model {self.model}"
        return text + (f", alarm {self.alarm}" if self.alarm else f", always {self.always}" if self.always else "")

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return f"Rule({', '.join(f'{name}={value!r}' for name, value in values.items())})"


def rules_of(one_or_several: Any, scores: object) -> list[Rule]:
    """Return one rule or several as a list. Rejects rules before labels without a history of scores."""
    rules = list(one_or_several) if isinstance(one_or_several, list | tuple) else [one_or_several]
    if wrong := [rule for rule in rules if not isinstance(rule, Rule)]:
        raise SpecificationError(Argument("rules"), f" must be of type Rule, got {type(wrong[0]).__name__}.")
    if scores is None and any(rule.before_labels for rule in rules):
        raise SpecificationError(
            "Rules with 'before_labels' require the history of scores. Pass ", Argument("scores"), "."
        )
    return rules


def title_of(rule: Rule) -> str:
    """Return a rule in words, after its name if it has one."""
    title = f"{rule.name}: {rule}" if rule.name else str(rule)
    title += "" if rule.always else f", over {rule.over}"
    return title + (", severity warn" if rule.severity == "warn" else "")


def name_of(rule: Rule) -> str:
    """Return the name of a rule, or its metric in words with the limit."""
    required = replace(rule.required, metric=metric_of(rule))
    return rule.name or str(required).replace(">=", "≥").replace("<=", "≤")


def metric_of(rule: Rule) -> str:
    """Return the metric of a rule in words, or its drift measure and the distribution."""
    if rule.measure is None:
        return in_a_sentence(metrics_of_name(rule.required.metric)[0])
    name, options = rule.measure
    return f"{name.upper() if len(name) <= LONGEST_ACRONYM else name} of {options['of']}"


def read_rules(path: str | Path) -> list[Rule]:
    """Read the rules of a TOML file. Each is a table ``[[rule]]`` with the arguments of `Rule`.

    Raises:
        SpecificationError: If the file is unreadable, not TOML, or has no rules; and as in `Rule`.
        MetricError: If a requirement is invalid.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "rules.toml")
    ...     written = path.write_text("[[rule]]\\nrequire = 'roc_auc >= 0.8'\\nover = '7d'\\nby = ['country']")
    ...     read_rules(path)
    [Rule(require='roc_auc >= 0.8', over='7d', by=('country',))]
    """
    import tomllib  # when it is needed

    with translated(SpecificationError, f"Cannot read {path}"):
        try:
            content = read_file(path, SpecificationError)
        except FileNotFoundError:
            raise SpecificationError(f"Cannot read {str(path)!r}: file not found.{near_paths(path)}") from None
    with translated(SpecificationError, f"{path} is not valid TOML"):
        file = tomllib.loads(content.decode())
    tables = file.get("rule")
    if set(file) != {"rule"} or not isinstance(tables, list) or not all(isinstance(r, dict) for r in tables):
        raise SpecificationError(f"{path} must contain [[rule]] tables only.")
    if not tables:
        raise SpecificationError(f"{path} has no rules.")
    return [_rule(table, path) for table in tables]


def _rule(table: dict[str, Any], path: str | Path) -> Rule:
    names = [f.name for f in fields(Rule)]
    if unknown := sorted(set(table) - set(names)):
        raise SpecificationError(f"{path} has an unknown rule field {unknown[0]!r}. Fields: {', '.join(names)}.")
    if "require" not in table:
        raise SpecificationError(f"{path} has a rule without 'require'. Write one, such as require = 'rows >= 1000'.")
    try:
        return Rule(**table)
    except StreamMetricsError as error:
        raise type(error)(f"{path}: ", *error.args) from error


def limits_total(rule: Rule) -> bool:
    """Whether the limit is on a count or a sum over the rows, and not on its change."""
    return not rule.against and any(m.interval.is_total for m in metrics_of_name(rule.required.metric))


def has_few_labels(rule: Rule) -> pl.Expr:
    """Whether fewer labels have arrived than a rule requires."""
    return (pl.col(COVERAGE) < rule.coverage).fill_null(False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


publish("streammetrics", Rule, read_rules)
