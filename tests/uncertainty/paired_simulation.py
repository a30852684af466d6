"""How often paired intervals hold the true difference of two models: many samples, each a group of one accumulator.

``python -m tests.uncertainty.paired_simulation 1000`` prints the table of docs/comparing-models.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit, logit

import streammetrics as sm

Random = np.random.Generator
AT_ONCE = 250  # samples
BIG = 4_000_000  # rows, whose difference is the truth
SELDOM = 0.5  # share of samples with an interval, below which a table shows none

BINARY = [
    *("accuracy", "recall", "specificity", "precision", "npv", "f1", "mcc", "kappa", "balanced_accuracy", "roc_auc"),
    *("average_precision", "pr_auc", "ks", "best_f1", "lift", "log_loss", "log_loss_skill", "brier_score"),
    "brier_skill_score",
]
ERRORS = ["mae", "mse", "rmse", "bias", "mape"]


@dataclass(frozen=True)
class Setting:
    """Rows of one kind, predicted by models a and b."""

    name: str
    rows: int
    draw: Callable[[Random, tuple[int, int]], dict[str, np.ndarray]]
    make: Callable[..., sm.Accumulator]
    metrics: list[str]


def binary(random: Random, shape: tuple[int, int], share: float, correlation: float, more: float = 0.15):
    """Scores of two normal classes by two models whose noise is correlated; b sees a bit more than a."""
    y = random.random(shape) < share
    common = np.sqrt(correlation) * random.normal(size=shape)
    scores = {}
    for name, distance in (("a", 1.2), ("b", 1.2 + more)):
        x = distance * y + common + np.sqrt(1 - correlation) * random.normal(size=shape)
        scores[name] = expit(logit(share) + distance * x - distance**2 / 2)
    return {"y": y} | scores


def values(random: Random, shape: tuple[int, int]):
    """Errors with heavy tails, half of them shared."""
    y, common = 5 + random.gamma(2, 1, shape), random.standard_t(6, shape)
    one, other = (0.7 * common + 0.5 * random.standard_t(6, shape) for _ in range(2))
    return {"y": y, "a": y + one, "b": 0.3 + 0.95 * y + other}


def of_scores(**options):
    return sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, **options)


def of_values(**options):
    return sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}, **options)


SETTINGS = [
    *(
        Setting(
            f"{rows:,} rows, {share:.0%} positive, {correlation:g}",
            rows,
            partial(binary, share=share, correlation=correlation),
            partial(of_scores, thresholds=share),
            BINARY,
        )
        for rows, share, correlation in (
            (200, 0.3, 0.8),
            (2_000, 0.3, 0.6),
            (2_000, 0.3, 0.95),
            (2_000, 0.02, 0.8),
            (20_000, 0.02, 0.95),
        )
    ),
    Setting(
        "2,000 rows, equally good",
        2_000,
        partial(binary, share=0.3, correlation=0.9, more=0.0),
        partial(of_scores, thresholds=0.3),
        BINARY,
    ),
    Setting("200 errors", 200, values, of_values, ERRORS),
    Setting("2,000 errors", 2_000, values, of_values, ERRORS),
]


def coverage(setting: Setting, samples: int, seed: int = 0, confidence: float = 0.95) -> pl.DataFrame:
    """Metric, truth, the share of samples with an interval, of those that hold the truth, and their mean width."""
    random = np.random.default_rng(seed)
    many = setting.draw(random, (1, BIG))
    report = setting.make(pairs=False).update({name: column.ravel() for name, column in many.items()}).finalize()
    whole = report.compare("a", "b", metrics=setting.metrics, confidence=None).frame
    truth = whole.select("metric", truth="difference")
    parts, at_once = [], max(1, min(AT_ONCE, BIG // 8 // setting.rows))
    for start in range(0, samples, at_once):
        size = min(at_once, samples - start)
        drawn = setting.draw(random, (size, setting.rows))
        batch = {name: column.ravel() for name, column in drawn.items()}
        acc = setting.make(by="sample").update(batch | {"sample": np.repeat(np.arange(size), setting.rows)})
        found = acc.finalize().compare("a", "b", metrics=setting.metrics, confidence=confidence)
        parts.append(found.frame.select("metric", "ci_lower", "ci_upper"))
    low, high = pl.col("ci_lower"), pl.col("ci_upper")
    return (
        pl.concat(parts)
        .join(truth, on="metric", maintain_order="left")
        .group_by("metric", "truth", maintain_order=True)
        .agg(
            given=low.is_not_null().mean(),
            covered=((low <= pl.col("truth")) & (pl.col("truth") <= high)).mean(),
            width=(high - low).mean(),
        )
    )


def main(samples: int, *names: str) -> None:
    """Print a Markdown table for the settings of each kind: the coverage, and in brackets the mean width."""
    for metrics in (BINARY, ERRORS):
        chosen = [s for s in SETTINGS if s.metrics is metrics and (not names or s.name in names)]
        cells: dict[str, list[str]] = {}
        for setting in chosen:
            for metric, _, given, covered, width in coverage(setting, samples).iter_rows():
                cell = f"{covered:.3f} ({width:.2g})" if given >= SELDOM and width else "–"
                cells.setdefault(metric, []).append(cell)
            print(setting.name, file=sys.stderr, flush=True)
        if chosen:
            print("| Metric |", " | ".join(s.name for s in chosen), "|\n|---" + "|---" * len(chosen) + "|")
        for metric, row in cells.items():
            print(f"| `{metric}` |", " | ".join(row), "|")
        print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
