"""Draw the picture of docs/uncertainty.md: ``python docs/pictures/why_bounds.py``. The page prints the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bounds_and_intervals import page, text

import streammetrics as sm

LOW, HIGH, LEFT, RIGHT = 0.5, 0.9, 250, 740


def clicks() -> tuple[np.ndarray, np.ndarray]:
    """Click rates near 0.001, and which of the rows were clicked."""
    random = np.random.default_rng(0)
    margin = random.normal(-8, 1.2, 1_000_000)
    rate = 1 / (1 + np.exp(-margin))
    return random.random(1_000_000) < rate, rate


def equal_bins(label: np.ndarray, score: np.ndarray, bins: int = 200) -> float:
    """ROC AUC from bins of equal width, ties counted half."""
    place = np.minimum((score * bins).astype(int), bins - 1)
    positives, negatives = (np.bincount(place[label == kind], minlength=bins) for kind in (True, False))
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + negatives / 2)).sum() / (positives.sum() * negatives.sum()))


def place(value: float) -> float:
    """Where a value stands from left to right."""
    return round(LEFT + (value - LOW) / (HIGH - LOW) * (RIGHT - LEFT), 1)


def why() -> str:
    """One ROC AUC, computed in three ways."""
    label, score = clicks()
    rows = {"y": label, "p": score}
    truth, coarse = (
        sm.binary(y_true="y", y_score="p", capacity=capacity).update(rows).finalize()["roc_auc"]
        for capacity in (2_000_000, 128)
    )
    naive = equal_bins(label, score)
    left, right = place(coarse.lower), place(coarse.upper)
    parts = [
        f'<path class="limit" d="M{place(truth.value)} 34V176"/>',
        text(place(truth.value), 22, f"exact: {truth:.3f}", "strong", "middle"),
        text(0, 64, "200 equal bins", "strong"),
        text(0, 84, "one number"),
        f'<circle class="pos" cx="{place(naive)}" cy="68" r="7"/>',
        text(place(naive) + 16, 73, f"{naive:.3f}: wrong, and nothing says so"),
        text(0, 134, "128 adaptive bins", "strong"),
        text(0, 154, "value and certified bounds"),
        f'<rect class="band" x="{left}" y="124" width="{right - left:.1f}" height="28"/>',
        f'<circle class="mark" cx="{place(coarse.value)}" cy="138" r="7"/>',
        text(left - 10, 143, f"{coarse:.3f}, proven: {coarse.lower:.3f} to {coarse.upper:.3f}", "", "end"),
        f'<path class="axis" d="M{LEFT} 188H{RIGHT}"/>',
    ]
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9):
        parts.append(
            f'<path class="edge" d="M{place(tick)} 188v6"/>' + text(place(tick), 210, f"{tick:.1f}", "", "middle")
        )
    told = (
        f"The ROC AUC of a million click rates is {truth:.3f}. Two hundred bins of equal width give {naive:.3f} "
        f"without any warning. 128 adaptive bins give {coarse:.3f} and prove that the exact value lies between "
        f"{coarse.lower:.3f} and {coarse.upper:.3f}."
    )
    return page("A number without a bound", told, 220, *parts)


PICTURES = {"why_bounds.svg": why}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw(), encoding="utf-8")
