"""Groups of rows without labels, each with the rows of its reference in the same bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import percentage, text
from streammetrics.core import Codes, Floats
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import ReportError
from streammetrics.monitor.before_labels.filled import Bins, losses, share_above
from streammetrics.monitor.before_labels.rates import fitted
from streammetrics.reading import Distribution, distributions, paired, side_by_side
from streammetrics.statistics import GROUP, ConfusionCounts, PredictedCounts, ScoreHistogram, State

FOREIGN = 0.01  # minimum share of scores outside the range of the reference for a note
AT_ONCE = 64  # groups
COUNTS = ("rows", "neg", "pos")
BY_BIN = (*COUNTS, "low", "high", "hidden")
W2 = "_w2"  # end of the names of sums of squared weights


@dataclass(frozen=True)
class Group:
    """Rows of a group in bins by ascending score, with the negatives and positives of its reference.

    ``low`` and ``high`` are the smallest and the largest score of each bin, ``start`` is its lowest key on the lattice,
    and ``reaching`` is the number of rows that reach each threshold. ``hidden`` marks the bins that can contain rows
    with different scores. ``squares`` has the sums of squared weights of ``rows``, ``neg``, and ``pos``, and
    ``number`` and ``reference`` are the numbers of the group in the scores and in the reference.
    """

    keys: tuple[Any, ...]
    rows: Floats
    neg: Floats
    pos: Floats
    low: Floats
    high: Floats
    hidden: NDArray[np.bool_]
    start: Codes
    squares: Mapping[str, Floats]
    reaching: dict[float, float]
    number: int
    reference: int | None
    probabilities: bool = True

    @cached_property
    def undefined(self) -> str | None:
        """The status of metrics if none can be estimated, or None."""
        if not self.rows.sum():
            return "no_rows"
        missing = [name for name, side in (("positives", self.pos), ("negatives", self.neg)) if not side.sum()]
        return f"no_{'rows' if len(missing) > 1 else missing[0]}_in_reference" if missing else None

    @property
    def labeled(self) -> Floats:
        """The rows of the reference."""
        return self.neg + self.pos

    @property
    def classes(self) -> Floats:
        """The negatives and positives of the reference: shape (2, bins)."""
        return np.stack([self.neg, self.pos])

    @property
    def class_squares(self) -> Floats:
        """The sums of squared weights of the negatives and positives: shape (2, bins)."""
        return np.stack([self.squares["neg"], self.squares["pos"]])

    @cached_property
    def rates(self) -> Floats:
        """The positive rate of each bin, fitted to the reference."""
        return np.zeros_like(self.rows) if self.undefined else fitted(self.neg, self.pos)

    @cached_property
    def bins(self) -> Bins:
        """The bins, with losses at the middle of each bin."""
        middle = losses(self.low / 2 + self.high / 2) if self.probabilities else {}
        return Bins(self.rows, {at: share_above(self.rows, n) for at, n in self.reaching.items()}, middle)

    @property
    def note(self) -> str | None:
        """A note if many scores are outside the range of the reference."""
        labeled = np.flatnonzero(self.labeled)
        foreign = self.rows[: labeled[0]].sum() + self.rows[labeled[-1] + 1 :].sum()
        share = foreign / self.rows.sum()
        return f"{percentage(share)} of scores are outside the range of the reference" if share > FOREIGN else None


def groups(reference: State, scores: State) -> Iterator[list[Group]]:
    """Yield the groups of a state with scores, each with its reference, some at a time."""
    histogram = labels_of(reference, "The reference must have scores and labels")
    ours, theirs = scores_of(reference), scores_of(scores)
    _require_groups(ours, theirs)
    labels = reference.table(histogram)
    sides = _sides("rows", theirs, theirs.bins, "count")
    for name in ("neg", "pos"):
        sides |= _sides(name, ours, labels, name)
    pairs = paired(ours, theirs).filter(pl.col("current").is_not_null())
    pairs = pairs.with_columns(pl.col("current" if s.startswith("rows") else "reference").alias(s) for s in sides)
    least, probabilities = 0 if scores.weighted else 1, theirs.lattice.domain == "probability"
    thresholds, reaching = _reaching(scores)
    for some in pairs.iter_slices(AT_ONCE):
        table = pl.concat(side_by_side(sides, some))
        table = table.with_columns(
            pl.col(*sides).cast(pl.Float64), hidden=(pl.col("shift") > 0) & (pl.col("rows") > least)
        )
        bins = table.partition_by(GROUP, as_dict=True)
        block = []
        for number, other, pair in some.select("current", "reference", "pair").iter_rows():
            rows = bins.get((pair,), table.clear())
            block.append(
                Group(
                    keys=theirs.groups.drop(GROUP).row(number),
                    **{name: rows[name].to_numpy() for name in BY_BIN},
                    start=rows["bin"].to_numpy() << rows["shift"].to_numpy().astype(np.int64),
                    squares={n: rows[n + W2 if n + W2 in sides else n].to_numpy() for n in COUNTS},
                    reaching={at: reaching.get((number, at), 0.0) for at in thresholds},
                    number=number,
                    reference=other,
                    probabilities=probabilities,
                )
            )
        yield block


def _sides(name: str, of: Distribution, bins: pl.DataFrame, count: str) -> dict[str, Distribution]:
    """A count of rows by bin, and the same with squared weights if rows are weighted."""
    return {
        name + end: replace(of, bins=bins.select(GROUP, "shift", "bin", count=count + end))
        for end in ("", W2)
        if count + end in bins.columns
    }


def require_sample(reference: State, scores: State) -> None:
    """Require what prediction-powered estimates need: probabilities, and labels from each group."""
    labels_of(reference, "The reference must have scores and labels")
    ours, theirs = scores_of(reference), scores_of(scores)
    if theirs.lattice.domain != "probability":
        raise ReportError("Prediction-powered estimates require scores that are probabilities.")
    if missing := [c for c in theirs.keys if c not in ours.keys]:
        raise ReportError(
            f"The scores are grouped by {missing[0]!r}, but the reference is not. Prediction-powered estimates require "
            "a random sample of each group."
        )


def labels_of(state: State, must: str) -> ScoreHistogram:
    """Return the histogram of scores and labels, which a state must have."""
    if (histogram := state.find(ScoreHistogram)) is None:
        raise ReportError(f"{must}, as in sm.binary().")
    return histogram


def scores_of(state: State) -> Distribution:
    """Return the distribution of scores, which a state must have."""
    scores = distributions(state).get("y_score")
    if scores is None:
        raise ReportError("Rows without labels must have scores, as in sm.predictions(y_score=...).")
    if LABEL in scores.keys:
        raise ReportError("Metrics can be estimated only for binary tasks, not for multiclass or multilabel tasks.")
    return scores


def _require_groups(reference: Distribution, scores: Distribution) -> None:
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


def _reaching(state: State) -> tuple[tuple[float, ...], dict[tuple[int, float], float]]:
    """The thresholds on scores, and the number of rows of each group that reach each threshold."""
    for statistic in state.statistics:
        if isinstance(statistic, ConfusionCounts | PredictedCounts):
            labeled = isinstance(statistic, ConfusionCounts)
            positives = pl.col("tp") + pl.col("fp") if labeled else pl.col("predicted_positives")
            table = state.table(statistic).select(GROUP, "threshold", positives.cast(pl.Float64))
            return statistic.thresholds, {(group, at): number for group, at, number in table.iter_rows()}
    return (), {}
