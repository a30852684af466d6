"""Rows of a page, with hostile names."""

import numpy as np
import polars as pl

HOSTILE = "<script>alert(1)</script>"


NAMES = [
    HOSTILE,
    "\"'><img src=x onerror=alert(2)>",
    "a & b",
    "$style ${title} {0} %s",
    "</table></svg></script>",
    "–",
    "",
]


SIZE = 20_000


rng = np.random.default_rng(0)


def clicks(segments=200):
    names = [*NAMES, *(f"shop {i:03d}" for i in range(segments - len(NAMES)))]
    p = rng.beta(0.5, 3, SIZE)
    return pl.DataFrame(
        {
            "y": rng.random(SIZE) < p,
            "p": pl.Series(p).set(pl.Series(rng.random(SIZE) < 1e-3), None),
            HOSTILE: pl.Series(names).gather(np.arange(SIZE) % segments),
        }
    )
