"""What is measured of the regression task, against what, and that the answers are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import inputs
import numpy as np
import polars as pl
from cases import BOUNDS
from measure import Figure, fill, side_by_side, within
from numpy.typing import NDArray

import streammetrics as sm

BATCH = 65_536
MANY = 10_000_000
CENTROIDS = 1_000
REGRESSION = "Regression"


def keep(statistic: sm.statistics.Statistic) -> sm.Accumulator:
    """One statistic of the errors."""
    return sm.Accumulator(statistic, y_true="actual", y_pred="predicted")


def batches_of(rows: int) -> tuple[list[pl.DataFrame], list[NDArray[np.float64]]]:
    """Batches of measurements, and their errors."""
    frames = [part.rechunk() for part in inputs.measurements(rows).iter_slices(BATCH)]
    return frames, [(frame["predicted"] - frame["actual"]).to_numpy() for frame in frames]


def error_tables(path: Path) -> Iterator[Figure]:
    """Batches to tables of errors, against sorting the errors of the same batches."""
    frames, errors = batches_of(min(inputs.height(path), MANY))
    kinds = {"Error histogram": sm.statistics.ErrorHistogram(), "t-digest": sm.statistics.TDigest(CENTROIDS)}
    runs = {kind: lambda s=statistic: fill(keep(s), frames) for kind, statistic in kinds.items()}
    times = side_by_side(runs | {"sort": lambda: [np.sort(error) for error in errors]})
    truth = np.median(np.concatenate(errors))
    medians = {"Error histogram": "median_error", "t-digest": "digest_quantile(q=0.5)"}
    for kind, target in {"Error histogram": 1.2, "t-digest": 2}.items():
        within(times[kind].result.finalize([medians[kind]])[medians[kind]], truth)
        what = f"{kind}: CPU time relative to sorting the errors in numpy (lower is better)"
        yield Figure(REGRESSION, what, times[kind].cpu / times["sort"].cpu, "<=", target)


def digest_peer(path: Path) -> Iterator[Figure]:
    """Batches to a median error, against the fastest t-digest."""
    import fastdigest

    frames, errors = batches_of(min(inputs.height(path), MANY))

    def theirs() -> float:
        digest = fastdigest.TDigest(CENTROIDS)
        for error in errors:
            digest.batch_update(error)
        return digest.median()

    times = side_by_side({"ours": lambda: fill(keep(sm.statistics.ErrorHistogram()), frames), "fastdigest": theirs})
    ranks = np.searchsorted(np.sort(np.concatenate(errors)), times["fastdigest"].result) / sum(map(len, errors))
    assert abs(ranks - 0.5) < 0.01  # it promises nothing
    what = "fastdigest: CPU time relative to the error histogram (higher is better)"
    yield Figure(REGRESSION, what, times["fastdigest"].cpu / times["ours"].cpu, ">=", 8)


def mad_bounds(path: Path) -> Iterator[Figure]:
    """Half the width of the certified MAD, that the truth lies inside, and that shards make no difference."""
    rows, rng = min(inputs.height(path), MANY), np.random.default_rng(4)
    for name, errors in {"normal": rng.normal(0, 1, rows), "lognormal": rng.lognormal(0, 1, rows)}.items():
        frame = pl.DataFrame({"actual": np.zeros(rows), "predicted": errors})
        shards = [keep(sm.statistics.ErrorHistogram()).update(frame[i::16]) for i in range(16)]
        total = sm.merge(shards)
        assert total.to_bytes() == keep(sm.statistics.ErrorHistogram()).update(frame).to_bytes()
        assert total.to_bytes() == sm.merge(reversed(shards)).to_bytes()
        mad = total.finalize()["mad"]
        within(mad, np.median(np.abs(errors - np.median(errors))))
        what = f"Median absolute deviation of {name} errors, relative to its value"
        yield Figure(BOUNDS, what, (mad.upper - mad.lower) / 2 / mad.value * 100, "<=", 0.3, "%")


def regression_out_of_core(path: Path) -> Iterator[Figure]:
    """Files to the tables of the whole task, against the bare scan."""
    path = inputs.write(path.parent, inputs.height(path), inputs.measurements)
    scan = pl.scan_parquet(path)

    def ours() -> sm.Accumulator:
        return sm.accumulate(scan, sm.regression(y_true="actual", y_pred="predicted")).compact()

    times = side_by_side(
        {"scan": lambda: scan.select(pl.sum("actual", "predicted")).collect(engine="streaming"), "ours": ours}
    )
    sums, bare = times["scan"].result, times["scan"].wall
    median = scan.select((pl.col("predicted") - pl.col("actual")).median()).collect().item()
    report = times["ours"].result.finalize(["rows", "bias", "median_error"])
    bias = (sums["predicted"] - sums["actual"]).item() / report["rows"].value
    assert abs(report["bias"].value - bias) < 1e-9  # a difference of large sums
    within(report["median_error"], median)
    what = "`sm.regression` from Parquet: run time relative to a Parquet scan (lower is better)"
    yield Figure(REGRESSION, what, times["ours"].wall / bare, "<=", 1.8)


CASES = (regression_out_of_core, error_tables, digest_peer, mad_bounds)
