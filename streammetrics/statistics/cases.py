"""Cases that bracket what a coarse histogram bin hides. The first case gives the reported value.

A ranking metric that is monotone in the order of the rows of a bin lies between its values in three cases. A
confusion-count metric at a threshold inside a bin depends on which rows of the bin reach the threshold. If it is
monotone in the true and in the false positives, it lies between its values with all and with none of the rows of each
class.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl


def order_cases(table: pl.DataFrame, weighted: bool) -> dict[str, pl.DataFrame]:
    """Return the histogram with its coarse bins tied, in their best order, and in their worst.

    In the best order, positives are above negatives. Bins of one class are the same in every case. A bin with one row
    holds a single value, so its shift becomes 0, but only for unweighted counts. If no coarse bin has both classes, the
    only case is the tied one.
    The bins must be in ascending order of score. ``weighted`` is whether ``neg`` and ``pos`` are sums of weights.

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


NEXT = 2.0**-50  # nearly none: less than a row, for a metric that is undefined without any
ALL_OR_NONE = (0.0, 1.0)


def threshold_cases(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the confusion counts at a threshold inside a bin: half of its rows reach it, or all or none of a class.

    ``cut_neg`` and ``cut_pos`` are the rows of the bin; ``tp``, ``fp``, ``fn``, and ``tn`` are all others.

    >>> table = pl.DataFrame({"tp": [5], "fp": [1], "fn": [0], "tn": [9], "cut_neg": [4], "cut_pos": [2]})
    >>> cases = threshold_cases(table)
    >>> [cases[case].row(0) for case in ("half", "0.0 of neg, 1.0 of pos")]
    [(6.0, 3.0, 1.0, 11.0), (7.0, 1.0, 0.0, 13.0)]
    >>> list(threshold_cases(table.with_columns(cut_neg=0, cut_pos=0)))
    ['exact']
    """
    if not table.select((pl.col("cut_neg") + pl.col("cut_pos") > 0).any()).item():
        return {"exact": table.drop("cut_neg", "cut_pos")}
    shares = [pair for pair in product((0.0, NEXT, 1 - NEXT, 1.0), repeat=2) if {*pair}.intersection(ALL_OR_NONE)]
    cases = {"half": (0.5, 0.5)} | {f"{neg} of neg, {pos} of pos": (neg, pos) for neg, pos in shares}
    return {name: _reaching(table, *pair) for name, pair in cases.items()}


def _reaching(table: pl.DataFrame, neg: float, pos: float) -> pl.DataFrame:
    """The counts if these shares of the negatives and positives of the cut bin reach the threshold."""
    return table.select(
        pl.exclude("cut_neg", "cut_pos", "tp", "fp", "fn", "tn"),
        tp=pl.col("tp") + pl.col("cut_pos") * pos,
        fp=pl.col("fp") + pl.col("cut_neg") * neg,
        fn=pl.col("fn") + pl.col("cut_pos") * (1 - pos),
        tn=pl.col("tn") + pl.col("cut_neg") * (1 - neg),
    )


def _split(table: pl.DataFrame, hidden: pl.Series, low: str, high: str) -> pl.DataFrame:
    """Split each coarse bin into two rows, the class ``low`` below the class ``high``."""
    rows = np.repeat(np.arange(table.height), 1 + hidden.to_numpy())
    apart, second = hidden.to_numpy()[rows], np.append(False, rows[1:] == rows[:-1])[: len(rows)]
    keep_low, keep_high = pl.Series(~second), pl.Series(second | ~apart)
    return table[rows].with_columns(
        pl.when(keep_low).then(low).otherwise(0).alias(low), pl.when(keep_high).then(high).otherwise(0).alias(high)
    )
