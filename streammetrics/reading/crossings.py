"""Intervals in which one curve lies above the other."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.keys import require_free
from streammetrics.reading.readings import Readings
from streammetrics.rounding import ROUNDING

Values = NDArray[np.float64]


def crossings(a: Readings, b: Readings, kind: Literal["roc", "rec"]) -> pl.DataFrame:
    """Return the intervals between the crossings of the curves of both sides. See `Comparison.roc`."""
    along, found = ("fpr", _of_lines) if kind == "roc" else ("tolerance", _of_steps)
    one, other = a.curve(kind), b.curve(kind)
    shared, keys = (
        curve.columns[: next(i for i, c in enumerate(curve.columns) if c in ("threshold", along))]
        for curve in (one, other)
    )
    names = {"start": f"from_{along}", "end": f"to_{along}"}
    require_free(keys, ["above", *names, *names.values()])
    if not keys:
        return found(one, other).rename(names)
    ours = dict(one.group_by(shared, maintain_order=True)) if shared else {(): one}
    place = [keys.index(key) for key in shared]
    parts = [
        curve.select(keys).head(1).join(found(ours[own], curve), how="cross")
        for key, curve in other.group_by(keys, maintain_order=True)
        if (own := tuple(key[i] for i in place)) in ours
    ]
    nothing = other.select(keys).clear().join(_runs(np.zeros(1), np.zeros(0)), how="cross")
    return pl.concat([nothing, *parts]).rename(names)


def _of_lines(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Intervals between crossings of two ROC curves."""
    x = np.unique(np.concatenate([[0.0, 1.0], *(curve["fpr"].drop_nulls().to_numpy() for curve in (one, other))]))
    start, end = (_along(one, x, side) - _along(other, x, side) for side in ("right", "left"))
    left, right = (np.where(np.abs(gap) < ROUNDING, 0.0, gap) for gap in (start[:-1], end[1:]))
    crossing = np.flatnonzero(left * right < 0)
    at = x[crossing] + (x[crossing + 1] - x[crossing]) * left[crossing] / (left[crossing] - right[crossing])
    sign = np.insert(np.sign(left + right), crossing + 1, np.sign(right[crossing]))
    sign[crossing + np.arange(len(crossing))] = np.sign(left[crossing])
    return _runs(np.insert(x, crossing + 1, at), sign)


def _along(curve: pl.DataFrame, x: Values, side: Literal["left", "right"]) -> Values:
    """Recall just left or right of each x, where a curve can be vertical."""
    ends = pl.min("recall").alias("foot"), pl.max("recall").alias("top")
    fpr, foot, top = (c.to_numpy() for c in curve.drop_nulls("fpr").group_by("fpr").agg(*ends).sort("fpr"))
    if len(fpr) < 2:
        return np.full(len(x), np.nan)
    k = np.clip(np.searchsorted(fpr, x, side=side) - 1, 0, len(fpr) - 2)
    recall: Values = top[k] + (foot[k + 1] - top[k]) * (x - fpr[k]) / (fpr[k + 1] - fpr[k])
    return recall


def _of_steps(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Intervals between crossings of two step functions with bounds; none if one has no rows."""
    if not (one.height and other.height):
        return _runs(np.zeros(1), np.zeros(0))
    x = np.unique(np.concatenate([one["tolerance"].to_numpy(), other["tolerance"].to_numpy()]))
    (low1, high1), (low2, high2) = (tuple(_at(curve, side, x) for side in ("lower", "upper")) for curve in (one, other))
    least, most = low1 - high2, high1 - low2
    sign = np.where(least > ROUNDING, 1.0, np.where(most < -ROUNDING, -1.0, np.nan))
    sign[(np.abs(least) <= ROUNDING) & (np.abs(most) <= ROUNDING)] = 0.0
    return _runs(np.append(x, np.inf), sign)


def _at(curve: pl.DataFrame, side: str, x: Values) -> Values:
    """The value of a step function from each x on."""
    place = np.searchsorted(curve["tolerance"].to_numpy(), x, side="right")
    return np.append(0.0, curve[side].to_numpy())[place]


def _runs(x: Values, sign: Values) -> pl.DataFrame:
    """Adjacent intervals of the same sign, joined: columns start, end, above."""
    code = np.where(np.isnan(sign), 2, sign).astype(np.int64)
    first = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, dtype=np.intp)
    names = pl.Series(code[first]).replace_strict({1: "a", -1: "b", 0: "equal"}, default=None, return_dtype=pl.String)
    return pl.DataFrame({"start": x[first], "end": np.append(x[first][1:], x[-1:])[: len(first)], "above": names})
