"""The same case in another installation: two processes of which one runs at a time, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import measure


class Other:
    """Another installation that runs a case, or none."""

    def __init__(self, process: subprocess.Popen[str] | None) -> None:
        self._process = process
        self._values: dict[str, float] | None = None if process else {}

    @classmethod
    @contextmanager
    def of(cls, python: str | None, script: str, *options: Any, folder: Any) -> Iterator[Other]:
        """Start a script of benchmarks with its options, and let it run whenever a run of this process has ended."""
        if python is None:
            yield cls(None)
            return
        command = [python, script, *map(str, options), "--takes-turns"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=folder, **pipes) as process:
            other = cls(process)
            measure.take_turns = other.turn
            try:
                yield other
            finally:
                measure.take_turns = int
                process.kill()

    def turn(self) -> None:
        """Let the other process run until it gives the turn back, or has finished."""
        if self._values is not None:
            return
        print(file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            print("The other installation failed. Its error is above.", file=sys.stderr)
        if line != "\n":
            self._values = json.loads(line or "{}")

    def value(self, figure: measure.Figure) -> float | None:
        """The value of a figure there, after the last turns; None if it has none."""
        while self._values is None:
            self.turn()
        return self._values.get(key(figure))


def key(figure: measure.Figure) -> str:
    """What tells a figure from all others of a case."""
    return f"{figure.table}: {figure.row}: {figure.column}"


def take_turns(case: Callable[[], Iterator[measure.Figure]]) -> None:
    """Run a case as the other process: in turns, with the values as the last line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed

    def turn() -> None:
        print(file=answers, flush=True)
        sys.stdin.readline()

    sys.stdin.readline()
    measure.take_turns = turn
    print(json.dumps({key(figure): figure.value for figure in case()}), file=answers, flush=True)
