"""Accumulators that do not fit a history: appended to it, or copied from it to another one."""

from functools import partial

import polars as pl
import pytest
from data import clicks

import streammetrics as sm

KEPT = (
    sm.statistics.ConfusionCounts((0.2, 0.5)),
    sm.statistics.ScoreHistogram(capacity=64),
    sm.statistics.CalibrationBins(5),
)
ROWS = clicks()[:20].select("day", y="clicked", z="clicked", p="score", q="score", w=1.0, u=1, region="country")
REGIONS = {"y_true": "y", "y_score": "p", "by": ["day", "region"]}


def _acc(*statistics, **columns):
    """A task by day and region, with other statistics of some types, or with further ones."""
    kept = {type(statistic): statistic for statistic in (*KEPT, *statistics)}
    return sm.Accumulator(*kept.values(), **REGIONS | columns)


def _two(acc, other, folder, rows=ROWS):
    """A history of one accumulator, and a call that appends another one."""
    pytest.importorskip("deltalake")
    store = sm.MetricStore(folder)
    store.append(acc.empty().update(ROWS), batch_id="1")
    return lambda: store.append(other.empty().update(rows), batch_id="2")


def _appended(other, folder):
    rows = ROWS.with_columns(pl.col("y").cast(float)) if other.roles.kind == "regression" else ROWS
    return _two(_acc(), other, folder, rows)()


def _copied(new, folder, rows=ROWS):
    old = folder / "old"
    _two(_acc(), _acc(), old)
    target = sm.MetricStore(folder / "new")
    later = rows.with_columns(pl.col("day").dt.offset_by("1y"))  # as windows that are there are not copied
    target.append(new.empty().update(later), batch_id="first")
    return sm.MetricStore(old).copy_to(target)


def _paired(*names):
    scores = {"a": "p", "b": "q"}
    return sm.Accumulator(sm.statistics.PairedOutcomes(0.5, pairs=[names]), y_true="y", y_score=scores, by="day")


APPENDED = {
    f"{what} in a history of another": (partial(_appended, acc), "copy_to", *names)
    for what, acc, *names in (
        ("a task", sm.Accumulator(sm.statistics.ErrorMoments(), y_true="y", y_pred="p", by=["day", "region"])),
        ("labels", _acc(y_true="z"), "y_true: 'y' and 'z'"),
        ("a score", _acc(y_score="q"), "y_score"),
        ("several models", _acc(y_score={"a": "p"}), "y_score"),
        ("weights", _acc(sample_weight="w"), "sample_weight"),
        ("a unit", _acc(unit="u"), "unit"),
        ("nulls", _acc(nulls="drop"), "nulls"),
        ("no segment", _acc(by=["day"]), "'day', 'region'", "'day'"),
        ("another segment", _acc(by=["day", "region", "u"]), "'day', 'region', 'u'"),
        ("a statistic", _acc(sm.statistics.ProbabilityLoss()), "ProbabilityLoss()"),
        ("a threshold", _acc(sm.statistics.ConfusionCounts(0.5)), "0.2", "0.5"),
        ("a capacity", _acc(sm.statistics.ScoreHistogram(capacity=16)), "64", "16"),
    )
}
COPIED = {
    f"{what} in a copy of a history without": (partial(_copied, acc), *names)
    for what, acc, *names in (
        ("a statistic", _acc(sm.statistics.ProbabilityLoss()), "ProbabilityLoss()"),
        ("a threshold", _acc(sm.statistics.ConfusionCounts((0.5, 0.7))), "ConfusionCounts(thresholds=(0.5, 0.7)"),
        ("a capacity", _acc(sm.statistics.ScoreHistogram(capacity=128)), "ScoreHistogram", "128"),
        ("bins", _acc(sm.statistics.CalibrationBins(10)), "CalibrationBins"),
        ("weights", _acc(sample_weight="w"), "sample_weight"),
        ("a window", _acc(by=["region", pl.col("day").alias("date")]), "'date'"),
    )
}
REFUSALS = {
    **APPENDED,
    **COPIED,
    "a pair of models in the opposite order": (
        lambda folder: _two(_paired("a", "b"), _paired("b", "a"), folder)(),
        "'a', 'b'",
    ),
    "a segment of another type in a copy": (
        lambda folder: _copied(_acc(), folder, ROWS.with_columns(region=pl.lit(1))),
        "'region'",
    ),
}
