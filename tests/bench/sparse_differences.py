"""How often a gate is wrong if two models differ in few rows, or rows belong to units: many samples, each a group.

``python tests/bench/sparse_differences.py`` prints tables of docs/evidence.md, or one of them with its name, such as
``units``. ``--write`` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from simulated import show, table

import streammetrics as sm

TRUTH, PARTS = 32_000_000, 16  # rows whose metrics are the truth, in so many parts
POWER = 2.5  # standard errors between the margin and the true difference of the alternative
BINARY = ("roc_auc", "average_precision", "log_loss", "brier_score", "f1", "recall", "accuracy")
UNITS = ("roc_auc", "log_loss", "recall", "accuracy")
ERRORS = ("mae", "mse")
LOW = 0.02  # the score of a row whose feature is missing
UNIT = 10  # rows
ALIKE = 0.6  # share of units whose rows are equal


@dataclass(frozen=True)
class Setting:
    """Samples of one kind.

    Args:
        name: Row of the table.
        rows: Of a sample.
        draw: Draws rows: ``y``, and the scores or predictions ``a`` of the champion and ``b`` of the candidate.
        metrics: Metrics with a requirement.
        samples: Number of samples.
        units: Number of folds if rows belong to units of ten rows, of which most are equal.
    """

    name: str
    rows: int
    draw: Callable
    metrics: tuple[str, ...] = BINARY
    samples: int = 2_000
    units: int | None = None

    def accumulator(self, **options) -> sm.Accumulator:
        """An accumulator of both models."""
        models = {"a": "a", "b": "b"}
        if set(self.metrics) <= set(ERRORS):
            return sm.regression(y_true="y", y_pred=models, **options)
        return sm.binary(y_true="y", y_score=models, **options)

    def sampled(self, random: np.random.Generator, samples: int) -> pl.DataFrame:
        """Rows of some samples, with the number of the sample, and of the unit."""
        count = samples * self.rows
        frame = pl.DataFrame(dict(self.draw(random, count)))
        place = np.arange(count)
        if self.units is not None:  # all rows of some units are like the first
            first = place - place % UNIT
            alike = random.random(count // UNIT).repeat(UNIT) < ALIKE
            frame = frame[np.where(alike, first, place)]
        return frame.with_columns(sample=place // self.rows, unit=place // UNIT)

    def compared(self, frame: pl.DataFrame, models: tuple[str, str]) -> sm.Comparison:
        """The comparison of two models in each sample."""
        unit = {} if self.units is None else {"unit": "unit", "folds": self.units}
        acc = self.accumulator(by="sample", **unit).update(frame)
        return sm.compare(acc, models=models, metrics=list(self.metrics))


def logistic(random: np.random.Generator, count: int):
    """Calibrated scores of a champion, in steps of 0.02."""
    score = np.round(np.clip(random.normal(0.3, 0.18, count), 0.02, 0.98) * 50) / 50
    return {"y": (random.random(count) < score).astype(np.int8), "a": score}


def missing_feature(share: float):
    """The candidate is the champion, but for a share of rows whose score is low."""

    def draw(random: np.random.Generator, count: int):
        rows = logistic(random, count)
        return {**rows, "b": np.where(random.random(count) < share, LOW, rows["a"])}

    return draw


def traded(share: float, gain: float):
    """The candidate also gains a little in another share of rows, so that both are about equally good."""

    def draw(random: np.random.Generator, count: int):
        rows = logistic(random, count)
        better = np.clip(rows["a"] + np.where(rows["y"] == 1, 0.02, -0.02), 0.02, 0.98)
        b = np.where(random.random(count) < gain, better, rows["a"])
        return {**rows, "b": np.where(random.random(count) < share, LOW, b)}

    return draw


def rare(share: float):
    """Nine score levels of two models with correlated errors, and few positives."""

    def draw(random: np.random.Generator, count: int):
        y = random.random(count) < share
        common = random.normal(size=count)
        levels = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95])
        rows = {"y": y.astype(np.int8)}
        for name, distance in (("a", 3.0), ("b", 2.6)):
            x = distance * y + 0.8 * common + 0.6 * random.normal(size=count)
            rows[name] = levels[np.clip(np.round(1.4 * x + 1), 0, 8).astype(int)]
        return rows

    return draw


def segment(share: float):
    """In a share of rows, the candidate is worse by a noise on the logit: own family, not few equal changes."""

    def draw(random: np.random.Generator, count: int):
        rows = logistic(random, count)
        noise = 1.5 * random.normal(size=count) * (random.random(count) < share)
        odds = np.log(rows["a"] / (1 - rows["a"])) + noise
        return {**rows, "b": np.round(1 / (1 + np.exp(-odds)), 3)}

    return draw


def default_predictions(share: float):
    """Regression: a share of the predictions of the candidate is 0."""

    def draw(random: np.random.Generator, count: int):
        y = random.normal(10, 3, count)
        a = y + random.normal(size=count)
        return {"y": y, "a": a, "b": np.where(random.random(count) < share, 0.0, a)}

    return draw


def lognormal_errors(random: np.random.Generator, count: int):
    """Regression: errors with heavy tails, of both models alike."""
    y, common = random.normal(size=count), random.normal(size=count)
    one, other = (np.exp(0.7 * common + 0.7 * random.normal(size=count)) for _ in range(2))
    return {"y": y, "a": y + one, "b": y + 1.05 * other}


SETTINGS = [
    Setting("5 of 1,000 rows differ", 1_000, missing_feature(0.005)),
    Setting("10 of 5,000", 5_000, missing_feature(0.002)),
    Setting("20 of 1,000", 1_000, missing_feature(0.02)),
    Setting("100 of 5,000", 5_000, missing_feature(0.02)),
    Setting("5 of 1,000 lose, others gain", 1_000, traded(0.005, 0.5), ("log_loss", "brier_score", "roc_auc")),
    Setting("50 of 5,000 lose, others gain", 5_000, traded(0.01, 0.8), ("log_loss", "brier_score", "roc_auc")),
    Setting("10 positives of 5,000", 5_000, rare(0.002), ("roc_auc", "average_precision", "log_loss", "recall")),
    Setting("40 positives of 20,000", 20_000, rare(0.002), ("roc_auc", "average_precision", "log_loss", "recall")),
    Setting("noise in 5% of 2,000", 2_000, segment(0.05)),
    Setting("noise in 30% of 300", 300, segment(0.3)),
    Setting("0 is predicted in 5 of 1,000", 1_000, default_predictions(0.005), ERRORS),
    Setting("0 is predicted in 50 of 5,000", 5_000, default_predictions(0.01), ERRORS),
    Setting("500 log-normal errors", 500, lognormal_errors, ERRORS),
]
OF_UNITS = [
    Setting("2,000 rows, 30% differ", 2_000, segment(0.3), UNITS, units=20),
    Setting("8,000 rows, 30% differ", 8_000, segment(0.3), UNITS, units=20),
    Setting("8,000 rows, 2% differ", 8_000, missing_feature(0.02), UNITS, units=20),
    Setting("8,000 rows, 1% positive", 8_000, rare(0.01), UNITS, units=20),
]


def differences(setting: Setting) -> dict[str, tuple[float, float]]:
    """The loss of the candidate by each metric in many rows, and its standard error in a sample."""
    random, total = np.random.default_rng(0), dict.fromkeys(setting.metrics, 0.0)
    whole = replace(setting, rows=TRUTH // PARTS, units=None)
    for _ in range(PARTS):
        frame = whole.sampled(random, 1)
        found = sm.compare(setting.accumulator().update(frame), models=("a", "b"), metrics=list(setting.metrics)).frame
        for metric, difference in found.select("metric", "difference").iter_rows():
            total[metric] += (-difference if higher_is_better(metric) else difference) / PARTS
    frame = setting.sampled(random, max(20, 200_000 // setting.rows))
    spread = setting.compared(frame, ("a", "b")).frame.group_by("metric").agg(pl.col("difference").std())
    errors = dict(spread.iter_rows())
    return {metric: (total[metric], errors[metric]) for metric in setting.metrics}


def higher_is_better(metric: str) -> bool:
    """Whether more of a metric is better."""
    return metric not in ("log_loss", "brier_score", *ERRORS)


def rates(setting: Setting, samples: int | None = None) -> dict[str, tuple[float, float, float]]:
    """By metric, the shares of samples with a false pass, with an open verdict, and with a pass of the alternative.

    A false pass is that of a requirement whose margin is the true difference. The alternative has a margin that is
    larger by 2.5 standard errors.
    """
    samples = setting.samples if samples is None else samples
    random, true = np.random.default_rng(setting.rows), differences(setting)
    counts = {metric: np.zeros(3) for metric in setting.metrics}
    size = max(1, 1_000_000 // setting.rows)
    for start in range(0, samples, size):
        comparison = setting.compared(setting.sampled(random, min(size, samples - start)), ("a", "b"))
        for metric, (loss, error) in true.items():
            at_margin, beyond = (verdicts(comparison, metric, margin) for margin in (loss, loss + POWER * error))
            few = at_margin["note"].fill_null("").str.contains("effective rows")
            undecided = (at_margin["verdict"] == "open") & (few | at_margin["ci_lower"].is_null())
            held = [(found["verdict"] == "holds").sum() for found in (at_margin, beyond)]
            counts[metric] += [held[0], undecided.sum(), held[1]]
    return {metric: tuple(count / samples) for metric, count in counts.items()}


def verdicts(comparison: sm.Comparison, metric: str, margin: float) -> pl.DataFrame:
    """The verdicts on a loss of at most a margin, which is a gain if it is negative."""
    if margin < 0:
        return comparison.check(better={metric: -margin}).frame
    return comparison.check(not_worse={metric: margin}).frame


def main(*wanted: str) -> None:
    """Print some tables, or all, and write them."""
    binary = [s for s in SETTINGS if not set(s.metrics) <= set(ERRORS)]
    errors = [s for s in SETTINGS if set(s.metrics) <= set(ERRORS)]
    for mark, settings in (("few differences", binary), ("few different errors", errors), ("units", OF_UNITS)):
        if not wanted or mark in wanted:
            cells = {}
            for setting in settings:
                shares = {f"`{m}`": [f"{100 * rate:.1f}" for rate in found] for m, found in rates(setting).items()}
                cells[setting.name] = {metric: " / ".join(texts) for metric, texts in shares.items()}
                print(setting.name, cells[setting.name], file=sys.stderr, flush=True)
            show("evidence.md", mark, table("Samples", cells))


if __name__ == "__main__":
    main(*(argument for argument in sys.argv[1:] if argument != "--write"))
