"""Content of the page of a history: metrics, rows, and drift of every segment over time, and what rules find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import KEPT, LIMITS, METRIC, NEEDED, VALUE, VERDICT, capitalized, hidden, keys_of, text, where
from streammetrics.comparison import Drift, drift, drift_over
from streammetrics.data import MODEL, several
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.metrics import Metric, better, words
from streammetrics.monitor.history.checks import ALL_ROWS, rank, worst_first
from streammetrics.monitor.history.history import AT_ONCE, History
from streammetrics.monitor.history.rules import COVERAGE, Rule, metric_of, name_of, rules_of, title_of
from streammetrics.monitor.history.verdicts import verdicts_by_window
from streammetrics.monitor.history.window import after, before, clock, time_of
from streammetrics.reading import columns_of, distributions
from streammetrics.show import BREACH, prose

ROWS, DROPPED, SCORED, PSI = "rows", "dropped", "rows with or without labels", "psi"
VOLUME = (ROWS, DROPPED)
CHANCE = "PSI by chance"
MEASURED = ("y_score", "y_pred", "error", "y_true")  # distributions; drift is measured for the first available one
REFERENCE = 28  # maximum number of reference windows, at most a quarter of all
BINS = 10  # of the PSI
INFINITE = float("inf")
SEGMENT, CUT, PLACE, RUN = hidden("segment"), hidden("cut"), hidden("place"), hidden("run")
OF_PSI = "By convention, 0.1 and 0.25 are limits of small and large drift. Without drift, values are near the line."

UNITS: dict[float, str] = {1 / 24: "hours", 1: "days", 7: "weeks"}  # names of windows, by their usual distance in days

Period: TypeAlias = str | tuple[Any, Any]
Cut: TypeAlias = tuple[str, ...]  # group columns that define segments


@dataclass(frozen=True)
class Measure:
    """A chart for each segment: rows with columns `SEGMENT`, `CUT`, the window, ``series``, values and bounds.

    ``axis`` is the title of the axis of values, which lie in a ``range``. A higher ``value`` is worse if ``high`` is
    set. The segments that come ``first`` are the worst of a rule, whose ``limit`` is a line.
    """

    title: str
    rows: pl.DataFrame
    names: tuple[str, ...]
    axis: str
    range: tuple[float, float]
    description: str
    high: bool = True
    limit: tuple[float, ...] = ()
    confidence: float | None = None
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedRule:
    """A rule with its verdicts in each segment and window: columns `SEGMENT`, `CUT`, the window, and of verdicts."""

    rule: Rule
    rows: pl.DataFrame
    windows: pl.Series

    @property
    def name(self) -> str:
        """Its name, or the rule in words."""
        return name_of(self.rule)

    @cached_property
    def newest(self) -> pl.DataFrame:
        """Segments with a verdict at the newest window that the rule checks, the worst first.

        Columns: ``segment``, ``verdict``, ``duration`` (in how many windows it is breached), ``rows_needed``,
        ``coverage`` (the share of labels that have arrived), the value, its bounds, and its interval.
        """
        window = self.windows.name
        worst = self.rows.sort(rank(VERDICT), maintain_order=True)
        worst = worst.unique([SEGMENT, window], keep="first", maintain_order=True).sort(window, maintain_order=True)
        is_breached, times = pl.col(VERDICT) == "breached", unit_of(self.windows)
        often = pl.format(f"{{}} of {{}} {times}", is_breached.sum(), pl.len())
        last = worst.group_by(segment=SEGMENT, maintain_order=True).agg(
            pl.last(VERDICT).alias("verdict"),
            pl.last(*VALUE, *LIMITS, window),
            pl.last(NEEDED).alias("rows_needed"),
            pl.last(COVERAGE).alias("coverage"),
            duration=pl.when(is_breached.last()).then(often).when(is_breached.any()).then("breached on " + often),
        )
        return worst_first(last.filter(pl.col(window) == pl.max(window)).drop(window), self.rule)

    @property
    def breaches(self) -> pl.DataFrame:
        """Breaches in windows one after the other: `SEGMENT`, the numbers of the ``first`` and ``last``, ``rule``."""
        window = self.windows.name
        places = pl.DataFrame({window: self.windows}).with_row_index(PLACE)
        breached = self.rows.filter(pl.col(VERDICT) == "breached").select(SEGMENT, CUT, window).unique()
        numbered = breached.cast({window: self.windows.dtype}).join(places, on=window).sort(SEGMENT, PLACE)
        run = pl.col(PLACE).cast(pl.Int64) - pl.int_range(pl.len()).over(SEGMENT)
        runs = numbered.group_by(SEGMENT, run.alias(RUN), maintain_order=True)
        ends = runs.agg(first=pl.min(PLACE), last=pl.max(PLACE))
        return ends.select(SEGMENT, "first", "last", rule=pl.lit(title_of(self.rule)))

    @property
    def measure(self) -> Measure:
        """The chart of its value at each window, over its own period."""
        rule, required = self.rule, self.rule.required
        line = self.rows.with_columns(series=pl.lit("value"))
        breached = line.filter(pl.col(VERDICT) == "breached").with_columns(series=pl.lit(BREACH))
        return Measure(
            title=self.name,
            rows=pl.concat([line, breached]),
            names=("value", BREACH),
            axis=capitalized(metric_of(rule)),
            range=(-INFINITE, INFINITE),
            description=". ".join(filter(None, (title_of(rule), rule.description))),
            high=not required.wants_high,
            limit=(required.limit,),
            confidence=rule.two_sided,
            first=tuple(self.newest["segment"]),
        )


@dataclass(frozen=True)
class Content:
    """Content of the page of a history."""

    windows: pl.Series
    segments: int
    metrics: list[Measure]
    others: list[Measure]  # numbers of rows, and drift
    rules: list[CheckedRule]
    confidence: float | None

    @cached_property
    def breaches(self) -> pl.DataFrame:
        """Those of all rules, the latest first. See `CheckedRule.breaches`."""
        none = pl.DataFrame(schema={SEGMENT: pl.String, "first": pl.UInt32, "last": pl.UInt32, "rule": pl.String})
        breaches = pl.concat([none, *(rule.breaches for rule in self.rules)])
        return breaches.sort("last", "first", descending=True, maintain_order=True)


def page_content(
    history: History,
    metrics: Sequence[str] | None,
    by: str | Sequence[str] | None,
    times: tuple[date | str | None, date | str | None],
    rules: Rule | Sequence[Rule],
    scores: History | None,
    reference: Period | None,
    confidence: float | None,
) -> Content:
    """Return the content of the page. See `MetricStore.save_html`; ``times`` are ``since`` and ``until``."""
    rules = rules_of(rules, scores)
    is_pair = isinstance(reference, list | tuple) and len(reference) == 2
    if not (reference is None or isinstance(reference, str) or is_pair):
        raise SpecificationError(
            Argument("reference"), f" must be a duration or a (start, end) pair, got {reference!r}."
        )
    windows = _windows(history, scores, *times)
    if any(windows.name in rule.by for rule in rules):
        raise SpecificationError(
            f"Rule field 'by' cannot contain the window {windows.name!r} on a page of the history."
        )
    columns = [c for c in history.empty.roles.by if c != windows.name] if by is None else several(by)
    cuts = list(dict.fromkeys([(), *((c,) for c in columns), *(rule.by for rule in rules)]))
    charted = _metrics(history.empty, metrics, rules)
    every = list(dict.fromkeys([*(metric.name for metric in charted), *VOLUME]))
    estimates = _read_segments(history, windows, cuts, lambda acc, _: acc.finalize(every, confidence=confidence).frame)
    checked = []
    for rule in rules:
        of_rule = scores if rule.before_labels and scores is not None else history
        verdicts = verdicts_by_window(of_rule, rule, windows, history)
        checked.append(CheckedRule(rule, _with_segment(verdicts, rule.by, windows.name), windows))
    early = scores or history  # if rows do not wait for labels
    cuts = [cut for cut in cuts if set(cut) <= set(early.empty.roles.by)]
    counts = estimates.filter(pl.col(METRIC) == ROWS)
    others = estimates.filter(pl.col(METRIC) == DROPPED).filter((pl.col("value") > 0).any())
    if scores is not None:
        counts = _read_segments(scores, windows, cuts, lambda acc, _: acc.finalize([ROWS]).frame)
        others = counts.with_columns(pl.lit(SCORED).alias(METRIC))
    measures = [measure for metric in charted for measure in _metric_measures(metric, estimates, confidence)]
    volume = measures.pop()
    lines = pl.concat([volume.rows, others.with_columns(series=METRIC)], how="diagonal_relaxed")
    counted = [replace(volume, rows=lines, names=(*volume.names, *others[METRIC].unique()))]
    scored = windows.filter(windows.is_in(early.starts.implode()))
    available = distributions(early.empty.state) if len(scored) > 1 else ()
    if of := next((of for of in MEASURED if of in available), None):
        counted.append(_drift_measure(early, windows, scored, cuts, of, reference, counts))
    segments = pl.concat([estimates, counts], how="diagonal_relaxed")[SEGMENT].unique()
    return Content(windows, len(segments) - (ALL_ROWS in segments), measures, counted, checked, confidence)


def _read_segments(
    history: History,
    windows: pl.Series,
    cuts: Sequence[Cut],
    read: Callable[[Accumulator, Cut], pl.DataFrame],
    back: str | None = None,
) -> pl.DataFrame:
    """What is read of each segment of all cuts, in all windows, a few windows at a time.

    With ``back``, so much time before each window is read with it.
    """
    times, window = clock(windows), windows.name
    columns = dict.fromkeys(column for cut in cuts for column in cut)
    frames: dict[Cut, list[pl.DataFrame]] = {cut: [] for cut in cuts}
    for i in range(0, len(times), AT_ONCE):
        some = times[i : i + AT_ONCE]
        since = some.head(1) if back is None else before(some.head(1), back)
        acc = history.ask(since.item(), some.tail(1).dt.offset_by("1us").item(), (window, *columns))
        for cut in cuts:
            frame = read(acc.rollup(window, *cut), cut)
            frames[cut].append(frame.filter(pl.col(window).is_in(windows[i : i + AT_ONCE].implode())))
    parts = [_with_segment(pl.concat(some, how="diagonal_relaxed"), cut, window) for cut, some in frames.items()]
    return pl.concat(parts, how="diagonal_relaxed")


def _with_segment(frame: pl.DataFrame, cut: Cut, window: str) -> pl.DataFrame:
    """The rows of a cut, sorted by segment, with their segment in words."""
    keys = [c for c in keys_of(frame) if c not in (window, *KEPT)]
    frame = frame.sort(keys, maintain_order=True) if keys else frame
    segment = where(frame.select(keys), keys) if keys else pl.lit(ALL_ROWS)
    columns = [c for c in frame.columns if c not in keys or c == MODEL]
    return frame.select(*columns, segment.alias(SEGMENT), pl.lit("/".join(cut)).alias(CUT))


def _metric_measures(metric: Metric, estimates: pl.DataFrame, confidence: float | None) -> list[Measure]:
    """A metric, at each threshold and of each label if there are several."""
    rows = estimates.filter(pl.col(METRIC) == metric.name)
    keys = [c for c in KEPT if c in rows.columns]
    is_one = not keys or rows.select(keys).n_unique() == 1
    description = " ".join(filter(None, (prose(metric), better(metric))))
    measures = []
    for part in rows.partition_by(keys, maintain_order=True) if keys else [rows]:
        name = words(metric) if is_one else text.named(part.row(0, named=True), keys)
        line = part.with_columns(series=pl.lit(name))
        high = metric.better != "high"
        measures.append(
            Measure(name, line, (name,), words(metric), metric.range, description, high, confidence=confidence)
        )
    return measures


def _drift_measure(
    history: History,
    windows: pl.Series,
    scored: pl.Series,
    cuts: Sequence[Cut],
    of: str,
    reference: Period | None,
    counts: pl.DataFrame,
) -> Measure:
    """The PSI of a distribution; and that which sampling alone gives, against a fixed reference."""
    window = windows.name

    def psi(moved: Drift) -> pl.DataFrame:
        return moved.frame.filter(measure=PSI).drop("of").rename({"measure": METRIC})

    if isinstance(reference, str):
        against = f"the {reference} before each window"

        def rolling(acc: Accumulator, _: Cut) -> pl.DataFrame:
            return psi(drift_over(acc.finalize([ROWS]), window, reference=reference, of=of))

        lines = _read_segments(history, windows, cuts, rolling, reference).with_columns(series=METRIC)
    else:
        size = max(1, min(REFERENCE, len(scored) // 4))
        start, end = reference or (scored[0], scored[min(size, len(scored) - 1)])
        against = f"{start} to {end}"
        if reference is None:
            size, which = (scored < end).sum(), " with scores" if len(scored) < len(windows) else ""
            against = f"the first {f'{size} windows' if size > 1 else 'window'}{which}"
        total = history.ask(start, end, tuple(dict.fromkeys(column for cut in cuts for column in cut)))
        base = {cut: total.rollup(*cut).finalize([ROWS]) for cut in cuts}

        def fixed(acc: Accumulator, cut: Cut) -> pl.DataFrame:
            return psi(drift(base[cut], acc.finalize([ROWS]), of=of))

        lines = _read_segments(history, windows, cuts, fixed).with_columns(series=METRIC)
        sizes = [_with_segment(report.frame, cut, window).select(SEGMENT, base="value") for cut, report in base.items()]
        both = counts.join(pl.concat(sizes), on=SEGMENT).filter(pl.col("value") > 0, pl.col("base") > 0)
        chance = (BINS - 1) * (1 / pl.col("value") + 1 / pl.col("base"))
        expected = both.select(
            SEGMENT, CUT, window, pl.lit(CHANCE).alias("series"), value=chance, lower=chance, upper=chance
        )
        lines = pl.concat([lines, expected], how="diagonal_relaxed")
    names = (PSI, *([CHANCE] if CHANCE in lines["series"] else []))
    description = f"PSI compares the distribution of {of} with {against}. {OF_PSI}"
    return Measure(f"Drift of {of}", lines, names, "PSI", (0.0, INFINITE), description)


def unit_of(windows: pl.Series) -> str:
    """Return what windows are called: days if there is one per day, and so on."""
    step = clock(windows).diff().median()
    days = step / timedelta(days=1) if isinstance(step, timedelta) else 0
    return "months" if 28 <= days <= 31 else UNITS.get(days, "windows")


def _windows(history: History, scores: History | None, since: Any, until: Any) -> pl.Series:
    starts = [side.starts for side in (history, scores) if side is not None]
    if starts[0].dtype != starts[-1].dtype or starts[0].name != starts[-1].name:
        raise SpecificationError("Both histories must have the same window column, of the same type.")
    windows = every = pl.concat(starts).unique().sort()
    if since is not None:
        windows = windows.filter(clock(windows) >= time_of(since, windows)[0])
    if until is not None:
        windows = windows.filter(clock(windows) < time_of(until, windows)[0])
    if windows.is_empty():
        newest = "" if every.is_empty() else f" in this time range. Newest window: {every[-1]}"
        raise StateError(f"The history at {history.place.uri} has no windows{newest}.")
    after(windows)  # which must be a time
    return windows


def _metrics(empty: Accumulator, metrics: Sequence[str] | None, rules: Sequence[Rule]) -> list[Metric]:
    """The metrics of rules, and requested ones or the first of each statistic; the number of rows last."""
    names = [rule.required.metric for rule in rules if rule.measure is None and not rule.before_labels]
    if metrics is None:
        usual = [metric for metric in empty.finalize().metrics if metric.name not in VOLUME]
        tables = columns_of(empty.statistics, empty.roles.labels)
        first = [next((m for m in usual if m.readable(table)), None) for table in tables]
        names += [m.name for m in usual if m in first]
    else:
        names += several(metrics)
    names = sorted(names, key=lambda name: name in VOLUME)  # which the page has below every metric
    chosen = dict.fromkeys(empty.finalize([*names, ROWS]).metrics)
    return sorted(chosen, key=lambda metric: metric.name == ROWS)
