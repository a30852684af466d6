"""The data of the benchmarks: a bool label, a float64 score and a text column of fifty values, as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

ROW_GROUP = 1_000_000


def predictions(rows: int, seed: int = 0) -> pl.DataFrame:
    """Scores of a rare event, calibrated, and the country that each row belongs to."""
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


def write(folder: Path, rows: int) -> Path:
    """A file of so many rows in row groups of a million, written once."""
    path = folder / f"predictions-{rows}.parquet"
    if not path.exists():
        sizes = (min(ROW_GROUP, rows - start) for start in range(0, rows, ROW_GROUP))
        frame = pl.concat(predictions(size, seed) for seed, size in enumerate(sizes))
        partial = path.with_suffix(".partial")
        frame.write_parquet(partial, row_group_size=ROW_GROUP)
        partial.rename(path)
    return path


def hard_scores(rows: int = 2_000_000) -> dict[str, tuple[np.ndarray, tuple[float, ...]]]:
    """Scores that uniform bins fail on, and the atoms to declare for them."""
    rng = np.random.default_rng(1)
    fallback = np.where(rng.random(rows) < 0.3, 0.05, rng.beta(2, 8, rows))
    return {
        "click rates": (rng.beta(2, 2_000, rows), ()),
        "saturated": (1 - rng.beta(2, 2_000, rows), ()),
        "within 1e-6 of 1": (1 - 1e-6 * rng.random(rows), ()),
        "beta(2, 8)": (rng.beta(2, 8, rows), ()),
        "beta(0.5, 8)": (rng.beta(0.5, 8, rows), ()),
        "30 % at a declared atom": (fallback, (0.05,)),
    }
