"""Verdicts of a check: on each requirement or rule in each group, and whether it passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics import show
from streammetrics.base import (
    EFFECTIVE_ROWS,
    ENOUGH_ROWS,
    LIMITS,
    NEEDED,
    NO_LIMITS,
    REASONS,
    ROWS,
    STATUS,
    VALUE,
    VERDICT,
    WHY_OPEN,
    Status,
    because,
    enough_rows,
    few_effective,
    hidden,
    keys_of,
    outer_limits,
    publish,
    require_level,
    where,
    whole,
)
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import MOST_ROWS, Requirement, rows_to_decide
from streammetrics.reading import with_row_count
from streammetrics.show import (
    OPEN,
    Table,
    as_text,
    every_verdict,
    terminal_width,
    verdict_tables,
    with_note,
    with_notes,
)

if TYPE_CHECKING:
    from streammetrics.report.report import Report


PASSING = {"fail": ["holds"], "pass": ["holds", *OPEN]}  # by the result of open verdicts
SCHEMA = pl.Schema(
    dict.fromkeys(("rule", "name", "severity", "windows", "where"), pl.String())
    | {"rows": pl.Int64()}
    | dict.fromkeys((*VALUE, *LIMITS, "reference"), pl.Float64())
    | {"verdict": pl.String(), "reasons": pl.List(pl.Enum(REASONS)), "passes": pl.Boolean()}
    | {"since": pl.String(), "e_value": pl.Float64()}
    | dict.fromkeys(("note", "description"), pl.String())
    | {"rows_needed": pl.Int64()}
    | dict.fromkeys(("effective_rows", "effective_rows_needed"), pl.Float64())
    | dict.fromkeys(("days_needed", "coverage", "limit"), pl.Float64())
    | {"comparison": pl.String(), "confidence": pl.Float64(), "group": pl.String(), "key": pl.String()}
)
OF_RULES = (
    *("name", "severity", "windows", "reference", "since", "e_value", "description"),
    *("days_needed", "coverage"),
)  # of histories
LIMIT, COMPARISON = hidden("limit"), hidden("comparison")
FEW_EFFECTIVE = ("few_rows", "few_rows_differ")
NO_INTERVAL = pl.all_horizontal(pl.col(LIMITS).is_null())


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of `Report.check` or `check`. ``frame`` has one row per rule, group, and key, such as the threshold.

    Columns: ``rule``, ``where``, ``rows``, ``value``, ``lower`` and ``upper`` (certified bounds), ``ci_lower`` and
    ``ci_upper`` (each endpoint at the confidence level, null without an interval), ``verdict``, ``reasons`` (codes that
    explain the verdict), ``passes``, ``note`` (why there is no value, or a remark on it), ``rows_needed`` (how many
    rows of this mix would decide an open verdict, if the value stays), ``effective_rows`` and ``effective_rows_needed``
    (if there are too few), ``limit`` and ``comparison``: the value must be, for example, ``>=`` the limit, the
    ``confidence`` of each endpoint, and ``group`` and ``key``, such as the threshold, the parts of ``where``. Rules of
    a history add ``name``, ``severity``, ``windows`` (the first and the last), ``reference`` (the metric in the
    reference period if ``value`` is its change), ``since`` and ``e_value`` (of a rule with an alarm), ``description``,
    ``days_needed``: the number of days with about ``rows_needed`` rows, if they are like those checked, and
    ``coverage``: the share of labels that have arrived, null if the history has no `Joiner`.

    The verdict is ``"holds"`` or ``"breached"`` if the certified bounds and the confidence interval, widened by them,
    are on one side of the limit, ``"open"`` (inconclusive) if not, ``"too few rows"`` if a group has fewer than
    ``min_rows`` rows, and ``"undefined"`` without a value. If there are more than forty rows, printing shows only rules
    that do not hold.

    Reasons for an open verdict are ``few_rows_of_class``, ``few_rows`` and ``few_rows_differ`` (too few effective
    rows), ``no_interval`` (of a difference), ``wide_bounds`` and ``at_limit`` (no number of rows decides),
    ``false_discovery_rate`` (it would be breached alone), ``few_labels`` (too few have arrived), and ``short_history``
    (shorter than the period). Other reasons are ``bounds_only`` (there is no interval, so the verdict applies to the
    evaluated rows), ``before_labels`` (the interval contains the bounds), ``incomplete_period`` (which newer windows
    are in), and ``no_window`` (in the period).

    ``by`` has the group columns, and ``"model"``. ``note`` has lines of text below the verdicts.

    >>> verdicts = Verdicts(pl.DataFrame({"verdict": ["holds", "breached"], "passes": [True, False]}))
    >>> verdicts.hold, verdicts.frame["verdict"].to_list()
    (False, ['holds', 'breached'])
    """

    frame: pl.DataFrame
    by: tuple[str, ...] = ()
    note: str = ""

    @property
    def hold(self) -> bool:
        """Whether the check passes: no rule is breached or undefined, except for rules of severity ``"warn"``.

        ``"open"`` and ``"too few rows"`` also pass, unless the check or the rule has ``open="fail"``.
        """
        return bool(self.frame["passes"].all())

    @property
    def plot(self) -> show.VerdictsPlot:
        """The chart of the verdicts, ``verdicts.plot.limits()``. Requires the ``plot`` extra."""
        return show.VerdictsPlot(self.frame)

    def __bool__(self) -> bool:
        raise SpecificationError("Verdicts are neither true nor false. Use .hold, which is whether the check passes.")

    def _repr_html_(self) -> str:
        return show.in_notebook((), self._tables())

    def __str__(self) -> str:
        width = terminal_width()
        return as_text(*self._tables(width), width=width)

    def _tables(self, width: int | None = None) -> list[Table]:
        return with_notes(verdict_tables(self.frame, self.by, width), *self.note.splitlines())

    def _every(self) -> list[Table]:
        """All verdicts, as pages show them."""
        return with_notes([every_verdict(self.frame)], *self.note.splitlines())

    def __repr__(self) -> str:
        return str(self)


def levels(confidence: float | None, open: str, min_rows: int) -> tuple[float | None, int]:
    """Return the level of two-sided intervals whose endpoints each have the given level, and the minimum of rows."""
    if not isinstance(open, str) or open not in PASSING:
        raise SpecificationError(Argument("open"), f" must be 'pass' or 'fail', got {open!r}.")
    least = whole(Argument("min_rows"), min_rows, least=1)
    if confidence is None:
        return None, least
    require_level(Argument("confidence"), confidence, above=0.5)
    return 2 * confidence - 1, least


def nonempty(estimates: pl.DataFrame) -> pl.DataFrame:
    """Return estimates, or one without a value if there are none, so that each rule has a verdict."""
    none = estimates.select(pl.exclude(keys_of(estimates))).clear(1)
    return none.with_columns(pl.lit("no_rows", Status).alias(STATUS)) if estimates.is_empty() else estimates


def judged(
    estimates: pl.DataFrame,
    required: Requirement,
    min_rows: int,
    *,
    sampled: bool,
    units: bool,
    bounded: bool = False,
    undecided: Mapping[str, pl.Expr],
    needed: pl.Expr | None,
) -> pl.DataFrame:
    """Return estimates, with their `ROWS`, with the `VERDICT` on a requirement, its reasons, and `NEEDED`.

    It ``"holds"`` or is ``"breached"`` if the bounds and the confidence interval, widened by them, lie on one side of
    the limit. Otherwise it is ``"open"``. Estimates without an interval are decided by their bounds, which is a reason
    if rows are ``sampled``. Those without a value are ``"undefined"``, and groups with fewer than ``min_rows`` rows
    have ``"too few rows"``.

    Args:
        estimates: The estimates.
        required: The requirement.
        min_rows: Minimum number of rows of a group.
        sampled: Whether the verdicts are about more than these rows.
        units: Whether effective rows are units.
        bounded: Whether intervals contain the bounds.
        undecided: Reasons for an open verdict besides the interval, and when they apply. That a class has too few
            rows for an interval is always one.
        needed: Number of rows that would decide open verdicts: at least `MOST_ROWS` if none does, null if unknown.
    """
    value = pl.col("value")
    limits = map(pl.col, LIMITS) if bounded else outer_limits()
    low, high = ([pl.col(bound), limit] for bound, limit in zip(("lower", "upper"), limits, strict=True))
    worst, best = (low, high) if required.wants_high else (high, low)
    undecided = {"few_rows_of_class": pl.col(STATUS) == "few_rows_of_class", **undecided}
    is_undecided = pl.any_horizontal(hidden(code) for code in undecided)

    def met(ends: list[pl.Expr], expected: bool) -> pl.Expr:
        by_bound, by_limit = (required.holds(end) == expected for end in ends)
        decided: pl.Expr = by_bound & (NO_INTERVAL | by_limit.fill_null(False))
        return decided

    verdict = (
        pl.when(pl.col(ROWS).is_between(1, min_rows, closed="left"))
        .then(pl.lit("too few rows"))
        .when(value.is_null())
        .then(pl.lit("undefined"))
        .when(is_undecided)
        .then(pl.lit("open"))
        .when(met(worst, True))
        .then(pl.lit("holds"))
        .when(met(best, False))
        .then(pl.lit("breached"))
        .otherwise(pl.lit("open"))
    )
    number = pl.lit(None, pl.Float64) if needed is None else needed
    estimates = estimates.with_columns(*because(**undecided), number.alias(NEEDED))
    estimates = estimates.with_columns(verdict.alias(VERDICT))  # in steps, since Polars repeats parts of expressions
    number, is_open = pl.col(NEEDED), pl.col(VERDICT) == "open"
    undecidable = pl.when(number.is_null()).then(~is_undecided).otherwise(number >= MOST_ROWS)
    never = is_open & undecidable & (needed is not None)
    is_bounded = (pl.col("lower") < pl.col("upper")).fill_null(False)
    without_interval = NO_INTERVAL & ~is_undecided & value.is_not_null()
    reasons = {"bounds_only": without_interval & sampled, "wide_bounds": never & is_bounded}
    number = pl.when(is_open & (number < MOST_ROWS)).then(number.clip(pl.col(ROWS)).round_sig_figs(2).round())
    return estimates.with_columns(
        pl.lit(required.limit).alias(LIMIT),
        pl.lit(required.comparison).alias(COMPARISON),
        pl.lit(enough_rows(units)).alias(ENOUGH_ROWS),
        number.cast(pl.Int64).alias(NEEDED),
        *because(at_limit=never & ~is_bounded, **reasons),
    )


def verdict_rows(
    verdicts: pl.DataFrame,
    rule: object,
    by: Sequence[str],
    passes: pl.Expr,
    confidence: float | None,
    **of_rules: pl.Expr,
) -> pl.DataFrame:
    """Return the frame of `Verdicts` of judged estimates with notes. Rules of a history add the columns `OF_RULES`."""
    keys = keys_of(verdicts)
    is_open = pl.col(VERDICT) == "open"
    applying = {code: pl.col(hidden(code)) for code in REASONS if hidden(code) in verdicts.columns}
    applying |= {code: condition & is_open for code, condition in applying.items() if code in WHY_OPEN}
    codes = [pl.when(condition).then(pl.lit(code)) for code, condition in applying.items()]
    is_few = pl.any_horizontal(pl.lit(False), *(applying[code] for code in FEW_EFFECTIVE if code in applying))
    columns = {name: pl.col(name) for name in (*VALUE, *LIMITS, "note")} | of_rules
    columns |= {"rule": pl.lit(str(rule)), "where": where(verdicts.select(keys), by)}
    columns |= {"group": where(verdicts.select(c for c in keys if c in by), by)}
    columns |= {"key": where(verdicts.select(c for c in keys if c not in by), by)}
    columns |= {"confidence": pl.lit(confidence, pl.Float64)}
    columns |= {"rows": pl.col(ROWS), "rows_needed": pl.col(NEEDED), "verdict": pl.col(VERDICT), "passes": passes}
    columns |= {"limit": pl.col(LIMIT), "comparison": pl.col(COMPARISON)}
    columns |= {"reasons": pl.concat_list(pl.lit(None, pl.String), *codes).list.drop_nulls()}
    columns |= {"effective_rows": pl.when(is_few).then(EFFECTIVE_ROWS)}
    columns |= {"effective_rows_needed": pl.when(is_few).then(ENOUGH_ROWS)}
    schema = pl.Schema({name: kind for name, kind in SCHEMA.items() if name in columns})
    return verdicts.select(columns[name].alias(name) for name in schema).cast(schema)


def check(
    report: Report, requirements: Sequence[str], confidence: float | None, open: str, min_rows: int, **keys: Any
) -> Verdicts:
    """Return the verdict on each requirement, with one row per requirement, group, and key. See `Report.check`."""
    two_sided, min_rows = levels(confidence, open, min_rows)
    report, passes = report.with_confidence(two_sided), pl.col(VERDICT).is_in(PASSING[open])
    parts = [pl.DataFrame(schema={name: kind for name, kind in SCHEMA.items() if name not in OF_RULES})]
    for required in map(Requirement.parse, requirements):
        metric = report.find(required.metric)
        required.require_within(*metric.range)
        rows = with_row_count(report._sampled_rows(required.metric, **keys), report.state, ROWS)
        rows = rows.with_columns(NO_LIMITS) if confidence is None else rows
        units = report.folds is not None
        verdicts = judged(
            nonempty(rows),
            required,
            min_rows,
            sampled=confidence is not None and not metric.interval.is_total,
            units=units,
            undecided={"few_rows": few_effective(units=units)},
            needed=rows_to_decide(required.limit, metric.range, units=units),
        )
        parts.append(verdict_rows(with_note(verdicts, [metric]), required, report.by, passes, confidence))
    return Verdicts(pl.concat(parts), tuple(report.by))


publish("streammetrics", Verdicts)
