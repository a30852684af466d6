"""What a coarse histogram bin hides: the order of its rows, bracketed by three cases.

A metric that is monotone in that order lies between its values on the cases; the tied case is the value
reported.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def order_cases(table: pl.DataFrame, weighted: bool) -> dict[str, pl.DataFrame]:
    """The histogram with its coarse bins tied, in their best order and in their worst.

    Best means positives above negatives. Bins of one class look the same in every case. A bin of one row
    holds one value, so it is given the shift 0; sums of weights don't tell how many rows there are. Without a
    coarse bin of both classes the tied case stands alone.

    Args:
        table: rows in ascending order of score, at least the columns ``shift``, ``neg`` and ``pos``.
        weighted: whether ``neg`` and ``pos`` are sums of weights.

    >>> table = pl.DataFrame({"shift": [0, 9, 9], "neg": [4, 2, 0], "pos": [1, 3, 1]})
    >>> {case: rows.rows() for case, rows in order_cases(table, weighted=False).items()}
    {'tied': [(0, 4, 1), (9, 2, 3), (0, 0, 1)],
     'best': [(0, 4, 1), (9, 2, 0), (9, 0, 3), (0, 0, 1)],
     'worst': [(0, 4, 1), (9, 0, 3), (9, 2, 0), (0, 0, 1)]}
    """
    rows = pl.col("neg") + pl.col("pos")
    tied = table.filter(rows > 0)
    if not weighted:
        tied = tied.with_columns(shift=pl.when(rows == 1).then(0).otherwise("shift"))
    hidden = (tied["shift"] > 0) & (tied["neg"] > 0) & (tied["pos"] > 0)
    if not hidden.any():
        return {"tied": tied}
    return {
        "tied": tied,
        "best": _split(tied, hidden, "neg", "pos"),
        "worst": _split(tied, hidden, "pos", "neg"),
    }


def _split(table: pl.DataFrame, hidden: pl.Series, low: str, high: str) -> pl.DataFrame:
    """Each hidden bin as two rows, the class ``low`` below the class ``high``."""
    rows = np.repeat(np.arange(table.height), 1 + hidden.to_numpy())
    apart, second = hidden.to_numpy()[rows], np.append(False, rows[1:] == rows[:-1])[: len(rows)]
    keep_low, keep_high = pl.Series(~second), pl.Series(second | ~apart)
    return table[rows].with_columns(
        pl.when(keep_low).then(low).otherwise(0).alias(low), pl.when(keep_high).then(high).otherwise(0).alias(high)
    )
