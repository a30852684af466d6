"""How often a slice is found where nothing fails, and how small p-values are by chance alone.

``python tests/bench/false_slices.py`` prints the share of samples in which any slice is found, by metric.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import streammetrics as sm

METRICS = ["accuracy", "recall", "log_loss", "f1", "mae", "ecce"]
ALL = 0.999  # the false discovery rate at which most slices that are worse at all are findings


def noise(seed, count=4_000):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 12, count)
    data = {name: rng.integers(0, n, count) for name, n in zip("abc", (2, 4, 8), strict=True)}
    data |= {"p": p, "y": rng.random(count) < p, "v": rng.exponential(size=count), "w": np.zeros(count)}
    return pl.DataFrame(data)


def false_discoveries(seeds, metrics, fdr):
    """In how many samples without a failure something is found, by metric."""
    found = dict.fromkeys(metrics, 0)
    for seed in seeds:
        data = noise(seed)
        reports = [sm.binary(y_true="y", y_score="p", by=["a", "b", "c"], thresholds=[0.15])]
        reports += [sm.regression(y_true="v", y_pred="w", by=["a", "b", "c"])]
        reports = [acc.update(data).finalize() for acc in reports]
        for metric in metrics:
            report = reports[metric in ("mae", "rmse")]
            found[metric] += report.slices(metric, min_rows=100, fdr=fdr).height > 0
    return found


def p_values(metric, rates, threshold, slices):
    """P-values of slices of 150 rows in which nothing fails: those that are smaller than others are findings."""
    rng = np.random.default_rng(7)
    p = rng.beta(*rates, slices * 150)
    data = pl.DataFrame({"g": np.repeat(np.arange(slices), 150), "p": p, "y": rng.random(len(p)) < p})
    data = data.with_columns(v=pl.Series(rng.exponential(size=len(p))), w=0.0)
    acc = sm.binary(y_true="y", y_score="p", by="g", thresholds=[threshold])
    if metric in ("mae", "rmse"):
        acc = sm.regression(y_true="v", y_pred="w", by="g")
    return acc.update(data).finalize().slices(metric, min_rows=150, fdr=ALL)["p_value"]


def main() -> None:
    """Print the shares."""
    samples, fdr = 200, 0.2
    for metric, found in false_discoveries(range(samples), METRICS, fdr).items():
        print(f"{metric}: found in {found / samples:.1%} of samples without a failure, at most {fdr:.0%} are promised")


if __name__ == "__main__":
    main()
