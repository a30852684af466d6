"""How often intervals hold the truth: many samples, each a group of one accumulator.

``python -m tests.uncertainty.simulation 2000`` prints the table of docs/intervals.md.
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
AT_ONCE = 500  # samples
BIG = 4_000_000  # rows, whose metrics are the truth
LEAST, MOST = 0.93, 0.985
SELDOM = 0.5  # share of samples with an interval, below which a table shows none

BINARY = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "npv", "f1", "fowlkes_mallows", "mcc"),
    *("kappa", "youden_j", "markedness", "diagnostic_odds_ratio", "roc_auc", "gini", "average_precision", "pr_auc"),
    *("partial_auc(max_fpr=0.2)", "recall_at_fpr(fpr=0.1)", "lift", "gain", "ks", "best_f1", "best_mcc"),
    *("equal_error_rate", "log_loss", "log_loss_skill", "brier_score", "brier_skill_score", "calibration_ratio"),
    *("calibration_in_the_large", "ece", "mce", "brier_reliability"),
]
CLASSES = [
    *("accuracy", "balanced_accuracy", "kappa", "mcc", "f1(average=macro)", "precision(average=weighted)"),
    *("recall(average=macro)",),
]
ERRORS = [
    *("mae", "rmse", "mse", "bias", "mape", "r2", "pearson_r", "median_error", "median_absolute_error", "mad"),
    *("error_quantile(q=0.9)", "error_iqr", "within(x=1)"),
]


@dataclass(frozen=True)
class Setting:
    """Rows of one kind, and what is kept of them."""

    name: str
    rows: int
    draw: Callable[[Random, int, int], dict[str, np.ndarray]]  # of a number of samples of so many rows
    make: Callable[..., sm.Accumulator]
    metrics: list[str]


def binary(share: float, distance: float = 1.2, sharpness: float = 1.3):
    """Scores of two normal classes: calibrated if the sharpness is 1."""

    def draw(random: Random, samples: int, rows: int) -> dict[str, np.ndarray]:
        y = random.random((samples, rows)) < share
        x = random.normal(size=y.shape) + distance * y
        odds = logit(share) + distance * x - distance**2 / 2
        return {"y": y, "p": expit(sharpness * odds) if distance else expit(logit(share) + 0.3 * x)}

    return draw


def weighted(draw):
    """The same rows with weights that follow the score or the prediction, and chance."""

    def with_weights(random: Random, samples: int, rows: int) -> dict[str, np.ndarray]:
        columns = draw(random, samples, rows)
        rank = columns["p"].argsort(axis=1).argsort(axis=1) / rows
        return columns | {"w": np.exp(rank + 0.7 * random.normal(size=rank.shape))}

    return with_weights


def clustered(random: Random, samples: int, rows: int, units: int = 40) -> dict[str, np.ndarray]:
    """Units of different difficulty, of as many rows each, and with weights."""
    unit = np.tile(np.arange(rows) % units, (samples, 1))
    own = np.take_along_axis(random.normal(size=(samples, units)), unit % units, axis=1)
    odds = own + random.normal(size=unit.shape)
    number = unit + units * np.arange(samples)[:, None]
    return {"y": random.random(unit.shape) < expit(1.5 * odds), "p": expit(odds), "u": number, "w": np.exp(own / 3)}


def classes(random: Random, samples: int, rows: int, labels: int = 10) -> dict[str, np.ndarray]:
    y = (labels * random.random((samples, rows)) ** 1.5).astype(int)
    return {"y": y, "z": np.where(random.random(y.shape) < 0.65, y, (labels * random.random(y.shape)).astype(int))}


def values(random: Random, samples: int, rows: int) -> dict[str, np.ndarray]:
    y = 5 + random.gamma(2, 1, (samples, rows))
    return {"y": y, "p": 1 + 0.8 * y + 0.7 * random.standard_t(6, y.shape)}


def of_scores(**options):
    return sm.binary(y_true="y", y_score="p", metrics=BINARY, **options)


def of_errors(**options):
    return sm.regression(y_true="y", y_pred="p", metrics=ERRORS, **options)


def of_labels(**options):
    return sm.multiclass(y_true="y", y_pred="z", metrics=CLASSES, **options)


SETTINGS = [
    Setting("200 rows", 200, binary(0.3), of_scores, BINARY),
    Setting("2,000 rows", 2_000, binary(0.3), of_scores, BINARY),
    *(
        Setting(f"{share:.1%} positive", 2_000, binary(share), partial(of_scores, thresholds=2 * share), BINARY)
        for share in (0.02, 0.005, 0.002)
    ),
    Setting("no skill", 2_000, binary(0.3, 0.0), of_scores, BINARY),
    Setting("calibrated", 2_000, binary(0.3, 1.2, 1.0), of_scores, BINARY),
    Setting("40 units", 2_000, clustered, lambda **o: of_scores(unit="u", **o), BINARY),
    Setting("40 units, weighted", 2_000, clustered, lambda **o: of_scores(unit="u", sample_weight="w", **o), BINARY),
    Setting("weighted", 2_000, weighted(binary(0.3)), partial(of_scores, sample_weight="w"), BINARY),
    Setting(
        "weighted, 2% positive",
        2_000,
        weighted(binary(0.02)),
        partial(of_scores, sample_weight="w", thresholds=0.04),
        BINARY,
    ),
    Setting("10 classes", 2_000, classes, of_labels, CLASSES),
    Setting("200 errors", 200, values, of_errors, ERRORS),
    Setting("2,000 errors", 2_000, values, of_errors, ERRORS),
    Setting("2,000 errors, weighted", 2_000, weighted(values), partial(of_errors, sample_weight="w"), ERRORS),
]


def coverage(setting: Setting, samples: int, seed: int = 0, confidence: float = 0.95) -> pl.DataFrame:
    """Metric, truth, the share of samples with an interval, of those that hold the truth, and their mean width."""
    random = np.random.default_rng(seed)
    many = setting.draw(random, BIG // setting.rows, setting.rows)
    whole = setting.make().update({name: column.ravel() for name, column in many.items()}).finalize().frame
    truth = whole.select("metric", truth="value")
    parts = []
    for start in range(0, samples, AT_ONCE):
        size = min(AT_ONCE, samples - start)
        drawn = setting.draw(random, size, setting.rows)
        batch = {name: column.ravel() for name, column in drawn.items()}
        acc = setting.make(by="sample").update(batch | {"sample": np.repeat(np.arange(size), setting.rows)})
        parts.append(acc.finalize(confidence=confidence).frame.select("metric", "ci_lower", "ci_upper"))
    given = pl.col("ci_lower").is_not_null() | pl.col("ci_upper").is_not_null()
    low, high = pl.col("ci_lower").fill_null(-np.inf), pl.col("ci_upper").fill_null(np.inf)
    found = pl.concat(parts).join(truth, on="metric", maintain_order="left")
    return found.group_by("metric", "truth", maintain_order=True).agg(
        given=given.mean(),
        covered=((low <= pl.col("truth")) & (pl.col("truth") <= high)).filter(given).mean(),
        width=(pl.col("ci_upper") - pl.col("ci_lower")).mean(),
    )


def main(samples: int, *names: str) -> None:
    """Print a Markdown table for the settings of each kind: the coverage, and in brackets the mean width."""
    for metrics in (BINARY, CLASSES, ERRORS):
        chosen = [s for s in SETTINGS if s.metrics is metrics and (not names or s.name in names)]
        if not chosen:
            continue
        cells: dict[str, list[str]] = {}
        for setting in chosen:
            for metric, _, given, covered, width in coverage(setting, samples).iter_rows():
                cell = f"{covered:.3f} ({width:.2g})" if given >= SELDOM and width else "–"
                cells.setdefault(metric, []).append(cell)
            print(setting.name, file=sys.stderr)
        print("| Metric |", " | ".join(s.name for s in chosen), "|\n|---" + "|---" * len(chosen) + "|")
        for metric, row in cells.items():
            print(f"| `{metric}` |", " | ".join(row), "|")
        print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
