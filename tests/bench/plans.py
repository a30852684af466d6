"""How often plans are right, and intervals of units with few and many folds: many pilots, each a group.

``python tests/bench/plans.py`` prints the tables of docs/evidence.md and docs/coverage.md. ``--write``
writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import expit, logit
from simulated import show, table

import streammetrics as sm
from streammetrics.base import ROWS
from streammetrics.metrics.intervals.planning import rows_to_find

ROWS_AT_ONCE = 500_000  # of pilots
MANY = 4_000_000  # rows, which show the truth
RANGES = dict.fromkeys(("accuracy", "recall", "f1", "roc_auc", "average_precision"), (0, 1))
RANGES |= dict.fromkeys(("log_loss", "mae"), (0, np.inf))
METRICS = tuple(RANGES)
SHARE, APART, IN_COMMON = 0.3, 1.2, 0.5  # of positives; of the classes; of a unit, in standard deviations
DIFFERENCE, POWER, CONFIDENCE = 1.0, 0.8, 0.95  # the difference is large, so that bounds do not count


@dataclass(frozen=True)
class Setting:
    """Pilots of one size. With units, the rows of a unit have a difficulty in common."""

    rows: int
    units: int = 0
    folds: int = 200
    pilots: int = 1_000

    def __str__(self) -> str:
        return f"{self.rows:,} rows" + (f", {self.units:,} units, {self.folds} folds" if self.units else "")


PLANS = [Setting(1_000), Setting(4_000), Setting(20_000)]
PLANS += [Setting(1_000, 100), Setting(4_000, 400), Setting(20_000, 2_000), Setting(20_000, 2_000, folds=20)]
FEW_UNITS = [Setting(10 * units, units, folds) for units in (10, 20, 40, 100) for folds in (20, 200)]


def drawn(random: np.random.Generator, setting: Setting, pilots: int) -> dict[str, np.ndarray]:
    """Rows of some pilots: scores of two normal classes, and errors of predictions."""
    shape = pilots, setting.rows
    y, noise = random.random(shape) < SHARE, random.normal(size=shape)
    number = np.broadcast_to(np.arange(pilots)[:, None], shape)
    found = {"y": y, "pilot": number}
    if setting.units:
        unit = random.integers(0, setting.units, shape)
        noise = noise + IN_COMMON * np.take_along_axis(random.normal(size=(pilots, setting.units)), unit, axis=1)
        found["unit"] = unit + setting.units * number + random.integers(1 << 40)
    score = expit(logit(SHARE) + APART * (APART * y + noise) - APART**2 / 2)
    return {name: values.ravel() for name, values in (found | {"p": score, "e": noise, "actual": 0 * noise}).items()}


def estimates(setting: Setting, seed: int, confidence: float | None) -> pl.DataFrame:
    """The metrics of each pilot. Only intervals need units."""
    random, parts, left = np.random.default_rng((seed, setting.rows)), [], setting.pilots
    options = {"unit": "unit", "folds": setting.folds} if setting.units and confidence else {}
    tasks = partial(sm.binary, y_true="y", y_score="p"), partial(sm.regression, y_true="actual", y_pred="e")
    while left > 0:
        own = min(left, max(1, ROWS_AT_ONCE // setting.rows))
        rows, left = drawn(random, setting, own), left - own
        for task, metrics in zip(tasks, (METRICS[:-1], METRICS[-1:]), strict=True):
            acc = task(by="pilot", capacity=1_024, metrics=metrics, **options).update(rows)
            parts.append(acc.finalize(confidence=confidence).frame.select(pl.exclude("threshold", "pilot", "note")))
    return pl.concat(parts)


@cache
def errors(rows: int, units: int, samples: int) -> pl.DataFrame:
    """The standard deviations of the metrics, over many samples."""
    return estimates(Setting(rows, units, pilots=samples), 1, None).group_by("metric").agg(pl.std("value"))


def plans(setting: Setting) -> dict[str, np.ndarray]:
    """The planned number of rows relative to the true one, in each pilot, by metric."""
    true = errors(setting.rows, setting.units, 10 * setting.pilots)
    found = estimates(setting, 2, CONFIDENCE).with_columns(pl.lit(setting.rows).alias(ROWS))
    steps, planned = stats.norm.ppf((1 + CONFIDENCE) / 2) + stats.norm.ppf(POWER), {}
    for metric, range in RANGES.items():
        needed = setting.rows * (steps * true.filter(metric=metric)["value"].item() / DIFFERENCE) ** 2
        rows = found.filter(metric=metric).select(rows_to_find(DIFFERENCE, range, POWER, CONFIDENCE))
        planned[metric] = rows.to_series().fill_null(np.nan).to_numpy() / needed
    return planned


def near(setting: Setting) -> dict[str, float]:
    """The share of pilots whose plan is within 20% of the true number, by metric."""
    return {metric: float(np.mean(abs(ratio - 1) < 0.2)) for metric, ratio in plans(setting).items()}


def coverage(setting: Setting) -> dict[str, float]:
    """The share of intervals that contain the true value, by metric."""
    many = Setting(MANY, MANY * setting.units // setting.rows, pilots=1)
    true = estimates(many, 1, None).select("metric", pl.col("value").alias("true"))
    found = estimates(setting, 2, CONFIDENCE).join(true, on="metric").drop_nulls("ci_lower")
    held = found.group_by("metric").agg(pl.col("true").is_between("ci_lower", "ci_upper").mean().alias("held"))
    return dict(held.rows())


def main() -> None:
    """Print the tables, and write them."""
    for page, mark, first, settings, measure in (
        ("evidence.md", "plans", "Pilot", PLANS, near),
        ("coverage.md", "few units", "Rows", FEW_UNITS, coverage),
    ):
        cells = {}
        for setting in settings:
            row = measure(setting)
            cells[str(setting)] = {f"`{m}`": f"{100 * row[m]:.1f}%" if m in row else "–" for m in METRICS}
        show(page, mark, table(first, cells))


if __name__ == "__main__":
    main()
