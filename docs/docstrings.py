"""An extension of Griffe, which reads the examples in docstrings for the reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:(?<=\n\n)|\A)>>> .*?(?=\n\n|\Z)", re.DOTALL)
DIRECTIVE = re.compile(r"  # doctest: .*")


def fenced(docstring: str) -> str:
    """The docstring with each example in a fence."""
    return EXAMPLE.sub(lambda example: f"```pycon\n{DIRECTIVE.sub('', example[0])}\n```", docstring)


class Docstrings(griffe.Extension):
    """Fences examples."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replace the docstring of a module, a class, a function, or an attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
