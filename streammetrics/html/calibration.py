"""The calibration error without bins, above the charts of calibration."""

from __future__ import annotations

from streammetrics.reading.readings import Readings
from streammetrics.text import rows
from streammetrics.text.decimals import interval, said
from streammetrics.text.markup import markup, minus

SMALLEST = 0.001  # p-value that is told
NAMES = ("ecce", "expected_ecce", "ecce_p_value")


def cumulative_error(total: Readings) -> str:
    """Return a sentence on the cumulative calibration error of each model; empty without scores of two classes."""
    if total.state.labels or not all(map(total.readable, NAMES)):
        return ""
    found = {name: {row.get("model"): row for row in rows(total.rows(name))} for name in NAMES}
    told = []
    for model, error in found["ecce"].items():
        expected, p = found["expected_ecce"][model], found["ecce_p_value"][model]["value"]
        if error["value"] is None or expected["value"] is None:
            continue
        of = f" of {model}" if model else ""
        limits = interval(error.get("ci_lower"), error.get("ci_upper"), value := said(error))
        chance = "" if p is None else f" (p < {SMALLEST})" if p < SMALLEST else f" (p = {p:.2g})"
        ends = f" ({total.confidence or 0:.0%} CI {limits})" if limits else ""
        by_chance = f"Calibrated scores would have about {expected['value']:.2g}{chance}."
        told.append(f"Cumulative calibration error{of}: {value}{ends}. {by_chance}")
    return "".join(f"<p>{markup(minus(sentence))}</p>" for sentence in told)
