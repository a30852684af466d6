"""Small data sets as tables of bins, exact or coarse, and metrics read off them."""

from math import inf

import numpy as np
import polars as pl

from streammetrics.core.lattice import Lattice, limit_shifts

HUGE = 1.7e308
TINY = 5e-324


def histogram(samples, weights=None, coarsen=None):
    """A table of bins for each sample; ``coarsen`` draws a shift for each of the dyadic regions of a sample."""
    lattice, tables = Lattice("real"), []
    for group, sample in enumerate(samples):
        values = np.array(sample, dtype=np.float64)
        keys, shifts = lattice.keys(values), np.zeros(len(values), dtype=np.int64)
        if coarsen is not None:
            regions = {region: coarsen.choice([0, 1, 30, 49, 51, 52, 54]) for region in np.unique(keys >> 54).tolist()}
            coarse = np.array([regions[r] for r in (keys >> 54).tolist()], dtype=np.int64)
            shifts = limit_shifts(keys, coarse, lattice.atom_keys)
        low, high = lattice.lowest(keys >> shifts, shifts), lattice.highest(keys >> shifts, shifts)
        count = np.ones(len(values)) if weights is None else np.array(weights[group], dtype=np.float64)
        tables.append(pl.DataFrame({"group": np.full(len(values), group), "low": low, "high": high, "count": count}))
    table = pl.concat(tables).group_by("group", "low", "high").agg(pl.sum("count")).sort("group", "low")
    return table.with_columns(weighted=pl.lit(float(weights is not None)))


def bins(low, high, count, group=0, weighted=False):
    columns = {"low": low, "high": high, "count": count, "weighted": [float(weighted)] * len(low)}
    return pl.DataFrame({"group": [group] * len(low)} | columns, schema_overrides=dict.fromkeys(columns, pl.Float64))


def read(metric, table):
    """Columns value, lower and upper, a row for each group."""
    names = {c: pl.col(c.removeprefix("error_").removeprefix("value_")) for c in metric.columns}
    lower, upper = metric.bounds_expressions()
    table = table.select("group", **names)
    return table.group_by("group", maintain_order=True).agg(value=metric.expression(), lower=lower, upper=upper)


def read_one(metric, low, high, count, weighted=False):
    return read(metric, bins(low, high, count, weighted=weighted)).drop("group").row(0)


def samples(seed, number=150):
    """Small data sets of ties, of any size of number, of infinities."""
    random = np.random.default_rng(seed)
    odd = [0.0, -0.0, 1.0, 2.5, -2.5, TINY, -TINY, 3 * TINY, 2.2e-308, HUGE, -HUGE, 1.79e308, -inf, inf]
    draw = [
        lambda n: random.integers(-3, 4, n) / 2,
        lambda n: random.normal(size=n),
        lambda n: random.choice([0, 1000], n) + random.normal(size=n) * random.choice([1e-6, 1], n),
        lambda n: random.normal(size=n) * 10.0 ** random.integers(-300, 300, n),
        lambda n: random.integers(-5, 6, n) * TINY,
        lambda n: 1 + random.integers(-3, 4, n) * 2.0**-53,
        lambda n: random.choice(odd, n),
        lambda n: random.choice([-inf, inf, 1.5], n),
    ]
    return [draw[i % len(draw)](random.integers(1, 12)).tolist() for i in range(number)]


def ordinary(sample):
    return max(map(abs, sample)) < 1e300
