"""The data of the benchmarks, as Parquet: scores of a rare event, and measurements with their predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

ROW_GROUP = 1_000_000


def predictions(rows: int, seed: int = 0) -> pl.DataFrame:
    """A bool label, a calibrated float64 score, and the country that each row belongs to, one of fifty."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.5, 8, rows)
    countries = pl.Series([f"c{i:02d}" for i in range(50)])
    return pl.DataFrame(
        {
            "label": rng.random(rows) < score,
            "score": score,
            "country": countries.gather(rng.integers(0, len(countries), rows)),
        }
    )


def grouped(rows: int, seed: int = 0) -> pl.DataFrame:
    """Labels and scores of groups: fifty, ten thousand, and a million that are known by large numbers."""
    rng = np.random.default_rng(seed)
    score = rng.random(rows)
    columns = {"label": rng.random(rows) < score, "score": score}
    return pl.DataFrame(
        columns
        | {"few": rng.integers(0, 50, rows), "many": rng.integers(0, 10_000, rows)}
        | {"most": rng.integers(0, 1_000_000, rows) * 7_919_317}
    )


def measurements(rows: int, seed: int = 0) -> pl.DataFrame:
    """Float64 values about 100, predicted with normal errors."""
    rng = np.random.default_rng(seed)
    actual = rng.normal(100, 20, rows)
    return pl.DataFrame({"actual": actual, "predicted": actual + rng.normal(0.1, 3, rows)})


def class_probabilities(rows: int, classes: int) -> pl.DataFrame:
    """The class of each row, as often the likely one as its probability says, and the probabilities of all classes."""
    rng = np.random.default_rng(3)
    weights = rng.gamma(0.3, size=(rows, classes)) + 1e-9
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    drawn = (probabilities.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1).clip(max=classes - 1)
    return pl.DataFrame({"class": drawn} | {f"p{i}": probabilities[:, i].copy() for i in range(classes)})


def write(folder: Path, rows: int, make: Callable[[int, int], pl.DataFrame] = predictions) -> Path:
    """A file of so many rows in row groups of a million, written once."""
    path = folder / f"{make.__name__}-{rows}.parquet"
    if not path.exists():
        sizes = (min(ROW_GROUP, rows - start) for start in range(0, rows, ROW_GROUP))
        frame = pl.concat(make(size, seed) for seed, size in enumerate(sizes))
        partial = path.with_suffix(".partial")
        frame.write_parquet(partial, row_group_size=ROW_GROUP)
        partial.rename(path)
    return path


def height(path: Path) -> int:
    """Rows of a file."""
    return pl.scan_parquet(path).select(pl.len()).collect().item()


def hard_scores(rows: int = 2_000_000) -> dict[str, tuple[np.ndarray, tuple[float, ...]]]:
    """Scores that uniform bins fail on, and the atoms to declare for them."""
    rng = np.random.default_rng(1)
    fallback = np.where(rng.random(rows) < 0.3, 0.05, rng.beta(2, 8, rows))
    return {
        "click rates near 0.001": (rng.beta(2, 2_000, rows), ()),
        "scores saturated near 0.999": (1 - rng.beta(2, 2_000, rows), ()),
        "scores within 1e-6 of 1": (1 - 1e-6 * rng.random(rows), ()),
        "beta(2, 8) scores": (rng.beta(2, 8, rows), ()),
        "beta(0.5, 8) scores": (rng.beta(0.5, 8, rows), ()),
        "30% of scores at a declared atom": (fallback, (0.05,)),
    }
