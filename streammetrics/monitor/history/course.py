"""Content of the page of a history: metrics, rows, and drift of every segment over time, and breaches of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import KEPT, METRIC, hidden, keys_of, text, where
from streammetrics.comparison import drift, drift_over
from streammetrics.data import MODEL, several
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.metrics import Metric, better, words
from streammetrics.monitor.history.history import AT_ONCE, History
from streammetrics.monitor.history.ruled import ALL_ROWS, CUT, SEGMENT, Ruled, title_of
from streammetrics.monitor.history.rules import Rule, require_scores, rules_of
from streammetrics.monitor.history.verdicts import verdicts_by_window
from streammetrics.monitor.history.window import after, before, clock, time_of
from streammetrics.reading import columns_of, distributions
from streammetrics.show import prose

ROWS, DROPPED, SCORED, DRIFT = "rows", "dropped", "rows with or without labels", "psi"
VOLUME = (ROWS, DROPPED)
CHANCE = "PSI by chance"
MEASURED = ("y_score", "y_pred", "error", "y_true")  # distributions; drift is measured for the first available one
REFERENCE = 28  # maximum number of reference windows, at most a quarter of all
BINS = 10  # of the PSI
PLACE, RUN = hidden("place"), hidden("run")
OF_PSI = "By convention, 0.1 and 0.25 are limits of small and large drift. Without drift, values are near the line."

Period: TypeAlias = str | tuple[Any, Any]
Cut: TypeAlias = tuple[str, ...]
Part: TypeAlias = tuple[Cut, pl.DataFrame]


@dataclass(frozen=True)
class Measure:
    """A chart for each segment: rows with columns `SEGMENT`, the window, ``series``, values and bounds.

    ``axis`` is the title of the axis of values, which lie ``within`` a range. A higher ``value`` is worse if ``high``
    is set. ``limits`` has the limits of rules, by segment. The segments that come ``first`` are the worst of a rule.
    """

    title: str
    rows: pl.DataFrame
    names: tuple[str, ...]
    axis: str
    within: tuple[float, float]
    what: str
    high: bool
    limits: dict[str, list[float]]
    confidence: float | None
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Course:
    """Content of the page of a history.

    ``ruled`` has the rules, those breached now first. ``breaches`` has columns `SEGMENT`, ``first`` and ``last``
    (numbers of windows), and ``rule``, the latest first.
    """

    windows: pl.Series
    segments: int
    measures: list[Measure]
    ruled: list[Ruled]
    breaches: pl.DataFrame
    confidence: float | None

    @property
    def rules(self) -> int:
        """The number of rules."""
        return len(self.ruled)


def course(
    history: History,
    metrics: Sequence[str] | None,
    by: str | Sequence[str] | None,
    times: tuple[date | str | None, date | str | None],
    rules: Rule | Sequence[Rule],
    scores: History | None,
    reference: Period | None,
    confidence: float | None,
) -> Course:
    """Return the content of the page. See `MetricStore.save_html`; ``times`` are ``since`` and ``until``."""
    rules = rules_of(rules)
    is_pair = isinstance(reference, list | tuple) and len(reference) == 2
    if not (reference is None or isinstance(reference, str) or is_pair):
        raise SpecificationError(
            Argument("reference"), f" must be a duration or a (start, end) pair, got {reference!r}."
        )
    empty, windows = history.empty, _windows(history, scores, *times)
    if any(windows.name in rule.by for rule in rules):
        raise SpecificationError(
            f"Rule field 'by' cannot contain the window {windows.name!r} on a page of the history."
        )
    columns = [c for c in empty.roles.by if c != windows.name] if by is None else several(by)
    grid = Grid(windows, list(dict.fromkeys([(), *((c,) for c in columns), *(rule.by for rule in rules)])))
    names = _metrics(empty, metrics, rules)
    found = _by_segment(grid.estimates(history, list(dict.fromkeys([*names, *VOLUME])), confidence), windows.name)
    require_scores(rules, scores)
    ruled = []
    for rule in rules:
        checked = scores if rule.before_labels and scores is not None else history
        verdicts = verdicts_by_window(checked, rule, windows, history)
        ruled.append(Ruled(title_of(rule), rule, _by_segment([(rule.by, verdicts)], windows.name), windows))
    early = scores or history  # if rows do not wait for labels
    grid = grid.within(early.empty.roles.by)
    counted = found.filter(pl.col(METRIC) == ROWS)
    also = found.filter(pl.col(METRIC) == DROPPED).filter((pl.col("value") > 0).any())
    if scores is not None:
        counted = _by_segment(grid.estimates(scores, [ROWS], None), windows.name)
        also = counted.with_columns(pl.lit(SCORED).alias(METRIC))
    *measures, volume = (
        measure
        for metric in empty.finalize([*(name for name in names if name != ROWS), ROWS]).metrics
        for measure in _of_metric(metric, found, confidence)
    )
    every = pl.concat([volume.rows, also.with_columns(series=METRIC)], how="diagonal_relaxed")
    others = also[METRIC].unique().to_list()
    measures.append(replace(volume, rows=every, names=(*volume.names, *others)))
    scored = windows.filter(windows.is_in(early.starts.implode()))
    if of := _distribution(early.empty, scored):
        period = reference or _first(scored)
        against = _said(period, reference is None, windows, scored)
        what = f"PSI compares the distribution of {of} with {against}. {OF_PSI}"
        moved = _drift(grid, early, of, period, counted)
        drawn = (DRIFT, *([CHANCE] if CHANCE in moved["series"] else []))
        within = (0.0, float("inf"))
        measures.append(Measure(f"Drift of {of}", moved, drawn, "PSI", within, what, True, {}, None))
    segments = pl.concat([found, counted], how="diagonal_relaxed")[SEGMENT].unique()
    return Course(windows, len(segments) - (ALL_ROWS in segments), measures, ruled, _runs(ruled, windows), confidence)


def _by_segment(parts: Iterable[Part], window: str) -> pl.DataFrame:
    """The rows of all cuts, sorted by segment, with their segment in words."""
    of_cuts: dict[Cut, list[pl.DataFrame]] = {}
    for cut, frame in parts:
        of_cuts.setdefault(cut, []).append(frame)
    found = []
    for cut, frames in of_cuts.items():
        frame = pl.concat(frames, how="diagonal_relaxed")
        keys = [c for c in (keys_of(frame) if METRIC in frame.columns else frame.columns) if c not in (window, *KEPT)]
        named = where(frame.sort(keys, maintain_order=True).select(keys), keys) if keys else pl.lit(ALL_ROWS)
        frame = frame.sort(keys, maintain_order=True) if keys else frame
        own = [c for c in frame.columns if c not in keys or c == MODEL]
        found.append(frame.select(*own, named.alias(SEGMENT), pl.lit("/".join(cut)).alias(CUT)))
    return pl.concat(found, how="diagonal_relaxed")


def _of_metric(metric: Metric, found: pl.DataFrame, confidence: float | None) -> Iterator[Measure]:
    """A metric, at each threshold and of each label if there are several."""
    own = found.filter(pl.col(METRIC) == metric.name)
    kept = [c for c in KEPT if c in own.columns]
    alone = own.select(kept).n_unique() == 1 if kept else True
    what = " ".join(filter(None, (prose(metric), better(metric))))
    for rows in own.partition_by(kept, maintain_order=True) if kept else [own]:
        name = words(metric) if alone else text.named(rows.row(0, named=True), kept)
        line = rows.with_columns(series=pl.lit(name))
        high = metric.better != "high"
        yield Measure(name, line, (name,), words(metric), metric.range, what, high, {}, confidence)


def _drift(grid: Grid, early: History, of: str, period: Period, counted: pl.DataFrame) -> pl.DataFrame:
    """The PSI of every segment and window, and that which sampling alone gives against a fixed reference."""
    window = grid.windows.name
    if isinstance(period, str):
        return _by_segment(grid.drifts(early, of, period), window).with_columns(series=METRIC)
    base = grid.reference(early, *period)
    moved = _by_segment(grid.drifts(early, of, base), window).with_columns(series=METRIC)
    sizes = _by_segment([(cut, acc.finalize([ROWS]).frame) for cut, acc in base.items()], window)
    both = counted.join(sizes.select(SEGMENT, base="value"), on=SEGMENT).filter(pl.col("value") > 0, pl.col("base") > 0)
    chance = (BINS - 1) * (1 / pl.col("value") + 1 / pl.col("base"))
    expected = both.select(
        SEGMENT, CUT, window, pl.lit(CHANCE).alias("series"), value=chance, lower=chance, upper=chance
    )
    return pl.concat([moved, expected], how="diagonal_relaxed")


def _runs(ruled: Sequence[Ruled], windows: pl.Series) -> pl.DataFrame:
    """Breaches in windows one after the other, the latest first: segment, numbers of the windows, and rule."""
    places = pl.DataFrame({windows.name: windows}).with_row_index(PLACE)
    parts = [pl.DataFrame(schema={SEGMENT: pl.String, "first": pl.UInt32, "last": pl.UInt32, "rule": pl.String})]
    for one in ruled:
        numbered = one.breached.cast({windows.name: windows.dtype}).join(places, on=windows.name).sort(SEGMENT, PLACE)
        run = pl.col(PLACE).cast(pl.Int64) - pl.int_range(pl.len()).over(SEGMENT)
        ends = numbered.group_by(SEGMENT, run.alias(RUN), maintain_order=True).agg(
            first=pl.min(PLACE), last=pl.max(PLACE)
        )
        parts.append(ends.select(SEGMENT, "first", "last", rule=pl.lit(one.title)))
    return pl.concat(parts).sort("last", "first", descending=True, maintain_order=True)


def _windows(history: History, scores: History | None, since: Any, until: Any) -> pl.Series:
    found = [own.starts for own in (history, scores) if own is not None]
    if found[0].dtype != found[-1].dtype or found[0].name != found[-1].name:
        raise SpecificationError("Both histories must have the same window column, of the same type.")
    windows = every = pl.concat(found).unique().sort()
    if since is not None:
        windows = windows.filter(clock(windows) >= time_of(since, windows)[0])
    if until is not None:
        windows = windows.filter(clock(windows) < time_of(until, windows)[0])
    if windows.is_empty():
        newest = "" if every.is_empty() else f" in this time range. Newest window: {every[-1]}"
        raise StateError(f"The history at {history.place.uri} has no windows{newest}.")
    after(windows)  # which must be a time
    return windows


def _metrics(empty: Accumulator, given: Sequence[str] | None, rules: Sequence[Rule]) -> list[str]:
    """The metrics to choose from: those of rules, and requested ones or the first of each statistic; volume last."""
    usual = [metric for metric in empty.finalize().metrics if metric.name not in VOLUME]
    tables = columns_of(empty.statistics, empty.roles.labels)
    first = [next((m for m in usual if m.readable(table)), None) for table in tables]
    ruled = [rule.required.metric for rule in rules if rule.measure is None and not rule.before_labels]
    counts = [name for name in ruled if name in VOLUME]  # which the page has below every metric
    wanted = [name for name in ruled if name not in VOLUME]
    wanted += [*([m.name for m in usual if m in first] if given is None else several(given)), *counts]
    return list(dict.fromkeys(metric.name for metric in empty.finalize(wanted or [ROWS]).metrics))


def _distribution(empty: Accumulator, windows: pl.Series) -> str | None:
    """The distribution to measure drift of, if available and if there is a window to compare."""
    kept = distributions(empty.state)
    return next((of for of in MEASURED if of in kept), None) if len(windows) > 1 else None


def _first(windows: pl.Series) -> Period:
    size = max(1, min(REFERENCE, len(windows) // 4))
    return windows[0], windows[min(size, len(windows) - 1)]


def _said(period: Period, usual: bool, windows: pl.Series, scored: pl.Series) -> str:
    """A reference in words: as it was given, or the first of the windows with scores."""
    if isinstance(period, str):
        return f"the {period} before each window"
    if not usual:
        return f"{period[0]} to {period[1]}"
    size, which = (scored < period[1]).sum(), " with scores" if len(scored) < len(windows) else ""
    return f"the first {f'{size} windows' if size > 1 else 'window'}{which}"


@dataclass(frozen=True)
class Grid:
    """Windows of a history, and cuts: combinations of group columns that define segments."""

    windows: pl.Series
    cuts: list[Cut]

    @property
    def columns(self) -> list[str]:
        """The group columns of all cuts."""
        return list(dict.fromkeys(column for cut in self.cuts for column in cut))

    def within(self, columns: Sequence[str]) -> Grid:
        """Return the grid of a history that has only some of the group columns."""
        return replace(self, cuts=[cut for cut in self.cuts if set(cut) <= set(columns)])

    def estimates(self, history: History, metrics: Sequence[str], confidence: float | None) -> Iterator[Part]:
        """Return the metrics of every segment and window."""
        for cut, _, acc in self._read(history):
            yield cut, acc.finalize(metrics, confidence=confidence).frame

    def reference(self, history: History, start: Any, end: Any) -> dict[Cut, Accumulator]:
        """Return the merged windows of a time range, for every cut."""
        acc = history.ask(start, end, tuple(self.columns), None)
        return {cut: acc.rollup(*cut) for cut in self.cuts}

    def drifts(self, history: History, of: str, reference: dict[Cut, Accumulator] | str) -> Iterator[Part]:
        """Return the PSI of every segment and window against a fixed or rolling reference."""
        window, back = self.windows.name, reference if isinstance(reference, str) else None
        for cut, windows, acc in self._read(history, back):
            report = acc.finalize(["rows"])
            if isinstance(reference, str):
                moved = drift_over(report, window, reference=reference, of=of)
            else:
                moved = drift(reference[cut].finalize(["rows"]), report, of=of)
            found = moved.frame.filter(pl.col("measure") == "psi", pl.col(window).is_in(windows.implode()))
            yield cut, found.drop("of").rename({"measure": METRIC})

    def _read(self, history: History, back: str | None = None) -> Iterator[tuple[Cut, pl.Series, Accumulator]]:
        """Each cut of a few windows at a time, with their reference windows."""
        times, window = clock(self.windows), self.windows.name
        for i in range(0, len(times), AT_ONCE):
            some = times[i : i + AT_ONCE]
            since = some.head(1) if back is None else before(some.head(1), back)
            acc = history.ask(since.item(), some.tail(1).dt.offset_by("1us").item(), (window, *self.columns), None)
            for cut in self.cuts:
                yield cut, self.windows[i : i + AT_ONCE], acc.rollup(window, *cut)
