"""Content of the page of a history: numbered segments and windows, and their data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

import polars as pl

from streammetrics import text
from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError, StateError
from streammetrics.frame import KEPT, METRIC, hidden, keys_of
from streammetrics.history.breaches import breaches
from streammetrics.history.rules import Rule, rules_of
from streammetrics.history.views import Cut, Part, View
from streammetrics.history.windows import Windows, after, clock, time_of
from streammetrics.html.cards import prose
from streammetrics.html.history import ALL_ROWS, Course, Measure, Watched
from streammetrics.reading.available import columns_of
from streammetrics.reading.distributions import distributions
from streammetrics.rows.roles import MODEL, several
from streammetrics.text.values import readable

ROWS, DROPPED, SCORED, DRIFT = "rows", "dropped", "rows with or without labels", "psi"
VOLUME = (ROWS, DROPPED)
MEASURED = ("y_score", "y_pred", "error", "y_true")  # distributions; drift is measured for the first available one
REFERENCE = 28  # maximum number of reference windows, at most a quarter of all
PLACE = hidden("segment")

Period: TypeAlias = str | tuple[Any, Any]


def course(
    history: Windows,
    metrics: Sequence[str] | None,
    by: str | Sequence[str] | None,
    times: tuple[date | str | None, date | str | None],
    rules: Rule | Sequence[Rule],
    scores: Windows | None,
    reference: Period | None,
    confidence: float | None,
) -> Course:
    """Return the content of the page. See `MetricStore.save_html`; ``times`` are ``since`` and ``until``."""
    rules = rules_of(rules)
    is_pair = isinstance(reference, list | tuple) and len(reference) == 2
    if not (reference is None or isinstance(reference, str) or is_pair):
        raise SpecificationError(f"reference= must be a duration or a (start, end) pair, got {reference!r}.")
    empty, windows = history.empty, _windows(history, scores, *times)
    if any(windows.name in rule.by for rule in rules):
        raise SpecificationError(
            f"Rule field 'by' cannot contain the window {windows.name!r} on a page of the history."
        )
    columns = [c for c in empty.roles.by if c != windows.name] if by is None else several(by)
    view = View(windows, list(dict.fromkeys([(), *((c,) for c in columns), *(rule.by for rule in rules)])))
    names = _metrics(empty, metrics, rules)
    parts = list(view.estimates(history, list(dict.fromkeys([*names, *VOLUME])), confidence))
    early = scores or history  # if rows do not wait for labels
    view_of_early = view.within(early.empty.roles.by)
    if scores is not None:
        volume = view_of_early.estimates(scores, [ROWS], None)
        parts += [(cut, frame.with_columns(pl.lit(SCORED).alias(METRIC))) for cut, frame in volume]
    scored = windows.filter(windows.is_in(early.starts.implode()))
    of = _distribution(early.empty, scored)
    period = reference or _first(scored if of else windows)
    base: dict[Cut, Accumulator] = {}
    if of is not None:
        base = {} if isinstance(period, str) else view_of_early.reference(early, *period)
        parts += view_of_early.drifts(early, of, period if isinstance(period, str) else base)
    breached = breaches(history, rules, windows, scores)
    found = [(cut, frame.select(_segment(frame, windows.name))) for cut, frame in parts]
    found += [(rule.by, frame.drop(windows.name)) for rule, frame in zip(rules, breached, strict=True)]
    segments = Segments.of(view.cuts, found, early.models)
    meanings = {metric.name: prose(metric) for metric in empty.finalize(names).metrics}
    measures = {m.name: m for m in segments.measures(parts, windows, meanings)}
    return Course(
        window=windows.name,
        windows=windows,
        segments=segments.names,
        metrics=[m for name, m in measures.items() if name not in (*VOLUME, SCORED, DRIFT) or name in names],
        rows=measures[ROWS],
        scored=measures.get(SCORED),
        dropped=measures[DROPPED] if scores is None and (measures[DROPPED].values[0] > 0).any() else None,
        drift=None if of is None else replace(measures[DRIFT], name=of),
        reference=_said(period, reference is None, windows, scored),
        reference_rows=segments.rows(base),
        rules=[segments.watched(*both, windows, empty) for both in zip(rules, breached, strict=True)],
        confidence=confidence,
    )


@dataclass(frozen=True)
class Segments:
    """The segments of each cut, numbered in order: their keys, and `PLACE`."""

    keys: dict[Cut, pl.DataFrame]

    @classmethod
    def of(cls, cuts: Sequence[Cut], found: Sequence[Part], models: Sequence[str]) -> Segments:
        """Return all segments of some frames of keys, sorted by their keys, but models in a given order."""
        keys, size = {}, 0
        ranks = {name: rank for rank, name in enumerate(models)}
        for cut in cuts:
            named = [frame for own, frame in found if own == cut and frame.width] or [pl.DataFrame({PLACE: [0]})]
            every = pl.concat(named, how="diagonal_relaxed").unique()
            order = [pl.col(c).replace_strict(ranks, default=None) if c == MODEL else pl.col(c) for c in every.columns]
            keys[cut] = every.sort(order).drop(PLACE, strict=False).with_row_index(PLACE, size)
            size += keys[cut].height
        return cls(keys)

    @property
    def names(self) -> list[tuple[str, list[str]]]:
        """Return the columns of each cut in words, and the names of its segments."""
        found = []
        for keys in self.keys.values():
            columns = [readable(keys[c]).fill_null("null") for c in keys.columns if c != PLACE]
            names = keys.select(pl.concat_str(columns, separator=" · ")) if columns else pl.DataFrame([ALL_ROWS])
            found.append((", ".join(c.name for c in columns), names.to_series().to_list()))
        return found

    def measures(self, parts: Sequence[Part], windows: pl.Series, meanings: dict[str, str]) -> Iterator[Measure]:
        """Return the measures of some frames: each metric, per threshold and label if there are several."""
        numbered = pl.concat([self._numbered(cut, frame, windows) for cut, frame in parts], how="diagonal_relaxed")
        kept = [c for c in KEPT if c in numbered.columns]
        several_of = numbered.group_by(METRIC).agg(pl.struct(kept or METRIC).n_unique().alias(PLACE))
        alone = set(several_of.filter(pl.col(PLACE) == 1)[METRIC])
        size = sum(keys.height for keys in self.keys.values())
        for own in numbered.partition_by(METRIC, *kept, maintain_order=True):
            name = own[METRIC][0]
            said = name if name in alone else text.named(own.row(0, named=True), kept)
            yield Measure.of(said, own, size, len(windows), meanings.get(name, ""))

    def rows(self, base: dict[Cut, Accumulator]) -> list[int]:
        """Return the number of rows of each segment in a reference, 0 if it has none. Others are not on the page."""
        found = [0] * sum(keys.height for keys in self.keys.values())
        for cut, acc in base.items():
            counted = acc.finalize([ROWS]).frame
            for place, rows in zip(self._places(cut, counted), counted["value"], strict=True):
                if place is not None:
                    found[place] = int(rows)
        return found

    def watched(self, rule: Rule, breached: pl.DataFrame, windows: pl.Series, empty: Accumulator) -> Watched:
        """Return a rule with its segments, and the runs of windows in which it was breached."""
        runs: list[tuple[int, int, int]] = []
        for place, window in sorted(zip(self._places(rule.by, breached), _numbers(breached, windows), strict=True)):
            if runs and runs[-1][0] == place and runs[-1][2] >= window - 1:
                runs[-1] = (place, runs[-1][1], window)
            else:
                runs.append((place, window, window))
        plain = rule.measure is None and rule.against is None and not rule.before_labels
        metric = empty.finalize([rule.required.metric]).metrics[0].name if plain else None
        said = f"{rule.name}: {rule}" if rule.name else str(rule)
        said += "" if rule.always else f", over {rule.over}"
        said += ", severity warn" if rule.severity == "warn" else ""
        own = self.keys[rule.by].filter(pl.lit(True) if rule.model is None else pl.col(MODEL) == rule.model)
        return Watched(said, metric, rule.required.limit, own[PLACE].to_list(), runs)

    def _numbered(self, cut: Cut, frame: pl.DataFrame, windows: pl.Series) -> pl.DataFrame:
        """A frame with the numbers of its segments and windows instead of their keys."""
        columns = [c for c in frame.columns if c in KEPT or c not in keys_of(frame)]
        places, numbers = self._places(cut, frame), _numbers(frame, windows)
        return frame.select(columns).with_columns(segment=pl.Series(places), window=pl.Series(numbers))

    def _places(self, cut: Cut, frame: pl.DataFrame) -> list[Any]:
        """The number of the segment of each row, None if it is not on the page."""
        keys = self.keys[cut]
        on = [c for c in keys.columns if c != PLACE]
        if not on or frame.is_empty():
            return keys[PLACE].head(1).to_list() * frame.height
        if missing := [c for c in on if c not in frame.columns]:
            raise SpecificationError(f"The history of scores has no column {missing[0]!r}.")
        cast = frame.select(on).cast({c: keys.schema[c] for c in on})
        return cast.join(keys, on=on, how="left", nulls_equal=True, maintain_order="left")[PLACE].to_list()


def _segment(frame: pl.DataFrame, window: str) -> list[str]:
    """The columns of a frame that identify the segment of a row."""
    return [c for c in keys_of(frame) if c != window and c not in KEPT]


def _numbers(frame: pl.DataFrame, windows: pl.Series) -> list[int]:
    """The number of the window of each row."""
    numbers: list[int] = windows.search_sorted(frame[windows.name].cast(windows.dtype)).to_list()
    return numbers


def _windows(history: Windows, scores: Windows | None, since: Any, until: Any) -> pl.Series:
    """All windows of both histories in a time range."""
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
        raise StateError(f"The history at {history.uri} has no windows{newest}.")
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
    """The first windows of a history, as a time range."""
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
