"""What tests of sources share: two rows, a task that counts rows, and files of any kind."""

from pathlib import Path

import polars as pl

import streammetrics as sm

PAIR = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1]})


def task(**options):
    return sm.binary(y_true="y", y_score="p", metrics=["rows"], **options)


def rows(source):
    """The number of rows of a source."""
    return sm.evaluate(source, task())["rows"].value


def put(path, frame=PAIR):
    """Write a file of the kind that its suffix names, and the folders above it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix.removeprefix(".").replace("arrow", "ipc")
    getattr(frame, f"write_{kind}")(path)
    return path
