"""The first screen of a report: a headline, what it rests on, one picture of what is worst, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from streammetrics.base import cutoff, markup, minus, percentage, readable, rows
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import LONGEST_SENTENCE, MetricError, cut, escaped
from streammetrics.metrics import FEWEST, words
from streammetrics.reading import Finding
from streammetrics.show import charts
from streammetrics.show.charts.axes import Spec
from streammetrics.show.pages.findings import findings_list, headline
from streammetrics.show.pages.pictures import figures

if TYPE_CHECKING:
    from streammetrics.reading import Diagnosis
    from streammetrics.report import Report

ONE_CLASS = "SM502"  # which explains the other findings


class Action(NamedTuple):
    """What to do about findings: their codes, and an instruction, or one with the column or the groups they name."""

    codes: tuple[str, ...]
    instruction: str
    of_groups: str = ""


ACTIONS: Final = (
    Action(("SM502", "SM503"), "Evaluate more rows of the rare class."),
    Action(("SM201",), "Check labels and scores: one may be that of the other class."),
    Action(("SM202",), "Check which score is evaluated, and that it belongs to these rows."),
    Action(("SM100", "SM101", "SM102", "SM105"), "Recalibrate. The ranking stays.", "Recalibrate by {column}."),
    Action(("SM103", "SM104"), "Correct the mean error.", "Correct the mean error by {column}."),
    Action(("SM203", "SM205"), "Do not use these values: a constant is better."),
    Action(("SM204", "SM301", "SM302"), "Choose another threshold."),
    Action(("SM303",), "Check the labels that are never predicted."),
    Action(("SM401",), "Look at this slice first.", "Look at {groups} first."),
    Action(("SM501",), "Find out why rows were dropped."),
    Action(("SM504",), "Check whether the most frequent score is a default value."),
    Action(("SM505",), "Narrow the bounds."),
    Action(("SM506",), "Check what the weights are."),
    Action(("SM507", "SM508"), "Evaluate scores that are not rounded, if losses matter."),
    Action(("SM601",), "Check the columns of the models."),
)


class Fact(NamedTuple):
    """A property of a model: the metric that shows it, the codes of its faults, and the form of its value."""

    metric: str
    codes: tuple[str, ...]
    form: Callable[[float], str] = "{:.3g}".format


FACTS: Final = (
    Fact("roc_auc", ("SM201", "SM202")),
    Fact("roc_auc(average=macro)", ("SM201", "SM202")),
    Fact("calibration_ratio", ("SM101", "SM102", "SM105", "SM203")),
    Fact("recall", ("SM204", "SM301", "SM302"), percentage),
    Fact("accuracy", ("SM100", "SM204", "SM303"), percentage),
    Fact("r2", ("SM205", "SM401")),
    Fact("bias", ("SM103", "SM104")),
)
INSTEAD = {"accuracy": "recall"}  # of which the former says little if the latter is known
SYMBOLS = {"bad": "✗", "warn": "!", "info": "i", "ok": "✓"}


def verdict(total: Report, findings: Sequence[Finding], diagnosis: Diagnosis) -> str:
    """Return the worst findings as a sentence about the model, or that there are too few rows, or none."""
    size = _most_rows(total)
    of_rows = f"{size:,} {'row' if size == 1 else 'rows'}"
    if is_too_small(total):
        return f"{of_rows}: too few to judge" if size else "No rows were evaluated"
    faults = [finding for finding in findings if finding.severity != "info"]
    faults.sort(key=lambda finding: finding.code != ONE_CLASS)
    ranks_well = diagnosis.ranks_well()
    if not faults:
        good = ", and the ranking is good" * ranks_well
        return f"Nothing stands out in {of_rows}{good}{_most_confused(total)}"
    return headline(faults, "ranks well, but " * ranks_well)


def _most_confused(total: Report) -> str:
    """The most frequent confusion of labels of a single model in words, as the end of a sentence."""
    with suppress(MetricError):
        pairs = total.most_confused(1).rename({"share_of_actual": "share"})
        names = [readable(pairs[c]).fill_null("null") for c in ("actual", "predicted")]
        return "".join(f", but {escaped(charts.confusion_in_words(pair))}" for pair in rows(pairs.with_columns(names)))
    return ""


def summary(report: Report, total: Report, findings: Sequence[Finding], diagnosis: Diagnosis, interactive: bool) -> str:
    """Return the properties of a single model, one picture of what is worst, and what to do."""
    cards = what_to_do(findings, diagnosis.not_found(findings)) + picture(report, total, findings, interactive)
    return f'{facts(total, findings)}<div class="first" id="findings">{cards}</div>'


def facts(total: Report, findings: Sequence[Finding]) -> str:
    """Return the properties of a single model, each with its metric and whether a finding is about it."""
    if MODEL in total.by:
        return ""
    items = (
        f'<li class="{level}"><span>{SYMBOLS[level]}</span> {markup(minus(text))}</li>'
        for level, text in _facts(total, findings)
    )
    return f'<ul class="facts">{"".join(items)}</ul>'


def _facts(total: Report, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    shown = set[str]()
    for metric, codes, form in FACTS:
        estimates = total.rows(metric).drop_nulls("value") if total.readable(metric) else pl.DataFrame()
        if estimates.height == 1 and INSTEAD.get(metric) not in shown:
            shown.add(metric)
            row = estimates.row(0, named=True)
            at = f" at threshold {cutoff(row['threshold'])}" if row.get("threshold") is not None else ""
            level = next((finding.severity for finding in findings if finding.code in codes), "ok")
            yield level, f"{words(total.find(metric))} {form(row['value'])}{at}"


def picture(report: Report, total: Report, findings: Sequence[Finding], interactive: bool) -> str:
    """Return a chart of the first finding that has one, or what shows most about a model without findings."""
    for maker in _pictures(report, total, findings):
        if drawn := figures("first", [maker], interactive, columns=2):
            return drawn
    return ""


def _pictures(report: Report, total: Report, findings: Iterable[Finding]) -> Iterator[Callable[[], Spec]]:
    windows = charts.window_of(report)
    first = [column for column in report.by if column not in (MODEL, *windows)][:1]
    for finding in findings:
        of = {key: finding.keys[key] for key in (MODEL, LABEL) if key in finding.keys}
        columns = [column for column in finding.keys if column in report.by and column != MODEL] or first
        match finding.code:
            case "SM101" | "SM102":
                yield from (partial(charts.rates, report, by, **of) for by in columns[:1])
                yield partial(charts.quantile_calibration, total, **of)
            case "SM105":
                yield partial(charts.quantile_calibration, total, **of)
            case "SM201" | "SM202" | "SM203" | "SM504":
                yield partial(charts.scores, total, **of)
            case "SM100":
                yield partial(charts.stated, total, **of)
            case "SM303":
                yield partial(charts.confusion, total, **of)
            case "SM103" | "SM104" | "SM205":
                yield partial(charts.errors, total, **of)
            case "SM401" if finding.metric and first:
                yield from (partial(charts.segments, report, finding.metric, by) for by in columns[:1])
            case "SM204" | "SM301" | "SM302":
                yield partial(charts.thresholds, total)
    yield partial(charts.quantile_calibration, total)
    yield partial(charts.rec, total)
    yield partial(charts.confusion, total)


def what_to_do(findings: Sequence[Finding], not_found: Sequence[str]) -> str:
    """Return actions in the order of the findings that they are about, and what was checked without a finding."""
    items = ""
    for action in sorted(ACTIONS, key=partial(_place, findings)):
        if about := [finding for finding in findings if finding.code in action.codes]:
            items += (
                f"<li><b>{markup(cut(_instruction(action, about), LONGEST_SENTENCE))}</b>{findings_list(about)}</li>"
            )
    actions = f'<h2>What to do</h2><ol class="todo">{items}</ol>' if items else "<h2>Nothing to do</h2>"
    also, names = "Also checked" if items else "Checked", markup(", ".join(not_found))
    checked = f'<p class="sub">{also}, without a finding: {names}.</p>' if names else ""
    return f'<section class="card" aria-label="What to do">{actions}{checked}</section>'


def _place(findings: Sequence[Finding], action: Action) -> int:
    """The place of the first finding that an action is about."""
    return next((i for i, finding in enumerate(findings) if finding.code in action.codes), len(findings))


def _instruction(action: Action, findings: Sequence[Finding]) -> str:
    named = next(filter(None, map(_groups, findings)), {})
    if not action.of_groups or not named:
        return action.instruction
    groups = " & ".join(f"{column} = {value}" for column, value in named.items())
    return action.of_groups.format(column=next(iter(named)), groups=groups)


def _groups(finding: Finding) -> dict[str, str]:
    """The groups that a finding is about, by column, as text."""
    keys = {column: value for column, value in finding.keys.items() if column not in (MODEL, LABEL, "threshold")}
    return {escaped(column): escaped(str(value)) for column, value in keys.items()}


def is_too_small(total: Report) -> bool:
    """Whether there are too few rows to judge a model by."""
    return _most_rows(total) < FEWEST


def _most_rows(total: Report) -> int:
    return int(total.rows("rows")["value"].max() or 0)  # type: ignore[arg-type]
