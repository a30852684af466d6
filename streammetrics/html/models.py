"""Section of the page on differences between models on the same rows."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from streammetrics.html.cards import VOLUME
from streammetrics.html.differences import sides
from streammetrics.present.differences import differences_table
from streammetrics.present.html import scrolled
from streammetrics.reading.differences import Differences, of_models
from streammetrics.reading.readings import Readings
from streammetrics.statistics.paired import pairs_kept
from streammetrics.text.markup import markup

MOST = 6  # pairs of models
CONFIDENCE = 0.95  # default


def compared_models(total: Readings) -> str:
    """Return the differences of each stored pair of models; empty without pairs."""
    names = total.state.keys["model"].unique(maintain_order=True).to_list() if "model" in total.by else []
    kept = {frozenset(pair) for pair in pairs_kept(total.state.statistics)}
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) in kept]
    confidence = total.confidence or CONFIDENCE
    tables = "".join(_pair(total, *pair, confidence) for pair in pairs[:MOST])
    if not tables:
        return ""
    omitted = f" Only the first {MOST} of {len(pairs)} pairs are listed." if len(pairs) > MOST else ""
    return (
        f"<p>Differences of models on the same rows, all groups together, with paired {confidence * 100:g}% confidence "
        "intervals. A model is called better only if the interval, widened by the certified bounds, excludes 0."
        f"{omitted}</p>{tables}"
    )


def _pair(total: Readings, a: str, b: str, confidence: float) -> str:
    compared = of_models(Differences, total, a, b, confidence)
    every, heading = compared.frame, f'<h3 class="over">{markup(b)} compared with {markup(a)}</h3>'
    frame = every.filter(pl.col("ci_lower").is_not_null())
    if frame.is_empty():
        return f"{heading}<p>{markup(compared.note)}</p>" if compared.note else ""
    omitted = [name for name in every["metric"].unique(maintain_order=True) if name not in (*VOLUME, *frame["metric"])]
    note = f"<p>Without a paired interval: {markup(', '.join(omitted))}.</p>" if omitted else ""
    caption = f"Differences of {b} from {a}"
    shown = scrolled(
        differences_table(frame, (a, b), caption=caption), caption[:1].lower() + caption[1:], sortable=True
    )
    return f"{heading}<p>{sides(frame, (a, b))}.</p>{note}{shown}"
