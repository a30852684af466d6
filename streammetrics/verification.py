"""Verification of a receipt, by evaluating the rows again or from a saved state."""

from __future__ import annotations

from pathlib import Path

from streammetrics.accumulator import Accumulator
from streammetrics.pipeline import accumulate
from streammetrics.receipts import Receipt, Verification, compared
from streammetrics.sources.streams import Source
from streammetrics.system.public import publish


def verify(
    receipt: Receipt | str | Path, source: Source, *, workers: int | None = None, progress: bool = False
) -> Verification:
    """Evaluate rows again, and compare the result with a receipt.

    Args:
        receipt: A receipt (see `Accumulator.receipt`), or the path of its file.
        source: The rows, as in `accumulate`, in any order and any number of files; a saved state, as the path of a
            ``.state`` file; or an accumulator.
        workers: As in `accumulate`.
        progress: As in `accumulate`.

    Returns:
        Whether everything is identical, or what differs.

    Raises:
        StateError: If the receipt or the state cannot be read, or the receipt has no specification because it is long.
            Then pass a state or an accumulator.
        SourceError: If the source is missing or unreadable.
        ColumnError: If a column is missing, such as one that was computed by an expression.

    >>> import streammetrics as sm
    >>> rows = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}
    >>> receipt = sm.binary(y_true="y", y_score="p", fingerprint=True).update(rows).receipt()
    >>> print(sm.verify(receipt, [{"y": [1], "p": [0.4]}, {"y": [0, 1], "p": [0.2, 0.9]}]))
    Identical: 3 rows, with the same fingerprints, counts, metrics, and verdicts.
    >>> print(sm.verify(receipt, [{"y": [1, 0, 1], "p": [0.9, 0.2, 0.3]}]).identical)
    False
    """
    stated = receipt if isinstance(receipt, Receipt) else Receipt.load(receipt)
    if isinstance(source, Accumulator):
        again = source
    elif isinstance(source, str | Path) and Path(source).suffix == ".state":
        again = Accumulator.load(source)
    else:
        again = accumulate(source, Accumulator.from_arrow(stated.no_rows()), workers=workers, progress=progress)
    shown, required = [*stated.metrics], [*stated.verdicts]
    return compared(stated, again.receipt(shown, confidence=stated.confidence, require=required))


publish("streammetrics", verify)
