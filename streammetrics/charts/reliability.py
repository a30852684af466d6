"""Charts of calibration and confusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from streammetrics.charts.picture import Axis, Layer, Picture, extent, line
from streammetrics.charts.series import Series, Source, curve_of, require_none_called, series_of
from streammetrics.errors import MetricError, ReportError
from streammetrics.keys import matching
from streammetrics.uncertainty.proportions import wilson_interval

LABELS = 24  # of a legible confusion matrix
COUNTS = ("tp", "fp", "fn", "tn")


def calibration(source: Source, **keys: Any) -> Picture:
    """Return the reliability curve: the observed rate over the mean score of each bin, with the rows below.

    A report with a confidence level shows the Wilson interval of each rate, for unweighted rows.
    """
    series = series_of(source, curve_of(source, "calibration"), keys)
    bins = series.frame.filter(pl.col("weight") > 0).with_columns(x=pl.col("mean_score"), y=pl.col("observed_rate"))
    high = max(extent(bins["x"], bins["y"])[1], 0.0) if bins.height else 1.0
    high = 1.0 if high > 0.5 else high  # rare positives would not be visible on the whole square
    x = Axis("Mean score of the bin (probability)", 0.0, high)
    y = Axis("Observed rate (share of positives)", 0.0, high)
    text = pl.format("{} rows, mean score {}, observed rate {}", _count("weight"), _short("x"), _short("y"))
    dots = bins.select("series", "x", "y", text=text)
    layers = [line((0, high), (0, high)), Layer("line", dots.select("series", "x", "y")), Layer("dot", dots)]
    confidence = None if isinstance(source, pl.DataFrame) else source.confidence
    if confidence is not None and bins.schema["weight"].is_integer():
        layers.insert(1, Layer("interval", _intervals(bins, confidence)))
    caption = "Dotted diagonal: perfect calibration. Above it, probabilities are too low; below it, too high."
    return Picture(
        "Calibration",
        x,
        y,
        layers,
        series.names,
        series.legend,
        series.note,
        caption,
        below=_rows_of(bins, x, series.names),
    )


def _intervals(bins: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """From the lower to the upper limit of each rate."""
    weight = pl.col("weight").cast(pl.Float64)
    lower, upper = wilson_interval(pl.col("y") * weight, weight, confidence)
    return bins.select("series", "x", x2="x", y=lower, y2=upper)


def _rows_of(bins: pl.DataFrame, x: Axis, names: tuple[str, ...]) -> Picture:
    """The number of rows of each bin, on a square root axis, which starts at 0 and shows small counts too."""
    parts = []
    for part in bins.partition_by("series", maintain_order=True):
        lowest, highest, weight = (part[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
        ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
        heights = np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()
        parts.append(
            pl.DataFrame({"series": pl.repeat(part["series"][0], len(ends), eager=True), "x": ends, "y": heights})
        )
    empty = pl.DataFrame(schema={"series": pl.String, "x": pl.Float64, "y": pl.Float64})
    path = pl.concat(parts) if parts else empty
    most = float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    path = path.with_columns(pl.col("x").clip(0, x.high)).filter(pl.col("x") <= x.high)
    y = Axis("Rows (square root axis)", 0.0, most * 1.05, "root")
    return Picture("Rows of each bin", x, y, [Layer("band", path), Layer("line", path)], names)


def confusion(source: Source, **keys: Any) -> Picture:
    """Return the confusion matrix: for each true label, the share and number of its rows by predicted label.

    Binary at one threshold, or multiclass. For many labels, those with the most errors are shown.

    Args:
        source: A report, or a frame with the columns actual, predicted, and count.
        keys: Values of group columns, and ``threshold`` if there are several.

    Raises:
        ReportError: If the keys do not select exactly one matrix.
        MetricError: If there is no confusion matrix.
    """
    cells, series = one_matrix(source, keys)
    found = series.frame.select(pl.col("actual", "predicted").cast(pl.String).fill_null("null"), "count")
    names = _labels(series.frame, cells)
    shown, left_out = names[:LABELS], len(names[LABELS:])
    grid = pl.DataFrame({"actual": shown}, {"actual": pl.String}).join(
        pl.DataFrame({"predicted": shown}, {"predicted": pl.String}), how="cross"
    )
    totals = found.group_by("actual").agg(total=pl.sum("count"))
    joined = (
        grid.join(found, on=["actual", "predicted"], how="left", maintain_order="left")
        .join(totals, on="actual", how="left", maintain_order="left")
        .select(
            x="predicted",
            y="actual",
            share=(pl.col("count").fill_null(0) / pl.col("total")).fill_nan(None).fill_null(0.0),
            count=pl.col("count").fill_null(0),
        )
    )
    text = pl.format("{}%", (100 * pl.col("share")).round(1).cast(pl.String).str.replace(r"\.0$", ""))
    frame = joined.select("x", "y", "share", text=text, count=_count("count"))
    note = f"the {LABELS} labels with the most errors of {len(names)}" if left_out else ""
    where = ", ".join(n for n in series.names if n != "all rows")
    at_threshold = f"threshold {cells['threshold'][0]:g}" if _one_threshold(cells) else ""
    return Picture(
        "Confusion matrix",
        Axis("Predicted", scale="names", names=tuple(shown)),
        Axis("Actual", scale="names", names=tuple(shown)),
        [Layer("cell", frame)],
        subtitle="; ".join(filter(None, (where, at_threshold, note))),
        caption="Each row sums to the rows with that actual label. Diagonal: recall. Off the diagonal: errors.",
    )


def one_matrix(source: Source, keys: dict[str, Any]) -> tuple[pl.DataFrame, Series]:
    """Return the cells of the confusion matrix with these keys.

    Raises:
        ReportError: If the keys do not select exactly one matrix.
        MetricError: If there is no confusion matrix.
    """
    cells = source if isinstance(source, pl.DataFrame) else _cells(source)
    if missing := [c for c in ("actual", "predicted", "count") if c not in cells.columns]:
        raise ReportError(f"The chart requires the column {missing[0]}, as in confusion_matrix().")
    keys = dict(keys)
    at = keys.pop("threshold", None)
    if at is not None and "threshold" in cells.columns:
        cells = matching(cells, ["threshold"], {"threshold": at})
        if cells.is_empty():
            raise ReportError(f"There are no counts at threshold {at!r}.")
    elif "threshold" in cells.columns and cells["threshold"].n_unique() > 1:
        raise ReportError(f"Pass threshold= to select one, such as {cells['threshold'][0]!r}.")
    series = series_of(source, cells, keys)
    if len(series.names) + series.left_out != 1:
        raise ReportError(
            f"{len(series.names) + series.left_out} confusion matrices match. Select one with: {series.legend}."
        )
    return cells, series


def _one_threshold(cells: pl.DataFrame) -> bool:
    return "threshold" in cells.columns and cells["threshold"].drop_nulls().n_unique() == 1


def _labels(cells: pl.DataFrame, every: pl.DataFrame) -> list[str]:
    """The labels in order, or those with the most errors first if there are too many."""
    wrong = cells.filter(pl.col("actual") != pl.col("predicted"))
    both = pl.concat([cells.select(label=c) for c in ("actual", "predicted")]).unique().sort("label", nulls_last=True)
    if both.height <= LABELS:
        return both["label"].cast(pl.String).fill_null("null").to_list()
    errors = pl.concat([wrong.select("count", label=c) for c in ("actual", "predicted")])
    sized = both.join(errors.group_by("label").agg(pl.sum("count")), on="label", how="left", maintain_order="left")
    place = sized.with_row_index("place").sort("count", descending=True, nulls_last=True)
    ordered = pl.concat([place.head(LABELS).sort("place"), place.slice(LABELS)])
    return ordered["label"].cast(pl.String).fill_null("null").to_list()


def _cells(source: Any) -> pl.DataFrame:
    """The cells of the matrix of a report: multiclass, or binary at each threshold."""
    require_none_called(source, "actual", "predicted", "count")
    try:
        cells: pl.DataFrame = source.confusion_matrix()
    except MetricError:
        counts: pl.DataFrame = source.confusion_counts()
        keys = [c for c in counts.columns if c not in COUNTS]
        sides = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
        names = {0: "negative", 1: "positive"}
        parts = [
            counts.select(*keys, actual=pl.lit(names[a]), predicted=pl.lit(names[p]), count=c)
            for c, (a, p) in sides.items()
        ]
        cells = pl.concat(parts, how="vertical_relaxed")
    return cells


def _count(column: str) -> pl.Expr:
    """A count with commas."""
    return pl.col(column).map_elements(lambda n: f"{n:,.0f}" if n >= 100 else f"{n:,.4g}", return_dtype=pl.String)


def _short(column: str) -> pl.Expr:
    return pl.col(column).round_sig_figs(4).cast(pl.String)
