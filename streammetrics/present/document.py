"""A page as one self-contained file that runs only its own script."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.resources import files
from string import Template
from typing import Any

from streammetrics.text.markup import markup
from streammetrics.version import __version__


def document(name: str, title: str, style: str, script: str, **content: str) -> str:
    """The page of a template. Its content security policy allows only its own script, by digest."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template(resource("head.html") + resource(f"{name}.html"))
    return page.substitute(title=markup(title), style=style, script=script, digest=digest, **content)


def created() -> str:
    """The time and the version of the library, as text."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by streammetrics {__version__}"


def embedded(content: Any) -> str:
    """Content as JSON that cannot end the element that contains it."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", r"\u003c")


def resource(name: str, package: str = "streammetrics.present") -> str:
    """A file of a package."""
    return (files(package) / name).read_text(encoding="utf-8")
