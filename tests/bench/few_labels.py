"""How often intervals from few labels contain the truth, and how wide they are: many samples, each a group.

``python tests/bench/few_labels.py`` prints the tables of docs/evidence.md. ``--write`` writes them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import norm
from simulated import show, table

import streammetrics as sm
from streammetrics.monitor.before_labels.filled import DECISIONS, confusion, losses

ROWS_AT_ONCE = 2_000_000
TIMES = 20  # as many rows without labels as rows with labels
SIZE = 20  # rows of a unit
NAMES = {"prevalence": "prevalence", "roc_auc": "ROC AUC", "log_loss": "log loss", "brier_score": "Brier score"}
NAMES |= {name: name.replace("_", " ") for name in DECISIONS} | {"f1": "F1"}


@dataclass(frozen=True)
class Kind:
    """Scores and labels: log-odds are normal, and scores are those odds scaled and shifted.

    Of units, the effect of the unit on the odds is known to the score by half. ``whole`` units have all labels or none.
    Rows with high odds have twice the ``weights`` of the others, times random ones.
    """

    name: str
    base: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    threshold: float = 0.5
    units: bool = False
    whole: bool = False
    weights: bool = False

    @property
    def options(self):
        """Arguments of the evaluations."""
        columns = {"unit": "unit"} if self.units else {}
        columns |= {"sample_weight": "weight"} if self.weights else {}
        return columns | {"by": "draw", "thresholds": [self.threshold]}

    def score(self, margin):
        """The score of a margin."""
        return expit(self.scale * margin + self.shift)


INDEPENDENT = [
    Kind("calibrated"),
    Kind("biased", scale=2.5, shift=1.5),
    Kind("rare", base=-4.1, threshold=0.2),
    Kind("rare and biased", base=-4.1, scale=0.6, shift=1.5),
]
CLUSTERED = [
    Kind("units", units=True),
    Kind("units, biased", scale=2.5, shift=1.5, units=True),
    Kind("whole units", units=True, whole=True),
    Kind("weights", weights=True),
    Kind("weights and units", units=True, weights=True),
]
LABELS = [200, 1_000, 5_000]


def drawn(random: np.random.Generator, kind: Kind, rows: int, draws: int) -> pl.DataFrame:
    """Rows of some samples."""
    shape = draws, rows
    margin = kind.base + 1.5 * random.normal(size=shape)
    unit, odds = np.tile(np.arange(rows) // SIZE, (draws, 1)), margin
    if kind.units:
        effect = np.repeat(random.normal(size=(draws, rows // SIZE)), SIZE, axis=1)
        margin, odds = margin + effect / 2, margin + effect
    y = random.random(shape) < expit(odds)
    columns = {"draw": np.repeat(np.arange(draws), rows), "y": y.ravel(), "p": kind.score(margin).ravel()}
    columns |= {"unit": unit.ravel()} if kind.units else {}
    columns |= {"weight": ((1 + (margin > 0)) * random.exponential(size=shape)).ravel()} if kind.weights else {}
    return pl.DataFrame(columns)


def truth(kind: Kind) -> dict[str, float]:
    """The metrics of infinitely many rows."""
    own, effect = (norm.ppf((np.arange(n) + 0.5) / n) for n in (4_001, 201 if kind.units else 1))
    margin = kind.base + 1.5 * own[:, None] + effect / 2
    odds = margin + effect / 2
    weight = 1.0 + (margin > 0) if kind.weights else np.ones_like(margin)
    order = np.argsort(margin.ravel(), kind="stable")
    score, rate, weight = (side.ravel()[order] for side in (kind.score(margin), expit(odds), weight))
    neg, pos = weight * (1 - rate), weight * rate
    above = (score >= kind.threshold).astype(float)
    counts = confusion((pos * above).sum(), (pos * (1 - above)).sum(), neg + pos, above)
    found = {name: float(m.formula(*(counts[c] for c in m.columns))) for name, m in DECISIONS.items()}
    found |= {name: (neg * of[0] + pos * of[1]).sum() / weight.sum() for name, of in losses(score).items()}
    auc = ((np.cumsum(neg) - neg / 2) * pos).sum() / neg.sum() / pos.sum()
    return found | {"prevalence": pos.sum() / weight.sum(), "roc_auc": auc}


def labeled_rows(random: np.random.Generator, kind: Kind, rows: int, labels: int, draws: int):
    """Which rows of the samples have labels: the first rows, or the first rows of a random order of each sample."""
    if kind.whole or not kind.units:  # rows and units are in random order
        return np.tile(np.arange(rows) < labels, draws)
    return (np.argsort(np.argsort(random.random((draws, rows)), axis=1), axis=1) < labels).ravel()


def intervals(kind: Kind, labels: int, draws: int, seed: int = 0):
    """The frames of prediction-powered estimates, and of the labels alone, a part of the samples at a time."""
    random, rows = np.random.default_rng(seed), labels * (TIMES + 1)
    at_once = max(1, ROWS_AT_ONCE // rows)
    for start in range(0, draws, at_once):
        some = min(at_once, draws - start)
        sample = drawn(random, kind, rows, some)
        known = labeled_rows(random, kind, rows, labels, some)
        reference = sm.binary(y_true="y", y_score="p", **kind.options).update(sample.filter(known))
        scores = sm.predictions(y_score="p", **kind.options).update(sample.filter(~known))
        found = sm.expect(scores, reference, method="prediction_powered", confidence=0.95)
        yield found.frame, reference.finalize(metrics=[*NAMES], confidence=0.95).frame


def measured(kind: Kind, labels: int, draws: int) -> dict[str, tuple[float, float]]:
    """The coverage of each metric, and its mean width relative to that of the labels alone, NaN with few intervals."""
    both = [pl.concat(frames) for frames in zip(*intervals(kind, labels, draws), strict=True)]
    width, true = pl.col("ci_upper") - pl.col("ci_lower"), truth(kind)
    found = {}
    for name in NAMES:
        own, alone = (frame.filter(metric=name) for frame in both)
        covered = own.select(pl.lit(true[name]).is_between("ci_lower", "ci_upper").mean()).item()
        narrow, wide = (frame.select(width.mean()).item() for frame in (own, alone))
        if own["ci_lower"].count() > draws / 2:
            found[name] = (covered, narrow / wide)
    return found


def by_kind(kinds: list[Kind], labels: list[int], draws: int) -> str:
    """A Markdown table with a column for each kind."""
    cells = {shown: {} for shown in NAMES.values()}
    for kind in kinds:
        by_size = [measured(kind, n, draws) for n in labels]
        print(kind.name, by_size, flush=True, file=sys.stderr)
        for name, shown in NAMES.items():
            covered, width = np.array([row[name] for row in by_size if name in row]).T
            share = f"{100 * min(covered):.1f}% to {100 * max(covered):.1f}%"
            cells[shown][kind.name] = f"{share}, {np.mean(width):.2f}"
    return table("", cells)


def main() -> None:
    """Print the tables, and write them."""
    draws = 1_000
    for mark, kinds, sizes in (
        ("independent rows", INDEPENDENT, LABELS),
        ("units and weights", CLUSTERED, LABELS[:2]),
    ):
        show("evidence.md", mark, by_kind(kinds, sizes, draws))


if __name__ == "__main__":
    main()
