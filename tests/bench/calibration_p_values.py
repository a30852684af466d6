"""How small p-values of ECCE are, and how often its interval holds 0, if scores are calibrated.

``python tests/bench/calibration_p_values.py`` prints the share of p-values below 0.05, which should be 0.06 at most of
independent rows and 0.08 of units, and the share of intervals that hold 0.
"""

import numpy as np
import polars as pl
from scipy.stats import norm

import streammetrics as sm

SHAPES = [(2, 2), (0.1, 0.3), (1, 99)]  # of the beta distribution of scores


def calibrated(random, shape, samples, size, effect):
    """Samples of rows, ten of a unit with an effect of its own and the same score; without an effect, each has one."""
    units = samples * size // (10 if effect else 1)
    u = np.repeat(np.arange(units), samples * size // units)
    score, of_unit = random.beta(*shape, units)[u], random.normal(size=units)[u]
    label = norm.cdf(effect**0.5 * of_unit + (1 - effect) ** 0.5 * random.normal(size=len(u))) < score
    return pl.DataFrame({"y": label.astype(int), "p": score, "u": u, "sample": np.repeat(np.arange(samples), size)})


def shares(shape, size, effect, samples=200, times=5):
    """The share of small p-values, and of intervals that hold 0."""
    random, small, covered = np.random.default_rng(5), [], []
    for _ in range(times):
        acc = sm.binary(y_true="y", y_score="p", by="sample", unit="u" if effect else None)
        report = acc.update(calibrated(random, shape, samples, size, effect))
        frame = report.finalize(["ecce", "ecce_p_value"], confidence=0.95).frame
        small.append((frame.filter(metric="ecce_p_value")["value"].drop_nulls() < 0.05).mean())
        covered.append((frame.filter(metric="ecce")["ci_lower"].drop_nulls() == 0).mean())
    return np.mean(small), np.mean(covered)


if __name__ == "__main__":
    for effect in (0.0, 0.5):
        for shape in SHAPES:
            small, covered = shares(shape, 40_000 if effect and shape == (1, 99) else 2_000, effect)
            print(f"effect {effect}, scores {shape}: {small:.3f} below 0.05, {covered:.3f} hold 0", flush=True)
