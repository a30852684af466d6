"""Chart of true values by prediction, as a two-dimensional histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.charts.amounts import rows_or_weight
from streammetrics.charts.histograms import CROWDED
from streammetrics.charts.picture import Axis, Layer, Picture, Places, extent, line
from streammetrics.charts.series import BY_CHARTS, Drawn, series_of
from streammetrics.keys import require_free
from streammetrics.text.decimals import percentage

INSIDE = 0.99  # share of the rows within the ends of the axes
ACROSS, UP = 40, 30  # tiles of the plot, which are square
RANGES = 10  # of predictions, whose true values have a mean
SHADES = 8
FEWEST = 0.005  # share of the rows of a range with a mean
PREDICTED, ACTUAL = (tuple(f"{what}_{end}" for end in ("lowest", "highest")) for what in ("predicted", "actual"))
MEAN = "mean true value"


def actual_vs_predicted(report: Drawn, /, **keys: Any) -> Picture:
    """Return true values by prediction of one model and group: tiles are darker where rows are denser.

    A line shows the mean true value of each range of predictions, computed from the middle of each rectangle.
    """
    require_free(report.by, [*PREDICTED, *ACTUAL, "count"], BY_CHARTS)
    series = series_of(report, report.curve("actual_vs_predicted"), keys)
    series.require_one("distributions of predictions and true values")
    counted, axis = rows_or_weight(report), _axis(series.frame)
    tiles, means, beyond = _drawn(series.frame, axis)
    outside = f"{percentage(beyond)} of {counted} lie outside this range" if beyond >= 5e-4 else ""
    where = ", ".join(name for name in series.names if name != "all rows")
    return Picture(
        "True values by prediction",
        Axis("Prediction", axis.low, axis.high, axis.scale),
        Axis("True value", axis.low, axis.high, axis.scale),
        [Layer("tile", tiles), line((axis.low, axis.high), (axis.low, axis.high)), Layer("line", means)],
        (counted, MEAN),
        subtitle="; ".join(filter(None, (where, outside))),
        caption=f"Darker: more {counted}. Dotted diagonal: perfect prediction.",
    )


def _axis(cells: pl.DataFrame) -> Axis:
    """An axis with nearly all predictions and true values: logarithmic if they are positive and crowded at its end."""
    ends, middles, rest = [], [], (1 - INSIDE) / 2
    for lowest, highest in (PREDICTED, ACTUAL):
        ordered = cells.sort(middle := pl.col(lowest) / 2 + pl.col(highest) / 2)
        reached = ordered["count"].cum_sum() / ordered["count"].sum()
        at = [(pl.col(lowest), rest), (middle, 0.5), (pl.col(highest), 1 - rest)]
        found = [ordered.select(end.filter(reached >= share).first()).to_series() for end, share in at]
        ends += [found[0], found[2]]
        middles += found[1].drop_nulls().to_list()
    low, high = extent(*ends, room=0.02)
    if middles and cells.select(pl.min(PREDICTED[0], ACTUAL[0])).min_horizontal().item() > 0:
        first, last = extent(*ends, room=0.0)
        if max(middles) < first + CROWDED * (last - first):
            return Axis("", first, last, "log")
    return Axis("", low, high)


def _drawn(cells: pl.DataFrame, axis: Axis) -> tuple[pl.DataFrame, pl.DataFrame, float]:
    """The tiles, the mean true values, and the share of the rows beyond the ends of the axis."""
    count = cells["count"].cast(pl.Float64).to_numpy()
    columns, lines = (_shares(cells, ends, axis, n) for ends, n in ((PREDICTED, ACROSS), (ACTUAL, UP)))
    tiles = (columns * count[:, None]).T @ lines
    ranges, middles = columns.reshape(-1, RANGES, ACROSS // RANGES).sum(axis=2), _edges(axis, 2 * RANGES)[1::2]
    rows, actual = count @ ranges, cells.select(pl.col(ACTUAL[0]) / 2 + pl.col(ACTUAL[1]) / 2).to_series().to_numpy()
    enough = rows > FEWEST * count.sum()
    means = {"x": middles[enough], "y": (count * actual) @ ranges[:, enough] / rows[enough]}
    beyond = 1 - tiles.sum() / count.sum() if len(count) else 0.0
    return (
        _tiles(tiles, _edges(axis, ACROSS), _edges(axis, UP)),
        pl.DataFrame(means).with_columns(series=pl.lit(MEAN)),
        float(beyond),
    )


def _edges(axis: Axis, parts: int) -> Places:
    """The ends of equal parts of an axis."""
    between = np.geomspace if axis.scale == "log" else np.linspace
    edges: Places = between(axis.low, axis.high, parts + 1)
    return edges


def _shares(cells: pl.DataFrame, ends: tuple[str, ...], axis: Axis, parts: int) -> NDArray[np.float64]:
    """The share of each cell in each part of an axis, as if its rows were spread evenly."""
    low, high = (axis.place(cells[end])[:, None] * parts for end in ends)
    edges = np.arange(parts + 1)
    width = np.where(high > low, high - low, 1.0)
    return np.diff(np.where(high > low, np.clip((edges - low) / width, 0.0, 1.0), edges > low), axis=1)


def _tiles(tiles: NDArray[np.float64], across: Places, up: Places) -> pl.DataFrame:
    """The tiles with rows, in few shades on a logarithmic scale; neighbors in a column with the same shade are one."""
    shares = tiles / (tiles.max(initial=0.0) or 1.0)
    shades = np.where(shares > 0, np.clip(np.ceil(SHADES + np.log2(np.maximum(shares, 2.0**-SHADES))), 1, SHADES), 0)
    column, line = np.nonzero(np.diff(shades, axis=1, prepend=-1) != 0)
    end = np.append(line[1:], 0)
    end[np.append(np.diff(column), 1) != 0] = shades.shape[1]
    ends = {"x": across[column], "x2": across[column + 1], "y": up[line], "y2": up[end]}
    return pl.DataFrame({**ends, "shade": shades[column, line] / SHADES}).filter(pl.col("shade") > 0)
