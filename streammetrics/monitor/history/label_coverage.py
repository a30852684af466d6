"""The share of labels that have arrived in the windows of a history, from the waiting rows of its joiner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from streammetrics.base import hidden, joined
from streammetrics.errors import StateError
from streammetrics.monitor.history.table import Table
from streammetrics.monitor.history.window import WindowColumn, Windows

FOLDER = "_waiting"  # Delta Lake ignores folders whose names begin with an underscore
KIND, DAY, COMMIT = "_kind", "_day", "_commit"
SCORE, LABEL, CORRECTION, EXPIRED = "score", "label", "correction", "expired"  # kinds of rows
COUNTS = ("_scores", "_labeled", "_labels_without_score")  # of an expired day
ROWS = "_rows"  # equal rows that a score stands for; null for one
GROUP = "_by_"  # prefix of group columns that are computed from the columns of scores
KEY = "streammetrics.key"  # of the table's configuration: the names of the key columns as JSON
ZONE = "streammetrics.time_zone"  # metadata of a column, because Delta Lake stores times in UTC

SCORES, LABELED = hidden("scores"), hidden("scores with a label")


def stored_key(place: Table, table: Any) -> list[str]:
    """Return the names of the key columns of waiting rows."""
    configuration = table.metadata().configuration
    if KEY not in configuration:
        raise StateError(f"The waiting rows at {place.uri} have no key. Add the rows to a new history.")
    key: list[str] = json.loads(configuration[KEY])
    return key


def waiting_rows(place: Table, table: Any, *kinds: str) -> pl.LazyFrame:
    """Return the waiting rows of some kinds, with times in their original time zones."""
    rows = place.scan(table).filter(pl.col(KIND).is_in(kinds))
    return rows.with_columns(pl.col(name).dt.convert_time_zone(zone) for name, zone in time_zones(table).items())


def time_zones(table: Any) -> dict[str, str]:
    """Return the time zones of the columns of waiting rows that have one."""
    return {field.name: field.metadata[ZONE] for field in table.schema().fields if ZONE in field.metadata}


@dataclass(frozen=True)
class LabelCoverage:
    """The scores of a history whose labels can still arrive. Its waiting rows are read once, when they are needed."""

    place: Table
    table: Any
    window: WindowColumn
    groups: tuple[str, ...]

    @cached_property
    def scores(self) -> pl.DataFrame:
        """The number of rows whose scores have not expired, and of those with a label, by window and segment.

        Segments that depend on the labels are unknown before these arrive, so their columns are missing.
        """
        key = stored_key(self.place, self.table)
        with self.place.reading():
            scores, labels = (waiting_rows(self.place, self.table, *k) for k in ((SCORE,), (LABEL, CORRECTION)))
            stored = scores.collect_schema().names()
            names = {name: GROUP + name if GROUP + name in stored else name for name in self.groups}
            names = {name: column for name, column in names.items() if column in stored}
            labeled = labels.select(*key, pl.lit(True).alias(LABELED)).unique(key)
            groups = (pl.col(column).alias(f"{GROUP}{name}") for name, column in names.items())
            first = scores.sort(COMMIT).unique(key, keep="first").select(*key, ROWS, *groups)
            rows, amounts = first.join(labeled, on=key, how="left"), pl.col(ROWS).fill_null(1)
            counts = rows.group_by(pl.col(f"{GROUP}{name}").alias(name) for name in names).agg(
                amounts.sum().alias(SCORES), amounts.filter(pl.col(LABELED)).sum().alias(LABELED)
            )
            return counts.cast({self.window.name: self.window.kind}).collect()

    @cached_property
    def matured(self) -> float:
        """The share of scores with a label in expired windows: not every score gets one. By default 1."""
        with self.place.reading():
            expired = waiting_rows(self.place, self.table, EXPIRED).filter(pl.col(COUNTS[1]) > 0)
            scores, labeled = expired.select(pl.sum(*COUNTS[:2])).collect().row(0)
        return labeled / scores if scores else 1.0

    def between(self, since: datetime | None, until: datetime, by: Sequence[str]) -> pl.DataFrame:
        """Return the columns `SCORES` and `LABELED` of the windows of a period, by segment."""
        time = pl.col(self.window.name).cast(pl.Datetime("us", getattr(self.window.kind, "time_zone", None)))
        inside = self.scores.filter(time < until, True if since is None else time >= since)
        columns = [name for name in by if name in inside.columns]
        sums = pl.sum(SCORES, LABELED)
        return inside.group_by(columns).agg(sums) if columns else inside.select(sums)

    def share(self, estimates: pl.DataFrame, rows: str, by: Sequence[str], windows: Windows) -> pl.Series:
        """Return the share of labels that have arrived for each of some estimates, by the names of windows if any.

        The labels that are there are the ``rows`` of the estimates. Those to come are as many as in a matured window,
        without those that are there.
        """
        by = [name for name in by if name in estimates.columns]
        counts = []
        for i, (since, until) in enumerate(zip(windows.starts, windows.ends, strict=True)):
            part = self.between(since, until, by)
            names = [] if windows.names.is_empty() else [windows.names.new_from_index(i, part.height)]
            counts.append(part.with_columns(names))
        expected = pl.concat(counts)
        keys = [name for name in expected.columns if name not in (SCORES, LABELED)]
        expected = expected.cast({name: estimates.schema[name] for name in keys})
        both = joined(estimates.select(*keys, pl.col(rows).fill_null(0).alias(rows)), expected, keys)
        there, scores, labeled = pl.col(rows), pl.col(SCORES).fill_null(0), pl.col(LABELED).fill_null(0)
        to_come = (self.matured * scores - labeled).clip(lower_bound=0)
        return both.select((there / (there + to_come)).fill_nan(1.0)).to_series()
