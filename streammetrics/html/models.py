"""Section of the page on differences between models on the same rows."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import polars as pl

from streammetrics import charts
from streammetrics.findings.sides import findings_of_sides
from streammetrics.frame import VOLUME
from streammetrics.html.comparison import with_short_names
from streammetrics.html.findings import findings_list
from streammetrics.html.pictures import figures
from streammetrics.present.differences import differences_table
from streammetrics.present.html import scrolled
from streammetrics.reading.differences import Differences, of_models
from streammetrics.reading.readings import Readings
from streammetrics.statistics.paired import pairs_kept
from streammetrics.text.markup import markup

MOST = 6  # pairs of models
CONFIDENCE = 0.95  # default


def compared_models(total: Readings, interactive: bool) -> str:
    """Return what stands out and the differences of each stored pair of models; empty without pairs."""
    names = total.state.keys["model"].unique(maintain_order=True).to_list() if "model" in total.by else []
    kept = {frozenset(pair) for pair in pairs_kept(total.state.statistics)}
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) in kept]
    compared = [of_models(Differences, total, *pair, total.confidence or CONFIDENCE) for pair in pairs[:MOST]]
    shown = "".join(_pair(pair, f"pair{i}", interactive) for i, pair in enumerate(compared))
    omitted = f"<p>The first {MOST} of {len(pairs)} pairs of models, all groups together.</p>"
    return omitted * (len(pairs) > MOST) + shown


def _pair(compared: Differences, identity: str, interactive: bool) -> str:
    """The findings of two models, the chart of their differences, and the table of those with an interval."""
    (a, b), every = compared.names, compared.frame
    heading = f'<h3 class="over">{markup(b)} compared with {markup(a)}</h3>'
    frame = every.filter(pl.col("ci_lower").is_not_null())
    if frame.is_empty():
        return f"{heading}<p>{markup(compared.note)}</p>" if compared.note else ""
    found = findings_list(findings_of_sides(compared))
    short, names = with_short_names(compared, (a, b))
    legend = "" if short.names == (a, b) else f"<p>{markup(', '.join(names))}</p>"
    drawn = figures(identity, [partial(charts.forest, short)], interactive)
    omitted = [name for name in every["metric"].unique(maintain_order=True) if name not in (*VOLUME, *frame["metric"])]
    note = f"<p>Without a paired interval: {markup(', '.join(omitted))}.</p>" if omitted else ""
    of = f"of {b} from {a}"
    table = scrolled(
        differences_table(frame, short.names, caption=f"Differences {of}"), f"differences {of}", sortable=True
    )
    return heading + found + legend + drawn + note + table
