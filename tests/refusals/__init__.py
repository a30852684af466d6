"""Calls that are refused, a file per subject: ``REFUSALS`` has what is wrong, the call, the exception, and the names.

Names are what the message must contain so that a user finds the fault: an argument, a column, a value, a number of
rows. They are not its prose, which stands in a text file beside each subject; ``python tests/test_refusals.py`` writes
these files again. A call may take an empty folder.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import pytest

PLACE = Path(__file__).parent
SUBJECTS = sorted(path.stem for path in PLACE.glob("[!_]*.py"))


class Refusal(NamedTuple):
    """A call that must fail, the class of its exception (no base class of it), and what the message names."""

    call: Callable[..., object]
    error: type[Exception]
    names: tuple[str, ...]

    def raised(self, folder: Path) -> Exception:
        """Return the exception of the call, which may use a folder."""
        with pytest.raises(self.error) as raised:
            self.call(folder) if signature(self.call).parameters else self.call()
        assert raised.type is self.error, f"raises {raised.type.__name__}"
        return raised.value


def refusals(subject: str) -> dict[str, Refusal]:
    """Return the refusals of a subject, by what is wrong."""
    table = import_module(f"refusals.{subject}").REFUSALS
    return {wrong: Refusal(call, error, names) for wrong, (call, error, *names) in table.items()}
