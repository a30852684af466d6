"""Rules: what must hold of the windows of a history, as a small TOML file says it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.before_labels.values import METRICS as EXPECTED
from streammetrics.differences.distances import MEASURES
from streammetrics.differences.sampling import WITH_INTERVALS
from streammetrics.errors import SpecificationError, StreamMetricsError
from streammetrics.metrics import all_metrics, parse_metric
from streammetrics.metrics.requirement import Requirement
from streammetrics.system.foreign import translated
from streammetrics.times import earlier
from streammetrics.uncertainty.sequences import require_rows

DAYS = {"day": 1.0, "week": 7.0, "month": 365.25 / 12, "quarter": 365.25 / 4, "year": 365.25}
NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
ALARM = re.compile(rf"{NUMBER} per ({'|'.join(DAYS)})")
FDR = re.compile(rf"fdr {NUMBER} ?%")
CHOICES = {"severity": ("page", "warn"), "open": ("pass", "fail")}


@dataclass(frozen=True, repr=False)
class Rule:
    """A requirement on the windows of a history.

    Args:
        require: a metric and its limit, such as ``"roc_auc >= 0.8"``, or with ``against`` a measure of drift of one
            distribution and its limit, such as ``"psi(of='y_score') <= 0.2"``; see `drift` for both. Without ``of``,
            ``ks`` is the metric.
        over: how much time the windows cover, up to the newest, such as ``"7d"``.
        against: how much time before that is the reference. Of a metric it is then the change that is limited, never
            the value: ``"roc_auc >= -0.02"`` allows a fall of 0.02.
        by: segments in each of which it must hold.
        name: A short name, shown before the requirement.
        description: What the rule is for, or what to do about a breach.
        severity: ``"page"``, or ``"warn"`` for a rule that is reported and never fails the check.
        confidence: Confidence of a verdict, between 0.5 and 1. The rule holds or is breached only if the certified
            bounds and the one-sided confidence interval lie on one side of the limit.
        min_rows: Rows that a segment needs for a verdict; with ``against`` the reference needs as many.
        open: Whether the check passes where the verdict is open, or rows are too few: ``"pass"`` or ``"fail"``.
        alarm: How many false alarms are acceptable, such as ``"1 per year"``. The rule is then breached only if the
            windows of the whole history, each as long as ``over``, leave no doubt together.
        segments: Acceptable share of false ones among the segments whose evidence suffices at a look, such as
            ``"fdr 5 %"`` or 0.05. Defaults to an alarm of its own for each segment, which errs as often as ``alarm``
            says.
        always: Number of rows at which an interval that holds at every look is tightest, such as 100_000, fixed before
            the data. The rule then looks at all windows of the history together.
        before_labels: Whether the metric is the one expected of windows whose labels have not arrived (see `expect`).
            The reference is all windows with labels before them, or with ``against`` the last ones for so long.
        odds: Largest factor between the odds of a positive and those of the reference, with ``before_labels``.

    Raises:
        MetricError: where the requirement cannot be read.
        SpecificationError: for an unreadable length of time, a measure of drift without a distribution or a reference,
            for fields of another type, for fields that exclude each other, and with ``against`` for a limit that a
            metric breaches without any change.

    >>> Rule("rows >= 1000")
    Rule(require='rows >= 1000')
    >>> print(Rule("psi(of='y_score')<=0.2", over="7d", against="28d"))
    psi(of='y_score') <= 0.2 against 28d before
    >>> print(Rule("roc_auc >= 0.8", alarm="1 per year"))
    roc_auc >= 0.8, alarm 1 per year
    >>> print(Rule("roc_auc >= -0.02", over="7d", against="28d"))
    change of roc_auc >= -0.02 against 28d before
    """

    require: str
    over: str = "1d"
    against: str | None = None
    by: tuple[str, ...] = ()
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

    def __post_init__(self) -> None:
        given: Any = self.by
        by = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else (None,)
        object.__setattr__(self, "by", by)
        texts = {"require": (self.require,), "over": (self.over, self.against or ""), "by": by}
        others = {name: getattr(self, name) for name in ("name", "description", "alarm")}
        texts |= {name: () if value is None else (value,) for name, value in others.items()}
        for name, values in texts.items():
            if not all(isinstance(value, str) for value in values):
                raise SpecificationError(f"a rule is written as text, and its {name!r} is none.")
        for length in (self.over, self.against):
            if length is not None:
                before(pl.Series([datetime(2000, 1, 1)]), length)
        self._require_a_reference()
        self._require_choices()
        self._require_fields_that_go_together()

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

    def _require_choices(self) -> None:
        """Refuse values that a field cannot have."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                allowed = " or ".join(map(repr, choices))
                raise SpecificationError(f"Rule field {name!r} must be {allowed}, got {getattr(self, name)!r}.")
        if not (_is_number(self.confidence) and 0.5 < self.confidence < 1):
            raise SpecificationError(
                f"Rule field 'confidence' must be a number between 0.5 and 1, got {self.confidence!r}."
            )
        if not (_is_number(self.min_rows) and self.min_rows == int(self.min_rows) and self.min_rows >= 1):
            raise SpecificationError(f"Rule field 'min_rows' must be a positive whole number, got {self.min_rows!r}.")
        if self.alarm is not None and not (self.alarms_per_day or 0) > 0:
            raise SpecificationError(f"Rule field 'alarm' must be a rate such as '1 per year', got {self.alarm!r}.")
        if self.segments is not None and not 0 < (self.fdr or 0) < 1:
            raise SpecificationError(f"Rule field 'segments' must be 'fdr 5 %' or a share, got {self.segments!r}.")
        if self.always is not None:
            require_rows(self.always)
        if not isinstance(self.before_labels, bool):
            raise SpecificationError(f"Rule field 'before_labels' must be true or false, got {self.before_labels!r}.")
        if not (_is_number(self.odds) and 1 <= self.odds < inf):
            raise SpecificationError(f"Rule field 'odds' must be a number of at least 1, got {self.odds!r}.")

    def _require_fields_that_go_together(self) -> None:
        """Refuse fields that have no meaning beside another one."""
        if self.segments is not None and not (self.alarm and self.by):
            raise SpecificationError("Rule field 'segments' needs 'alarm' and 'by'.")
        if self.alarm and self.measure is not None and self.measure[0] not in WITH_INTERVALS:
            raise SpecificationError(
                f"Rule field 'alarm' needs a metric with a confidence interval, which {self.measure[0]} has not."
            )
        if self.always is not None and (self.alarm or self.against or self.over != "1d"):
            raise SpecificationError(
                "Rule field 'always' is for all windows together, so 'over', 'against' and 'alarm' cannot be set. "
                "Use 'alarm' to watch single windows."
            )
        self._require_a_limit_on_the_change()
        if self.before_labels and (self.alarm or self.always):
            raise SpecificationError("Rule field 'before_labels' cannot be set beside 'alarm' or 'always'.")
        if self.before_labels and self.required.metric not in EXPECTED:
            metrics = ", ".join(EXPECTED)
            raise SpecificationError(f"{self.required.metric} cannot be expected before labels. Metrics: {metrics}.")
        if self.odds != 1 and not self.before_labels:
            raise SpecificationError("Rule field 'odds' needs 'before_labels'.")
        if self.alarm:
            with translated(SpecificationError, f"'over' must be one unit of time beside 'alarm', got {self.over!r}"):
                pl.Series([datetime(2000, 1, 1)]).dt.truncate(self.over)

    def _require_a_limit_on_the_change(self) -> None:
        """Refuse a limit that any unchanged metric breaches: it is meant for the value."""
        required, limits_change = self.required, self.against and not (self.measure or self.before_labels)
        if limits_change and not required.holds(0.0):
            sign, better = ("-", "rise") if required.wants_high else ("", "fall")
            raise SpecificationError(
                f"Rule field 'against' limits the change, and '{required}' requires a {better}. Allow a change, such "
                f"as '{required.metric} {required.comparison} {sign}0.02', or remove 'against' to limit the value."
            )

    @property
    def required(self) -> Requirement:
        """The requirement."""
        return Requirement.parse(self.require)

    @property
    def measure(self) -> tuple[str, dict[str, Any]] | None:
        """Name and options of the measure of drift, if it is one."""
        name, options = parse_metric(self.required.metric)
        return (name, options) if name in MEASURES and "of" in options else None

    @property
    def two_sided(self) -> float:
        """The confidence of a two-sided interval, each of whose ends has the confidence of the rule by itself."""
        return 2 * self.confidence - 1

    @property
    def alarms_per_day(self) -> float | None:
        """How many false alarms are acceptable on a day; None for a rule without an alarm, or an unreadable one."""
        match = ALARM.fullmatch(self.alarm or "")
        return float(match[1]) / DAYS[match[2]] if match else None

    @property
    def fdr(self) -> float | None:
        """Acceptable share of false alarms among segments; None if each is on its own, or for an unreadable one."""
        if isinstance(self.segments, str):
            match = FDR.fullmatch(self.segments)
            return float(match[1]) / 100 if match else None
        return self.segments if _is_number(self.segments) else None

    def __str__(self) -> str:
        text = str(self.required)
        if self.before_labels:
            text += " before labels" + (f", odds {self.odds:g}" if self.odds != 1 else "")
        if self.against is not None:
            change = "" if self.measure or self.before_labels else "change of "
            text = f"{change}{text} against {self.against} before"
        return text + (f", alarm {self.alarm}" if self.alarm else f", always {self.always}" if self.always else "")

    def __repr__(self) -> str:
        own = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return f"Rule({', '.join(f'{name}={value!r}' for name, value, default in own if value != default)})"


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
    [Rule(require='roc_auc >= 0.8', over='7d', by=('country',))]
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


def before(time: pl.Series, length: str) -> pl.Series:
    """So much time earlier, and not at the same time.

    Raises:
        SpecificationError: for what is no length of time.

    >>> before(pl.Series([datetime(2026, 1, 31)]), "7d").item()
    datetime.datetime(2026, 1, 24, 0, 0)
    """
    found = earlier(time, length)
    if not (found < time).all():
        raise SpecificationError(f"{length!r} is no length of time; write one like '7d' or '12h'.")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
