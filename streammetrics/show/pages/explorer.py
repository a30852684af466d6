"""The threshold explorer: what any threshold does, on a slider, and candidate thresholds as buttons and as a table."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from functools import partial
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.base import LONGEST_CELL, matching, uncut
from streammetrics.data import LABEL
from streammetrics.errors import MetricError, cut
from streammetrics.metrics import CELLS
from streammetrics.show.charts.axes import BETWEEN, Spec, place
from streammetrics.show.charts.thresholds import threshold_axis, through
from streammetrics.show.pages.candidates import CHOICE, CONFIDENCE, GUARANTEED, STORED, candidate_thresholds, keys_of
from streammetrics.show.pages.decision import decisions_table, is_argmax
from streammetrics.show.pages.evaluated import weight_of
from streammetrics.show.pages.pictures import COLUMNS, figures
from streammetrics.show.tables.page import Section, embedded, resource

if TYPE_CHECKING:
    from streammetrics.report import Report

MAX_SERIES = 3  # models or labels with a slider
POINTS = 240  # of all sliders
MISS = "A miss is a false negative, and a false alarm is a false positive."
CHOSEN = "The best thresholds are chosen on these rows. Check them on other rows, where they are usually worse."
NEW_ROWS = f"A guaranteed precision holds on new rows, except in {1 - CONFIDENCE:.0%} of evaluations like this one."


def thresholds_section(total: Report) -> Section | None:
    """Return the decisions at any threshold of up to three models or labels, and at the candidates of all.

    None if there are no scores of two classes.
    """
    if is_argmax(total):
        return None
    try:
        curve = total.curve("lift")
    except MetricError:
        return None
    candidates = candidate_thresholds(total, curve)
    if candidates.is_empty():
        return None
    keys = keys_of(curve)
    notes = [MISS, CHOSEN, *([NEW_ROWS] if GUARANTEED in candidates["kind"] else [])]
    if total.state.weighted:
        notes.append(f"Counts are sums of the weights in {weight_of(total)}.")
    table = decisions_table("Candidate thresholds", ["candidate", *keys, "threshold"], candidates, " ".join(notes))
    series = curve.select(keys).unique(maintain_order=True).to_dicts() if keys else [{}]
    has_both_classes = (pl.col("tp") + pl.col("fn") > 0) & (pl.col("fp") + pl.col("tn") > 0)
    if len(series) > MAX_SERIES or not curve.select(has_both_classes.all()).item():
        return Section("decision", "Decisions", f'<h3 class="over">Candidate thresholds</h3>{table}')
    choices = candidates.select(CHOICE).unique(maintain_order=True)
    drawn, explored = "", list[dict[str, Any]]()
    for names in series:
        own_curve, own_candidates = (matching(frame, keys, names) for frame in (curve, candidates))
        stored = own_candidates.filter(kind=STORED)["threshold"].to_list()
        axis = threshold_axis(total, stored, **names)
        points = _points(own_curve, own_candidates, axis, POINTS // len(series))
        chart = partial(through, points, axis, stored)
        drawn += figures(f"choice{len(explored)}", [chart], interactive=False, columns=COLUMNS)
        places = {"axis": axis["scale"], "places": _places(choices, own_candidates, points)}
        explored.append(_names(names) | _numbers(points) | places)
    unit = "weight" if total.state.weighted else "rows"
    content = Template(resource("explorer.html")).substitute(
        select="" if keys else "hidden",
        keys=" and ".join(keys).capitalize(),
        charts=drawn,
        data=embedded({"unit": unit, "choices": choices.rows(), "series": explored}),
        table=table,
    )
    return Section("decision", "Decisions", content, "explorer")


def _points(curve: pl.DataFrame, candidates: pl.DataFrame, axis: Spec, count: int) -> pl.DataFrame:
    """Confusion counts at the candidates and at other thresholds, denser where a curve and its shares of rows change.

    The curve comes from the highest threshold down.
    """
    needed = candidates.select("threshold", *CELLS).unique("threshold")
    along = 1 - np.clip(place(axis, curve["threshold"]), 0.0, 1.0)
    length = along + curve["targeted"].to_numpy() + curve["gain"].to_numpy()
    steps = np.linspace(length[0], length[-1], count - needed.height)
    others = curve[np.unique(np.searchsorted(length, steps))].select(needed.columns)
    return pl.concat([needed, others], how="vertical_relaxed").unique("threshold", keep="first").sort("threshold")


def _names(names: Mapping[str, Any]) -> dict[str, Any]:
    """A model or label as text, and as arguments in Python and on the command line, which takes no labels."""
    names = {key: cut(name, LONGEST_CELL) if isinstance(name, str) else name for key, name in names.items()}
    return {
        "name": BETWEEN.join(map(uncut, names.values())),
        "arguments": "".join(f", {key}={value!r}" for key, value in names.items()),
        "options": None if LABEL in names else "".join(f" --model={shlex.quote(name)}" for name in names.values()),
    }


def _numbers(points: pl.DataFrame) -> dict[str, Any]:
    """The numbers of rows and of positives, and points: threshold, predicted positives, and true positives."""
    tp, fp, fn, tn = points.select(CELLS).row(0)
    counts = points.select("threshold", pl.col("tp") + pl.col("fp"), positive="tp").rows()
    return {
        "rows": tp + fp + fn + tn,
        "positives": tp + fn,
        "points": [[t if math.isfinite(t) else str(t), *cells] for t, *cells in counts],
    }


def _places(choices: pl.DataFrame, candidates: pl.DataFrame, points: pl.DataFrame) -> list[tuple[int, int]]:
    """The numbers of the choices that are candidates, and the numbers of their points."""
    numbered = choices.with_row_index("choice").join(candidates, on=CHOICE, maintain_order="left")
    thresholds = points.select("threshold").with_row_index("point")
    return numbered.join(thresholds, on="threshold", maintain_order="left").select("choice", "point").rows()
