"""Chart of a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from streammetrics.charts.picture import Axis, Layer, Picture
from streammetrics.charts.series import Series, Source, count, require_columns, require_none_called, series_of, shared
from streammetrics.errors import MetricError, ReportError
from streammetrics.keys import matching

LABELS = 24  # of a legible confusion matrix
COUNTS = ("tp", "fp", "fn", "tn")


def confusion(source: Source, **keys: Any) -> Picture:
    """Return the confusion matrix: for each true label, the share and number of its rows by predicted label.

    Binary at one threshold, or multiclass. For many labels, those with the most errors are shown. A frame has the
    columns actual, predicted, and count.

    Raises:
        ReportError: If the keys do not select exactly one matrix.
        MetricError: If there is no confusion matrix.
    """
    cells, series = one_matrix(source, keys)
    found = series.frame.select(pl.col("actual", "predicted").cast(pl.String).fill_null("null"), "count")
    names = _labels(series.frame, () if isinstance(source, pl.DataFrame) else source.state.labels)
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
    prefix = shared(shown)
    labels = [pl.col(c).str.strip_prefix(prefix) for c in ("x", "y")]
    frame = joined.select(*labels, "share", text=_percent("share"), count=count("count"))
    x, y = (
        Axis(f"{title} ({prefix}…)" if prefix else title, scale="names", names=tuple(n[len(prefix) :] for n in shown))
        for title in ("Predicted", "Actual")
    )
    note = f"the {LABELS} labels with the most errors of {len(names)}" if left_out else ""
    where = ", ".join(n for n in series.names if n != "all rows")
    at_threshold = f"threshold {cells['threshold'][0]:g}" if _one_threshold(cells) else ""
    return Picture(
        "Confusion matrix",
        x,
        y,
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
    require_columns(cells, ("actual", "predicted", "count"), "confusion_matrix()")
    keys = dict(keys)
    at = keys.pop("threshold", None)
    if at is not None and "threshold" in cells.columns:
        cells = matching(cells, ["threshold"], {"threshold": at})
        if cells.is_empty():
            raise ReportError(f"There are no counts at threshold {at!r}.")
    elif "threshold" in cells.columns and cells["threshold"].n_unique() > 1:
        raise ReportError(f"Pass threshold= to select one, such as {cells['threshold'][0]!r}.")
    series = series_of(source, cells, keys)
    series.require_one("confusion matrices")
    return cells, series


def _percent(column: str) -> pl.Expr:
    """Shares as percentages, of which only none and all are 0% and 100%."""
    share = pl.col(column)
    rounded = pl.format("{}%", (100 * share).round(1))
    near_none = pl.when(share > 0, share < 0.0005).then(pl.lit("<0.1%"))
    return near_none.when(share < 1, share >= 0.9995).then(pl.lit(">99.9%")).otherwise(rounded)


def _one_threshold(cells: pl.DataFrame) -> bool:
    return "threshold" in cells.columns and cells["threshold"].drop_nulls().n_unique() == 1


def _labels(cells: pl.DataFrame, declared: Sequence[Any]) -> list[str]:
    """The labels in the declared order, or sorted; if there are too many, those with the most errors first."""
    rank = pl.col("label").replace_strict({label: i for i, label in enumerate(declared)}, default=None)
    wrong = cells.filter(pl.col("actual") != pl.col("predicted"))
    both = (
        pl.concat([cells.select(label=c) for c in ("actual", "predicted")])
        .unique()
        .sort(rank, "label", nulls_last=True)
    )
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
