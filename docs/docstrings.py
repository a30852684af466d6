"""An extension of Griffe, which reads the docstrings for the reference: examples, and methods that are assigned."""

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
    """Fences examples, and shows functions that are assigned to an attribute of a class as its methods."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replace the docstring of a module, a class, a function, or an attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace attributes such as ``worst: Final = worst``, or of a module, ``worst: Final = segments.worst``."""
        for name, member in list(cls.members.items()):
            if isinstance(member, griffe.Attribute) and str(member.annotation) == "Final":
                first, *function = str(member.value).split(".")
                cls.set_member(name, griffe.Alias(name, ".".join([cls.module.resolve(first), *function])))
