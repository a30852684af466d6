"""Slices of the rows in which a metric is worse than in the other rows."""

SLICE = "slice"  # column


def explained(metric: str) -> str:
    """Return what the excess loss of a slice is, and how slices are sorted."""
    return (
        f"Excess loss: how much of the total loss in {metric} would go away if this slice did as well as the rest. "
        "Slices are sorted by it."
    )
