"""Metrics that are available from the statistics of an accumulator, and how to get the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any, get_args

from streammetrics.core import FAMILIES
from streammetrics.data import LABEL, SEVERAL, Kind
from streammetrics.errors import Argument, MetricError, Parts
from streammetrics.metrics import Metric, declared_metrics, metrics_of_name
from streammetrics.statistics import (
    STATISTICS,
    CalibrationBins,
    ClassLoss,
    ConfusionCounts,
    ErrorMoments,
    Histogram,
    PairHistograms,
    PredictedCounts,
    ProbabilityLoss,
    RankCounts,
    ScoreHistogram,
    Statistic,
    TDigest,
    View,
    kind_of,
)

# Statistics that the function of a task adds if it has their columns.
OF_TASK: dict[Kind, tuple[type[Statistic], ...]] = {
    "binary": (ConfusionCounts, ScoreHistogram, ProbabilityLoss, CalibrationBins),
    "multiclass": (ClassLoss, RankCounts, ScoreHistogram, CalibrationBins),
    "multilabel": (ScoreHistogram, ProbabilityLoss, CalibrationBins),
    "regression": (),
}


def find(
    metrics: str | Metric | Sequence[str | Metric] | None,
    statistics: Sequence[Statistic],
    labels: Sequence[Any] = (),
    of_label: bool = False,
) -> list[Metric]:
    """Return metrics that can be computed from these statistics, without duplicates; all of them for None.

    With ``of_label``, the one-vs-rest metric is preferred to the metric of all labels with the same name.
    """
    tables = columns_of(statistics, labels)
    if metrics is None:
        return [m for m in declared_metrics() if any(map(m.readable, tables))]
    if of_label:
        tables.sort(key=lambda columns: LABEL not in columns)
    available = []
    for name in [metrics] if isinstance(metrics, (str, Metric)) else metrics:
        named = metrics_of_name(name)
        metric = next((m for columns in tables for m in named if m.readable(columns)), None)
        if metric is None:
            raise MetricError(f"Metric {str(name)!r} ", *_remedy(named, statistics))
        available.append(metric)
    return list(dict.fromkeys(available))


def columns_of(statistics: Sequence[Statistic], labels: Sequence[Any] = ()) -> list[frozenset[str]]:
    """Return the columns available to metrics, table by table, with ``label`` for tables by label."""
    return [columns_of_view(s, view, bool(labels)) for s in statistics for view in s.views()]


def columns_of_view(statistic: Statistic, view: View, labels: bool) -> frozenset[str]:
    """Return the columns of a view, with ``label`` if it is one of each label."""
    return view.columns | {LABEL} if labels and statistic.per_label else view.columns


def _remedy(named: Sequence[Metric], statistics: Sequence[Statistic]) -> Parts:
    """Requirements of the metrics of a name, and how to meet them."""
    kind = kind_of(statistics)
    having = _having(named, kind)
    if named[0].average is not None and kind not in SEVERAL:
        return ("is an average over labels, but the task has no labels.",)
    if not having and _having([m.with_average(None) for m in named], kind):
        return ("is an average over labels, but it is not computed for each label.",)
    if not having:
        columns = " or ".join(f"({', '.join(m.columns)})" for m in named)
        return (f"requires a statistic with the columns {columns}. In Python, pass one to Accumulator.",)
    roles = {role for s in statistics for role in s.roles}
    serving = sorted(
        (s for s in having if s.serves(kind)),
        key=lambda s: (s.kind != kind, not isinstance(s, OF_TASK[kind]), len({*s.roles} - roles)),
    )
    if not serving:
        tasks = [task for task in get_args(Kind) if any(s.serves(task) for s in having)]
        return (f"requires a {' or '.join(tasks)} task, but this is a {kind} task.",)
    statistic = serving[0]
    missing = [Argument(name) for name in (*statistic.roles, *statistic.inputs) if name not in roles]
    if statistic.probabilities and any(getattr(s, "domain", None) == "real" for s in statistics):
        missing.append(Argument("domain", "probability"))
    of_options = [Argument("one_vs_one", True)] if isinstance(statistic, PairHistograms) else []
    if isinstance(statistic, ErrorMoments):
        of_options += [Argument("families", family) for family in statistic.families]
    if of_options or (missing and isinstance(statistic, OF_TASK[kind])):
        first, *others = [*missing, *of_options]
        more = [part for argument in others for part in (" and ", argument)]
        return (f"requires the statistic {_text(statistic)}. Evaluate with ", first, *more, ".")
    arguments = " with " * bool(missing) + " and ".join(map(str, missing))
    return (f"requires the statistic {_text(statistic)}. In Python, pass it to Accumulator{arguments}.",)


def _having(metrics: Sequence[Metric], kind: Kind) -> list[Statistic]:
    """The statistics that one of the metrics can be computed from, if possible in a task of that kind."""
    return [
        statistic
        for statistic in _all_statistics()
        if any(
            metric.readable(columns_of_view(statistic, view, kind in SEVERAL))
            for view in statistic.views()
            for metric in metrics
        )
    ]


def _all_statistics() -> Iterator[Statistic]:
    """All statistics without options, and those with options that change their columns or roles."""
    for kind in STATISTICS.values():
        if all(f.default is not MISSING or f.default_factory is not MISSING for f in fields(kind)):
            yield kind()
    yield from (ConfusionCounts(()), PredictedCounts(()))
    yield from (ErrorMoments((family,)) for family in FAMILIES)
    yield from (Histogram(of="y_pred"), TDigest(of="y_score"), TDigest(of="y_pred"))


def _text(statistic: Statistic) -> str:
    """A statistic with its options other than the defaults."""
    options = [f"{f.name}={value!r}" for f in fields(statistic) if (value := getattr(statistic, f.name)) != f.default]
    return type(statistic).__name__ + (f"({', '.join(options)})" if options else "")
