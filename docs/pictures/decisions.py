"""Draw how rows decide an open verdict, for docs/compare.md: ``python docs/pictures/decisions.py``.

The first row has the numbers that the page prints; a test draws the picture again.
"""

from __future__ import annotations

from functools import partial
from math import sqrt

from bounds_and_intervals import FOLDER, page, place, text

VALUE, UPPER, ROWS, NEEDED = -0.0023, 0.0007, 13_303, 22_000
LATER = 50_000
AXIS = (-0.006, 0.002)

at = partial(place, low=AXIS[0], high=AXIS[1])


def rows() -> str:
    """The interval of one difference with more and more rows, beside the limit 0."""
    parts = [
        text(0, 18, "rows of this mix", "strong"),
        text(at(AXIS[0]), 18, "log loss: candidate − champion", "strong"),
        text(at(AXIS[1]), 18, "log_loss better", "strong", "end"),
        f'<path class="limit" d="M{at(0)} 32V152"/>',
    ]
    for i, (count, verdict) in enumerate(((ROWS, "open"), (NEEDED, "decided"), (LATER, "holds"))):
        y, half = 52 + 40 * i, (UPPER - VALUE) * sqrt(ROWS / count)
        low, high = at(VALUE - half), at(min(VALUE + half, 0.0) if count == NEEDED else VALUE + half)
        parts += [
            text(0, y + 5, f"{count:,}" + " (evaluated)" * (count == ROWS)),
            f'<path class="ink" d="M{low} {y}H{high}M{low} {y - 7}v14M{high} {y - 7}v14"/>',
            f'<circle class="mark" cx="{at(VALUE)}" cy="{y}" r="4.5"/>',
            text(at(AXIS[1]), y + 5, verdict, "strong", "end"),
        ]
    for tick in (-0.006, -0.004, -0.002, 0.0, 0.002):
        parts += [
            f'<path class="edge" d="M{at(tick)} 158v6"/>',
            text(at(tick), 180, f"{tick:.3f}".replace("-", "−"), "", "middle"),
        ]
    parts.append(f'<path class="axis" d="M{at(AXIS[0])} 158H{at(AXIS[1])}"/>')
    told = (
        f"With {ROWS:,} rows, the interval contains the limit 0: the verdict is open. If the value stays, the interval "
        f"ends at the limit with about {NEEDED:,} rows, and is clear of it with {LATER:,}."
    )
    return page("How many rows decide", told, 188, *parts)


if __name__ == "__main__":
    (FOLDER / "rows.svg").write_text(rows(), encoding="utf-8")
