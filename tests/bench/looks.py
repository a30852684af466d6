"""How often the truth is ever missed at many looks at a growing set of rows: by intervals of all looks, and of one.

``python tests/bench/looks.py`` prints both shares for each metric. With always=, they should be 5% at most.
"""

from functools import partial

import numpy as np
import polars as pl

import streammetrics as sm

METRICS = ["accuracy", "f1", "log_loss"]
LIMITS = ["ci_lower", "ci_upper"]


def rows_of(random, streams, count):
    """Labels and scores of some streams, so many of each."""
    y = random.random((streams, count)) < 0.4
    p = 1 / (1 + np.exp(0.5 - random.normal(1.2 * y, 1)))
    return pl.DataFrame({"y": y.ravel(), "p": p.ravel(), "stream": np.repeat(np.arange(streams), count)})


def missed(looks, streams):
    """The share of streams in which the truth has been outside of the limits, with always= and without."""
    random, statistics = np.random.default_rng(0), (sm.statistics.ConfusionCounts(), sm.statistics.ProbabilityLoss())
    task = partial(sm.Accumulator, *statistics, y_true="y", y_score="p", metrics=METRICS)
    truth = task().update(rows_of(random, 1, 2_000_000)).finalize().frame["value"].to_numpy()[:, None]
    acc, outside = task(by="stream"), np.zeros((2, len(METRICS), streams), dtype=bool)
    for look in range(looks):
        acc.update(rows_of(random, streams, 500 if look == 0 else 20))
        for so_far, always in zip(outside, (1_000, None), strict=True):
            limits = acc.finalize(confidence=0.95, always=always).frame.select(LIMITS).to_numpy()
            lower, upper = limits.reshape(streams, len(METRICS), 2).T
            so_far |= (lower > truth) | (upper < truth)
    return outside.mean(axis=2)


if __name__ == "__main__":
    for looks, streams in ((300, 100), (3_000, 200)):
        for name, shares in zip(("always", "once"), missed(looks, streams), strict=True):
            print(f"{looks:,} looks, {name}:", dict(zip(METRICS, shares.round(3).tolist(), strict=True)))
