"""A live view of a pass: how far it is, and the metrics of the rows so far."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import click

from streammetrics.accumulator import Accumulator
from streammetrics.cli.root import with_options
from streammetrics.pipeline import BATCH, accumulate
from streammetrics.report.report import Report
from streammetrics.sources.files import Files
from streammetrics.sources.streams import open_stream
from streammetrics.system.lazy import of_extra
from streammetrics.text import render

EVERY = 1.0  # seconds between two looks on a terminal,
LOGGED = 60.0  # and in a log
SHARE = 10  # a look takes at most this part of the time


def watch(files: Files, acc: Accumulator, finalize: Callable[[], Report], workers: int | None) -> None:
    """Take files into an accumulator as `accumulate` does, and show its report from time to time.

    Raises:
        SpecificationError: If the ``progress`` extra is not installed.
    """
    stream = open_stream(files, acc.roles.sources, BATCH)
    view = View(stream.rows)
    pause = view.every
    for batch in stream.batches:
        accumulate(replace(stream, batches=_portion(batch, stream.batches, pause)), acc, workers=workers)
        start = time.monotonic()
        view.show(acc.seen // len(acc.roles.models), finalize())
        pause = max(view.every, SHARE * (time.monotonic() - start))
    view.close()


def _portion(first: Any, others: Iterator[Any], seconds: float) -> Iterator[Any]:
    """Batches of some seconds."""
    end = time.monotonic() + seconds
    yield first
    while time.monotonic() < end and (batch := next(others, None)) is not None:
        yield batch


class View:
    """What the standard error shows: on a terminal the last look alone, elsewhere all looks."""

    def __init__(self, total: int | None) -> None:
        self._meter = of_extra("progress", "tqdm", "--watch requires").tqdm.format_meter
        self._total = total
        self._start = time.monotonic()
        self._lines = 0
        self.is_terminal: bool = sys.stderr.isatty()
        self.every: float = EVERY if self.is_terminal else LOGGED

    def show(self, rows: int, report: Report) -> None:
        """Show how many rows were processed, and their report, as far as the terminal has room."""
        width, height = shutil.get_terminal_size()
        elapsed = time.monotonic() - self._start
        meter = self._meter(rows, self._total, elapsed, ncols=width - 1, unit=" rows", unit_scale=True)
        lines = [meter, "", *with_options(render(report.frame, report.by, width)).split("\n")]
        if self.is_terminal:
            self.close()
            lines = lines[: height - 1]
            self._lines = len(lines)
        click.echo("\n".join(lines), err=True)

    def close(self) -> None:
        """Remove the last look from a terminal."""
        if self._lines:
            click.echo(f"\x1b[{self._lines}F\x1b[J", err=True, nl=False)
        self._lines = 0
