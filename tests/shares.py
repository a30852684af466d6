"""Shares of rows in the bins of PSI and Jensen-Shannon divergence, row by row."""

import math

SMALLEST_SHARE = 1e-4  # that PSI takes, in place of less


def bins_by_hand(reference, bins):
    """The bin of a value, by the definition, row by row."""
    values = sorted(set(reference))
    own = [v for v in values if len(values) <= bins or reference.count(v) * bins >= len(reference)]

    def place(value):
        if value in own:
            return "own", value
        stretch = sum(v < value for v in own)
        known = [v for v in values if v not in own and sum(o < v for o in own) == stretch]
        upper = next((v for v in known if v >= value), known[-1] if known else None)
        return stretch, None if upper is None else sum(r < upper for r in reference) * bins // len(reference)

    return place


def shares_by_hand(reference, current, bins):
    place = bins_by_hand(reference, bins)
    sides = [[place(v) for v in side] for side in (reference, current)]
    return [[side.count(p) / len(side) for p in sorted(set(sides[0] + sides[1]), key=str)] for side in sides]


def psi_by_hand(reference, current):
    return sum(
        (max(c, SMALLEST_SHARE) - max(r, SMALLEST_SHARE)) * math.log(max(c, SMALLEST_SHARE) / max(r, SMALLEST_SHARE))
        for r, c in zip(reference, current, strict=True)
    )
