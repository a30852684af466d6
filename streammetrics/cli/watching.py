"""A live view of an evaluation: its progress, and the metrics of the rows so far."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import click

from streammetrics.accumulator import Accumulator
from streammetrics.base import of_extra
from streammetrics.data import Files, open_stream
from streammetrics.pipeline import BATCH, accumulate
from streammetrics.report import Report
from streammetrics.show import as_text, report_tables

EVERY = 1.0  # seconds between two reports on a terminal,
LOGGED = 60.0  # and in a log
SHARE = 10  # a report takes at most one part in this many of the time


def watch(files: Files, acc: Accumulator, finalize: Callable[[], Report], workers: int | None) -> None:
    """Process files with an accumulator, as `accumulate` does, and show its report periodically."""
    stream = open_stream(files, acc.roles.sources, BATCH, acc.roles.labeling)
    live = LiveReport(stream.rows)
    pause = live.every
    for batch in stream.batches:
        accumulate(replace(stream, batches=_portion(batch, stream.batches, pause)), into=acc, workers=workers)
        start = time.monotonic()
        live.show(acc.seen // len(acc.roles.models), finalize())
        pause = max(live.every, SHARE * (time.monotonic() - start))
    live.close()


def _portion(first: Any, others: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The batches of the next seconds."""
    end = time.monotonic() + seconds
    yield first
    while time.monotonic() < end and (batch := next(others, None)) is not None:
        yield batch


class LiveReport:
    """Output on standard error: a terminal shows only the last report, a log shows all reports."""

    def __init__(self, total: int | None) -> None:
        self._meter = of_extra("progress", "tqdm", "--watch requires").tqdm.format_meter
        self._total = total
        self._start = time.monotonic()
        self._lines = 0
        self.is_terminal: bool = sys.stderr.isatty()
        self.every: float = EVERY if self.is_terminal else LOGGED

    def show(self, rows: int, report: Report) -> None:
        """Show the number of processed rows and their report, cut to the height of the terminal."""
        width, height = shutil.get_terminal_size()
        elapsed = time.monotonic() - self._start
        meter = self._meter(rows, self._total, elapsed, ncols=width - 1, unit=" rows", unit_scale=True)
        text = as_text(*report_tables(report.frame, report.by, width, confidence=report.confidence), width=width)
        lines = [meter, "", *text.split("\n")]
        if self.is_terminal:
            self.close()
            lines = lines[: height - 1]
            self._lines = len(lines)
        click.echo("\n".join(lines), err=True)

    def close(self) -> None:
        """Remove the last report from a terminal."""
        if self._lines:
            click.echo(f"\x1b[{self._lines}F\x1b[J", err=True, nl=False)
        self._lines = 0
