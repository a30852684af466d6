"""Calls that are refused, a file per subject: ``REFUSALS`` has what is wrong, the call, and the names.

Names are what the message must contain so that a user finds the fault: an argument, a column, a value, a number of
rows. The exception and its prose stand in a text file beside each subject; ``python tests/test_refusals.py`` writes
these files again. A call may take an empty folder.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import pytest

import streammetrics as sm

PLACE = Path(__file__).parent
SUBJECTS = sorted(path.stem for path in PLACE.glob("[!_]*.py"))


class Refusal(NamedTuple):
    """A call that must fail, and what the message names."""

    call: Callable[..., object]
    names: tuple[str, ...]

    def raised(self, folder: Path) -> sm.StreamMetricsError:
        """Return the exception of the call, which may use a folder."""
        with pytest.raises(sm.StreamMetricsError) as raised:
            self.call(folder) if signature(self.call).parameters else self.call()
        return raised.value


def refusals(subject: str) -> dict[str, Refusal]:
    """Return the refusals of a subject, by what is wrong."""
    table = import_module(f"refusals.{subject}").REFUSALS
    return {wrong: Refusal(call, names) for wrong, (call, *names) in table.items()}
