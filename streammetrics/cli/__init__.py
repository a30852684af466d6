"""The command line: the public functions, one command each."""

from streammetrics.cli import (
    before_labels,
    compare,
    demo,
    evaluate,
    history,
    operating_point,
    planning,
    receipts,
    slices,
    states,
    store,
)
from streammetrics.cli.root import main
