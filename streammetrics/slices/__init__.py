"""Slices of the rows in which a metric is worse than in the other rows."""

SLICE = "slice"  # column


def explained(metric: str) -> str:
    """Return what the excess loss of a slice is, and how slices are sorted."""
    return (
        f"Excess loss: the share of the distance of {metric} from its best value that would disappear if the slice "
        "were as good as all other rows. Slices are sorted by it."
    )
