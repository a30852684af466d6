"""The command line: the public functions, one command each."""

from streammetrics.cli import (
    before_labels,
    compare,
    demo,
    evaluate,
    findings,
    history,
    listing,
    slices,
    states,
    store,
    thresholds,
)
from streammetrics.cli.root import main

__all__ = [
    "before_labels",
    "compare",
    "demo",
    "evaluate",
    "findings",
    "history",
    "listing",
    "main",
    "slices",
    "states",
    "store",
    "thresholds",
]
