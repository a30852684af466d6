"""Chart of a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from streammetrics.base import LONGEST_CELL, cutoff, matching, percentage, require_free, shortened
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import CELLS
from streammetrics.show.charts.cells import FEW
from streammetrics.show.charts.picture import Axis, Layer, Picture
from streammetrics.show.charts.series import BY_CHARTS, Reports, Series, count, series_of, shared
from streammetrics.show.charts.together import is_weighted, sized

LABELS = 30  # of a legible confusion matrix
MANY = 0.1  # share of a label from which errors can be as dark as any: few are pale


def confusion(report: Reports, /, **keys: Any) -> Picture:
    """Return the confusion matrix: for each true label, the share and number of its rows by predicted label.

    Binary at one threshold, or multiclass. For many labels, those with the most errors are shown.
    """
    cells, series = _matrix(report, keys)
    found = series.frame.select(pl.col("actual", "predicted").cast(pl.String).fill_null("null"), "count")
    names = _labels(series.frame, report.state.labels)
    shown, left_out = names[:LABELS], len(names[LABELS:])
    totals = found.group_by("actual").agg(total=pl.sum("count"))
    counted = found.filter(pl.col("count") > 0, *(pl.col(c).is_in(shown) for c in ("actual", "predicted")))
    in_order = counted.sort(pl.col("actual", "predicted").cast(pl.Enum(shown)))
    joined = in_order.join(totals, on="actual", maintain_order="left").select(
        "count", x="predicted", y="actual", share=pl.col("count") / pl.col("total")
    )
    texts = dict(zip(shown, shortened(shown, LONGEST_CELL), strict=True))
    shown, prefix = [*texts.values()], shared([*texts.values()])
    labels = [pl.col(c).cast(pl.String).replace(texts).str.strip_prefix(prefix) for c in ("x", "y")]
    said = pl.Series([percentage(share) for share in joined["share"]], dtype=pl.String)
    weighted = is_weighted(report)
    deepest = pl.max_horizontal(pl.col("share").filter(pl.col("x") != pl.col("y")).max(), MANY)
    shade = pl.when(pl.col("x") == pl.col("y")).then("share").otherwise(pl.col("share") / deepest)
    amounts = [count("count"), sized("count", weighted).alias("size")]
    frame = joined.select(*labels, "share", shade.round(2).alias("shade"), said.alias("text"), *amounts)
    x, y = (
        Axis(f"{title} ({prefix}…)" if prefix else title, scale="names", names=tuple(n[len(prefix) :] for n in shown))
        for title in ("Predicted", "Actual")
    )
    note = f"the {LABELS} labels with the most errors of {len(names)}" if left_out else ""
    where = ", ".join(n for n in series.names if n != "all rows")
    thresholds: list[float] = cells["threshold"].drop_nulls().unique().to_list() if "threshold" in cells.columns else []
    at_threshold = f"threshold {cutoff(thresholds[0])}" if len(thresholds) == 1 else ""
    is_binary = "threshold" in cells.columns
    diagonal = "specificity (negative) and recall (positive)" if is_binary else "recall of each label"
    faint = "" if len(shown) <= FEW else ", without a number below 0.5%"
    shares = "Shares and sums of the weights of each" if weighted else "Shares of the rows with each"
    return Picture(
        "Confusion matrix",
        x,
        y,
        [Layer("cell", frame)],
        subtitle="; ".join(filter(None, (where, at_threshold, note))),
        caption=f"{shares} actual label. Diagonal: {diagonal}. Off the diagonal: errors{faint}.",
    )


def _matrix(report: Reports, keys: dict[str, Any]) -> tuple[pl.DataFrame, Series]:
    """The cells of the confusion matrix with these keys."""
    cells = _cells(report)
    keys = dict(keys)
    at = keys.pop("threshold", None)
    if at is not None and "threshold" in cells.columns:
        cells = matching(cells, ["threshold"], {"threshold": at})
        if cells.is_empty():
            raise ReportError(f"No confusion counts at threshold {at!r}.")
    elif "threshold" in cells.columns and cells["threshold"].n_unique() > 1:
        raise ReportError("Pass ", Argument("threshold"), f" to select one, such as {cells['threshold'][0]!r}.")
    series = series_of(report, cells, keys)
    series.require_one("confusion matrices")
    return cells, series


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


def _cells(report: Reports) -> pl.DataFrame:
    """The cells of the matrix of a report: multiclass, or binary at each threshold."""
    require_free(report.by, ["actual", "predicted", "count"], BY_CHARTS)
    try:
        return report.confusion_matrix()
    except MetricError:
        counts = report.confusion_counts()
        keys = [c for c in counts.columns if c not in CELLS]
        sides = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
        names = {0: "negative", 1: "positive"}
        parts = [
            counts.select(*keys, actual=pl.lit(names[a]), predicted=pl.lit(names[p]), count=c)
            for c, (a, p) in sides.items()
        ]
        return pl.concat(parts, how="vertical_relaxed")
