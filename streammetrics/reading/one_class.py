"""A warning for binary tasks whose rows are all of one class."""

from __future__ import annotations

from streammetrics.reading.readings import Readings


def of_one_class(report: Readings) -> str | None:
    """Return that no row has the positive label, or that every row has it, as words; None for rows of both classes.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p")
    >>> of_one_class(acc.update({"y": [1], "p": [0.7]}).finalize())
    'every row has the positive label'
    >>> of_one_class(acc.update({"y": [0], "p": [0.7]}).finalize())
    """
    if not report.rows("rows")["value"].sum():
        return None
    for count, has in (("positives", "no row has"), ("negatives", "every row has")):
        found = report.rows(count) if report.readable(count) else None
        of_labels = found is not None and "label" in found.columns and found["label"].count()
        if found is not None and not of_labels and not found["value"].sum():
            return f"{has} the positive label"
    return None
