"""Example predictions: thirty days of clicks in six countries."""

from __future__ import annotations

from datetime import date, timedelta
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from streammetrics.base import write_file

DAYS = 30
FIRST_DAY = date(2026, 1, 1)
COUNTRIES = {"US": 0.4, "DE": 0.2, "FR": 0.15, "BR": 0.12, "JP": 0.08, "IN": 0.05}
NOISE = {"US": 0.6, "DE": 0.7, "FR": 0.8, "BR": 1.0, "JP": 1.2, "IN": 1.8}  # how much of a click the model misses


def write_predictions(folder: Path, rows: int) -> list[Path]:
    """Write one Parquet file per day, with the columns day, country, p_click (Float64), and clicked (Boolean).

    About 2% of rows are clicks. The model is worse in some countries than in others.

    Returns:
        The files, by day.
    """
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    counts = np.full(DAYS, rows // DAYS) + (np.arange(DAYS) < rows % DAYS)
    paths = []
    for number, count in enumerate(counts):
        day = FIRST_DAY + timedelta(days=number)
        path = folder / f"{day}.parquet"
        content = BytesIO()
        _one_day(generator, day, int(count)).write_parquet(content)
        write_file(path, content.getvalue())
        paths.append(path)
    return paths


def _one_day(generator: np.random.Generator, day: date, rows: int) -> pl.DataFrame:
    country = generator.choice(len(COUNTRIES), rows, p=list(COUNTRIES.values()))
    predicted = generator.normal(-5.0, 1.3, rows)
    noise = np.array(list(NOISE.values()))[country]
    odds = np.exp(predicted + noise * generator.normal(0.0, 1.0, rows))
    return pl.DataFrame(
        {
            "day": pl.repeat(day, rows, eager=True),
            "country": pl.Series(list(COUNTRIES)).gather(country),
            "p_click": 1.0 / (1.0 + np.exp(-predicted)),
            "clicked": generator.random(rows) < odds / (1.0 + odds),
        }
    )
