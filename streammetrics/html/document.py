"""A page as one file that needs nothing else, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from string import Template
from typing import Any

from streammetrics.markup import markup


def document(name: str, title: str, style: str, script: str, **content: str) -> str:
    """The page of a template. A browser runs the script by its digest, and no other."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template(resource("head.html") + resource(f"{name}.html"))
    return page.substitute(title=markup(title), style=style, script=script, digest=digest, **content)


def embedded(content: Any) -> str:
    """Content as JSON that cannot end the element that it stands in."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", r"\u003c")


def resource(name: str) -> str:
    """A file beside this one."""
    return (files("streammetrics.html") / name).read_text(encoding="utf-8")
