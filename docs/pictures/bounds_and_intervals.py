"""Draw the pictures of docs/uncertainty.md: ``python docs/pictures/bounds_and_intervals.py``.

The numbers are those that the page prints; a test draws them again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import streammetrics as sm

FOLDER = Path(__file__).parent
VALUE, BOUNDS, INTERVAL = 0.798, (0.779, 0.817), (0.777, 0.818)
LIMITS = {0.75: "holds", 0.8: "open", 0.85: "breached"}
SIDE = (0.780, 0.815)  # the interval of a rule

STYLE = """
    text { fill: #4b5563 } .strong { font-weight: 600 } .axis { stroke: #6b7280; stroke-width: 1.5; fill: none }
    .edge { stroke: #6b7280; stroke-width: 1 } .mark { fill: #0072b2 } .other { fill: #9ca3af }
    .ink { stroke: #0072b2; stroke-width: 2.5; fill: none } .band { fill: #0072b2; fill-opacity: .2 }
    .limit { stroke: #d55e00; stroke-width: 2; stroke-dasharray: 5 4 }
    .pos { fill: #d55e00 } .neg { fill: none; stroke: #6b7280; stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) { text { fill: #d1d5db } .axis, .edge, .neg { stroke: #9ca3af }
      .ink { stroke: #56b4e9 } .mark { fill: #56b4e9 } .other { fill: #6b7280 }
      .band { fill: #56b4e9; fill-opacity: .3 }
      .limit { stroke: #e69f00 } .pos { fill: #e69f00 } }
"""


def page(title: str, told: str, height: int, *parts: str) -> str:
    """A picture with a title and a description for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" role="img" aria-labelledby="t d" '
        'font-family="system-ui, sans-serif" font-size="14">\n'
        f'  <title id="t">{title}</title>\n  <desc id="d">{told}</desc>\n  <style>{STYLE}  </style>\n'
        + "".join(f"  {part}\n" for part in parts)
        + "</svg>\n"
    )


def place(value: float, low: float = 0.7, high: float = 0.9, left: float = 270, right: float = 740) -> float:
    """Where a value stands from left to right."""
    return round(left + (value - low) / (high - low) * (right - left), 1)


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kind}>{words}</text>'


def scale(y: float) -> str:
    """An axis with numbers."""
    ticks = (0.7, 0.75, 0.8, 0.85, 0.9)
    marks = "".join(
        f'<path class="edge" d="M{place(t)} {y}v6"/>' + text(place(t), y + 22, f"{t:.2f}", "", "middle") for t in ticks
    )
    return f'<path class="axis" d="M{place(0.7)} {y}H{place(0.9)}"/>{marks}'


def band(y: float, ends: tuple[float, float]) -> str:
    """Certified bounds: a filled bar, since nothing lies outside."""
    left, right = map(place, ends)
    return f'<rect class="band" x="{left}" y="{y - 9}" width="{right - left:.1f}" height="18"/>'


def whisker(y: float, ends: tuple[float, float]) -> str:
    """A confidence interval: a line with ends."""
    left, right = map(place, ends)
    return f'<path class="ink" d="M{left} {y}H{right}M{left} {y - 7}v14M{right} {y - 7}v14"/>'


def dot(y: float, value: float) -> str:
    """A value."""
    return f'<circle class="mark" cx="{place(value)}" cy="{y}" r="4.5"/>'


def rows_of_a_bin(x: float, y: float, order: str) -> str:
    """Rows from the lowest to the highest score: + clicked, - did not."""
    kinds = {"+": "pos", "-": "neg"}
    return "".join(
        f'<circle class="{kinds[sign]}" cx="{x + 16 * i}" cy="{y}" r="5.5"/>' for i, sign in enumerate(order)
    )


def bound() -> str:
    """What a bin hides, and what follows for the metric."""
    cases = {"best order": ("---+++", BOUNDS[1]), "only counted": ("", VALUE), "worst order": ("+++---", BOUNDS[0])}
    parts = [text(0, 18, "the rows of each bin", "strong"), text(place(0.7), 18, "ROC AUC of all 2,000 rows", "strong")]
    parts += [
        rows_of_a_bin(7, 202, "+"),
        text(19, 207, "clicked"),
        rows_of_a_bin(89, 202, "-"),
        text(101, 207, "did not"),
    ]
    for i, (name, (order, value)) in enumerate(cases.items()):
        y = 52 + 34 * i
        shown = rows_of_a_bin(120, y - 4, order) if order else text(114, y, "order unknown")
        parts += [text(0, y, name), shown, dot(y - 4, value), text(place(value) + 12, y, f"{value:.3f}")]
    parts += [
        band(158, BOUNDS),
        text(0, 163, "certified bounds"),
        text(place(BOUNDS[1]) + 12, 163, "guaranteed for these rows"),
        scale(184),
    ]
    told = (
        "A bin of scores keeps counts, not the order of its rows. The best order gives a ROC AUC of "
        f"{BOUNDS[1]}, the worst {BOUNDS[0]}; the value of these rows certainly lies between."
    )
    return page("The certified bound", told, 214, *parts)


def other_days(days: int) -> list[float]:
    """The ROC AUC of visitors of other days, drawn as on the page."""
    found = []
    for seed in range(2, 2 + days):
        random = np.random.default_rng(seed)
        chance = 1 / (1 + np.exp(-random.normal(-1, 1.5, 2_000)))
        rows = {"score": chance, "clicked": random.random(2_000) < chance}
        found.append(float(sm.binary(y_true="clicked", y_score="score").update(rows).finalize()["roc_auc"]))
    return found


def interval() -> str:
    """Other samples of the same model."""
    samples = other_days(8)
    parts = [
        text(0, 18, "the same model, other days", "strong"),
        text(place(0.7), 18, "ROC AUC of 2,000 visitors", "strong"),
    ]
    for i, value in enumerate(samples):
        parts.append(dot(40 + 11 * i, value))
    parts += [
        text(0, 82, "each dot: one day"),
        *(whisker(152, INTERVAL), dot(152, VALUE), text(0, 157, "our day, with its interval")),
        text(place(INTERVAL[1]) + 12, 157, "for the model, at 95%"),
        scale(184),
    ]
    told = (
        f"On eight other days the ROC AUC of the same model varies by chance between {min(samples):.3f} and "
        f"{max(samples):.3f}. The confidence interval of one day, {INTERVAL[0]} to {INTERVAL[1]}, says where that of "
        "the model lies."
    )
    return page("The confidence interval", told, 214, *parts)


def verdict() -> str:
    """Where bounds and interval lie beside a limit."""
    parts = [
        text(0, 18, "rule", "strong"),
        text(place(0.7), 18, "ROC AUC", "strong"),
        text(place(0.9), 18, "verdict", "strong", "end"),
    ]
    for i, (limit, word) in enumerate(LIMITS.items()):
        y = 52 + 44 * i
        line = f'<path class="limit" d="M{place(limit)} {y - 18}v36"/>'
        parts += [text(0, y + 5, f"roc_auc >= {limit}"), band(y, BOUNDS), whisker(y, SIDE), dot(y, VALUE), line]
        parts.append(text(place(0.9), y + 5, word, "strong", "end"))
    key = f"{band(206, (0.7, 0.71))}{text(place(0.71) + 8, 211, 'bounds')}{whisker(206, (0.752, 0.768))}"
    key += (
        text(place(0.768) + 8, 211, "interval")
        + f'<path class="limit" d="M{place(0.815)} 196v20"/>'
        + text(place(0.815) + 8, 211, "limit")
    )
    parts += [scale(166), key]
    told = (
        "The interval, widened by the bounds, lies right of the limit 0.75: the rule holds. It lies left of 0.85: it "
        "is breached. The limit 0.80 lies within it: it is open."
    )
    return page("The verdict", told, 226, *parts)


PICTURES = {"bound.svg": bound, "interval.svg": interval, "verdict.svg": verdict}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
