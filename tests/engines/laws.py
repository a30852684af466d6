"""The laws of an engine that tests run, and rows whose types differ from part to part."""

import math
from datetime import datetime

import polars as pl

from streammetrics.testing import checks

WHOLE = (  # without groups, every task takes the way of the first one
    *(f"the tables of one process ({task}, whole)" for task in ("multiclass", "regression")),
    *(f"the same bytes ({task}, whole)" for task in ("losses", "losses of classes", "multiclass", "regression")),
)
OF_STATES = tuple(f"each group has one state ({task})" for task in ("binary", "regression"))  # models have them, too


def laws(engine):
    """The laws of an engine, each once."""
    laws = {str(check): check for check in checks(engine)}
    for repeated in (*WHOLE, *(OF_STATES if engine.states else ())):
        del laws[repeated]
    return [*laws.values()]


TIMES = [datetime(2026, 1, 1, hour) for hour in range(8)]
GROUPS = {  # of parts with different types of the same groups
    "decimals": [
        pl.Series(["1.5", "2.0", "3.1", "100.0"]).cast(pl.Decimal(10, 1)),
        pl.Series(["1.50", "2.00", "3.10", "100.00", "7.25", None]).cast(pl.Decimal(12, 2)),
        pl.Series(["2", "100"]).cast(pl.Decimal(5, 0)),
    ],
    "numbers": [
        pl.Series([1, 2, 3, None, -5]),
        pl.Series([1.0, 2.0, 3.0, 0.5, math.nan, -0.0, -5.0]),
        pl.Series([0, 1], dtype=pl.UInt8),
        pl.Series([0.1, 3], dtype=pl.Float32),
    ],
    "text": [
        pl.Series(["a", "b", "c"], dtype=pl.Categorical),
        pl.Series(["c", None, "b"]),
        pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])),
    ],
    "times": [pl.Series(TIMES, dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")],
    "durations": [pl.Series(TIMES, dtype=pl.Datetime(unit)) - datetime(2025, 1, 1) for unit in ("ms", "ns")],
    "nulls": [
        pl.Series([None, None]),
        pl.Series([None], dtype=pl.Date),
        pl.Series([1.5, None]),
        pl.Series([], dtype=pl.String),
    ],
}


def parts(groups):
    """A frame for each part."""
    return [pl.DataFrame({"y": [1] * len(g), "p": [0.5] * len(g), "g": g}) for g in groups]
