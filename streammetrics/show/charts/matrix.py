"""Chart of a confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from streammetrics.base import (
    LONGEST_CELL,
    Row,
    cutoff,
    matching,
    percentage,
    require_free,
    rows,
    shortened,
    whole_percentage,
)
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import CELLS
from streammetrics.show.charts.axes import Spec, names_axis
from streammetrics.show.charts.marks import COLOURS, EMPTY, TEXT, TOOLTIP, titled
from streammetrics.show.charts.series import BY_CHARTS, Reports, count, is_weighted, series_of, shared, sized

LABELS = 30  # of a legible confusion matrix
MANY = 0.1  # share of a label from which errors can be as dark as any: few are pale
FEW = 5  # labels of a matrix with counts below its shares
LETTER = 6.5  # pixels
DEEPEST = 0.5  # opacity, on which texts are still legible


def confusion(report: Reports, /, **keys: Any) -> Spec:
    """Return the confusion matrix: for each true label, the share and number of its rows by predicted label.

    Binary at one threshold, or multiclass. For many labels, those with the most errors are shown.
    """
    cells = _selected(_cells(report), dict(keys))
    series = series_of(report, cells, {key: value for key, value in keys.items() if key != "threshold"})
    series.require_one("confusion matrices")
    names, every = _labels(series.frame, report.state.labels)
    texts = dict(zip(names, shortened(names, LONGEST_CELL), strict=True))
    prefix = shared([*texts.values()])
    labels = [text.removeprefix(prefix) for text in texts.values()]
    has_counts, weighted, is_binary = len(labels) <= FEW, is_weighted(report), "threshold" in cells.columns
    label = pl.col("actual", "predicted").cast(pl.String).fill_null("null")
    cells = (
        series.frame.with_columns(label, share=pl.col("count") / pl.sum("count").over("actual"))
        .filter(pl.col("count") > 0, pl.col("actual").is_in(names), pl.col("predicted").is_in(names))
        .sort(pl.col("actual", "predicted").cast(pl.Enum(names)))
        .with_columns(pl.col("actual", "predicted").replace(texts).str.strip_prefix(prefix))
    )
    width, height = (88, 40) if has_counts else (36, 24)  # of a cell, which has room for its texts
    angle = -45 if max(map(len, labels), default=0) * LETTER > width else 0
    titles = (f"{title} ({prefix}…)" if prefix else title for title in ("Predicted", "Actual"))
    x, y = (names_axis(title, labels, angle) for title, angle in zip(titles, (angle, 0), strict=True))
    thresholds = cells["threshold"].drop_nulls().unique().to_list() if is_binary else []
    facts = [
        "" if series.names == ("all rows",) else series.names[0],
        f"threshold {cutoff(thresholds[0])}" if len(thresholds) == 1 else "",
        f"the {LABELS} labels with the most errors of {every}" if every > LABELS else "",
    ]
    if not is_binary:
        errors = cells.filter(pl.col("actual") != pl.col("predicted"))
        most = errors.sort("count", descending=True, maintain_order=True).head(1)
        facts += [confusion_in_words(error) for error in rows(most)]
    shares = "Shares and sums of the weights of each" if weighted else "Shares of the rows with each"
    diagonal = "specificity (negative) and recall (positive)" if is_binary else "recall of each label"
    faint = "" if has_counts else ", without a number below 0.5%"
    caption = f"{shares} actual label. Diagonal: {diagonal}. Off the diagonal: errors{faint}."
    layers = list(_layers(cells, weighted, has_counts)) if cells.height else [EMPTY]
    axes = {"x": {"field": "x", **x}, "y": {"field": "y", **y}}
    chart = {"width": len(labels) * width, "height": len(labels) * height, "encoding": axes, "layer": layers}
    return titled(chart, "Confusion matrix", facts, [caption])


def confusion_in_words(error: Row) -> str:
    """Return the share of rows of a label for which another one is predicted, in words.

    >>> confusion_in_words({"actual": "3", "predicted": "8", "share": 0.041})
    '3 is taken for 8 in 4.10% of its rows'
    """
    return f"{error['actual']} is taken for {error['predicted']} in {percentage(error['share'])} of its rows"


def _layers(cells: pl.DataFrame, weighted: bool, has_counts: bool) -> Iterator[Spec]:
    """The cells, shaded in other colors on the diagonal and off it, with tooltips, and their texts."""
    is_right = pl.col("actual") == pl.col("predicted")
    deepest = pl.max_horizontal(pl.col("share").filter(~is_right).max(), MANY)
    short, exact = (pl.Series(map(form, cells["share"]), dtype=pl.String) for form in (whole_percentage, percentage))
    cells = cells.with_columns(shown=short, exact=exact)
    is_faint = ~is_right & (pl.col("shown") == "<1%") & (not has_counts)  # many would hide the larger ones
    size = sized("count", weighted)
    rows = cells.select(
        "share",
        x="predicted",
        y="actual",
        is_right=is_right,
        shade=pl.when(is_right).then("share").otherwise(pl.col("share") / deepest).round(2),
        shown=pl.when(~is_faint).then("shown").otherwise(pl.lit("")),
        below=count("count"),
        text=pl.format("actual {}, predicted {}: {}, {}", "actual", "predicted", size, "exact"),
    )
    data = {"data": {"values": rows.to_dicts()}}
    color = {"condition": {"test": "datum.is_right", "value": COLOURS[0]}, "value": COLOURS[1]}
    scale = {"domain": [0, 1], "range": [0, DEEPEST]}
    opacity = {"field": "shade", "type": "quantitative", "scale": scale, "legend": None}
    mark = {"type": "rect", "aria": True, "style": "cell"}
    yield data | {"mark": mark, "encoding": {"fillOpacity": opacity, "color": color} | TOOLTIP}
    for field, shift in (("shown", -8), ("below", 8)) if has_counts else (("shown", 0),):
        text = {"type": "text", "fontSize": 12, "dy": shift, "color": TEXT, "style": "text"}
        yield data | {"mark": text, "encoding": {"text": {"field": field, "type": "nominal"}}}


def _selected(cells: pl.DataFrame, keys: dict[str, Any]) -> pl.DataFrame:
    """The cells at one threshold."""
    if "threshold" not in cells.columns:
        return cells
    if (at := keys.get("threshold")) is not None:
        cells = matching(cells, ["threshold"], {"threshold": at})
        if cells.is_empty():
            raise ReportError(f"No confusion counts at threshold {at!r}.")
    elif cells["threshold"].n_unique() > 1:
        raise ReportError("Pass ", Argument("threshold"), f" to select one, such as {cells['threshold'][0]!r}.")
    return cells


def _labels(cells: pl.DataFrame, declared: Sequence[Any]) -> tuple[list[str], int]:
    """The labels in the declared order, or sorted, those with the most errors if there are many; and how many."""
    rank = pl.col("label").replace_strict({label: i for i, label in enumerate(declared)}, default=None)
    errors = pl.when(pl.col("actual").ne_missing(pl.col("predicted"))).then("count").otherwise(0).alias("errors")
    both = pl.concat([cells.select(errors, label=c) for c in ("actual", "predicted")])
    labels = both.group_by("label").agg(pl.sum("errors")).sort(rank, "label", nulls_last=True).with_row_index("place")
    most = labels.sort("errors", descending=True, maintain_order=True).head(LABELS).sort("place")
    return most["label"].cast(pl.String).fill_null("null").to_list(), labels.height


def _cells(report: Reports) -> pl.DataFrame:
    """The cells of the matrix of a report: multiclass, or binary at each threshold."""
    require_free(report.by, ["actual", "predicted", "count"], BY_CHARTS)
    try:
        return report.confusion_matrix()
    except MetricError:
        counts = report.confusion_counts()
        keys = [c for c in counts.columns if c not in CELLS]
        sides = {"tp": ("positive", "positive"), "fp": ("negative", "positive")}
        sides |= {"fn": ("positive", "negative"), "tn": ("negative", "negative")}
        parts = [
            counts.select(*keys, actual=pl.lit(actual), predicted=pl.lit(predicted), count=cell)
            for cell, (actual, predicted) in sides.items()
        ]
        return pl.concat(parts, how="vertical_relaxed")
