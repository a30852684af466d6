"""The command line: the public functions, one command each."""

from streammetrics.cli import evaluate, slices, states, store
from streammetrics.cli.root import main

__all__ = ["evaluate", "main", "slices", "states", "store"]
