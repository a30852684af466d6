"""Groups of rows without labels, each with the reference rows in the same bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from streammetrics import text
from streammetrics.before_labels.rates import fitted
from streammetrics.before_labels.values import POSITIVES, Group
from streammetrics.errors import ReportError
from streammetrics.reading.distributions import ALL, Distribution, distributions, paired
from streammetrics.report.report import Report
from streammetrics.rows.roles import LABEL, MODEL
from streammetrics.state.tables import State
from streammetrics.statistics import GROUP, ConfusionCounts, Histogram, PredictedCounts, ScoreHistogram

SCORE = "y_score"
BINS: dict[str, pl.DataType] = {GROUP: pl.UInt32(), **Histogram.keys} | dict.fromkeys(
    ("neg", "pos", "count"), pl.Int64()
)


def probabilities(state: State) -> bool:
    """Return whether scores are probabilities, which have log loss and Brier score."""
    return _scores(state).lattice.domain == "probability"


def side_by_side(reference: State, scores: State) -> Iterator[Group]:
    """Yield the groups of a state with scores, each with its reference group."""
    ours, theirs = _labeled(reference, "The reference must have scores and labels"), _scores(scores)
    _require_groups(ours, theirs)
    histogram = next(s for s in reference.statistics if isinstance(s, ScoreHistogram))
    common = Histogram(ALL, ours.lattice.domain, tuple({*ours.lattice.atoms} & {*theirs.lattice.atoms}))
    labels, counts = (_by_group(table) for table in (reference.table(histogram), theirs.bins))
    thresholds, reaching = _predicted(scores)
    pairs = paired(ours, theirs).filter(pl.col("current").is_not_null())
    for pair in pairs.iter_rows(named=True):
        parts = [
            found[pair[side]] for side, found in (("reference", labels), ("current", counts)) if pair[side] in found
        ]
        bins = [pl.DataFrame(schema=BINS), *parts]
        table = common.edges(common.merge(pl.concat(bins, how="diagonal_relaxed").fill_null(0)))
        rows, neg, pos = (table[c].cast(pl.Float64).to_numpy() for c in ("count", "neg", "pos"))
        hidden = (table["shift"].to_numpy() > 0) & (rows > (0 if scores.weighted else 1))
        low, high = (table[c].to_numpy() for c in ("low", "high"))
        keys = tuple(pair[c] for c in theirs.keys)
        predicted = {threshold: reaching.get((pair["current"], threshold), 0.0) for threshold in thresholds}
        rates = fitted(neg, pos) if neg.any() and pos.any() else np.zeros_like(rows)
        yield Group(keys, rows, neg, pos, low, high, hidden, predicted, rates)


def _by_group(table: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The bins of each group, with every group renumbered as group 0."""
    parts = table.partition_by(GROUP, as_dict=True)
    return {number: part.with_columns(pl.lit(0, pl.UInt32).alias(GROUP)) for (number,), part in parts.items()}


def _labeled(state: State, must: str) -> Distribution:
    """The score distribution of a side, which must have labels."""
    if not any(isinstance(s, ScoreHistogram) for s in state.statistics):
        raise ReportError(f"{must}, as in sm.binary(y_true=..., y_score=...).")
    return _scores(state)


def _scores(state: State) -> Distribution:
    found = distributions(state).get(SCORE)
    if found is None:
        raise ReportError("Rows without labels must have scores, as in sm.predictions(y_score=...).")
    if LABEL in found.keys:
        raise ReportError("Metrics can be estimated only for binary tasks, not for multilabel tasks.")
    return found


def _require_groups(reference: Distribution, scores: Distribution) -> None:
    """Reject references whose group columns, models, or score domains do not match."""
    domains = [d.lattice.domain for d in (reference, scores)]
    if domains[0] != domains[1]:
        raise ReportError(f"Scores and reference must have the same domain, got {domains[1]!r} and {domains[0]!r}.")
    models = [d.groups[MODEL].unique().sort().to_list() if MODEL in d.keys else [] for d in (reference, scores)]
    if bool(models[0]) != bool(models[1]):
        raise ReportError(f"Only one side has models: {text.few(models[0] or models[1])}. Pass models on both sides.")
    if missing := [m for m in models[1] if m not in models[0]]:
        raise ReportError(f"The reference does not have the model {missing[0]!r}. Models: {text.few(models[0])}.")
    if foreign := [c for c in reference.keys if c not in scores.keys]:
        raise ReportError(f"The reference is grouped by {foreign[0]!r}, but the scores are not. Roll up the reference.")


def _predicted(state: State) -> tuple[tuple[float, ...], dict[tuple[int, float], float]]:
    """The thresholds on scores, and the number of rows of each group that reach each threshold."""
    for statistic in state.statistics:
        if isinstance(statistic, ConfusionCounts | PredictedCounts):
            labeled = isinstance(statistic, ConfusionCounts)
            positives = pl.col("tp") + pl.col("fp") if labeled else pl.col("predicted_positives")
            table = state.table(statistic).select(GROUP, "threshold", positives.cast(pl.Float64))
            return statistic.thresholds, {(group, at): number for group, at, number in table.iter_rows()}
    return (), {}


def labels_shown(report: Report, metrics: Sequence[str]) -> dict[tuple[Any, ...], dict[Any, float | None]]:
    """The metrics of labeled rows, by group, metric, and threshold."""
    _labeled(report.state, "The scores must have labels for needed_odds")
    found: dict[tuple[Any, ...], dict[Any, float | None]] = {}
    for metric in metrics:
        if metric != POSITIVES and report.readable(metric):
            rows = report.rows(metric)
            threshold = pl.col("threshold") if "threshold" in rows.columns else pl.lit(None)
            for *keys, at, value in rows.select(*report.by, threshold.alias("threshold"), "value").iter_rows():
                found.setdefault(tuple(keys), {})[metric, at] = value
    histogram = next(s for s in report.state.statistics if isinstance(s, ScoreHistogram))
    positives = report.state.table(histogram).group_by(GROUP).agg(pl.sum("pos").cast(pl.Float64))
    for _, *keys, pos in report.state.groups.join(positives, on=GROUP, how="left").iter_rows():
        found.setdefault(tuple(keys), {})[POSITIVES, None] = pos
    return found
