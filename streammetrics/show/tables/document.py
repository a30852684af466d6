"""A page as one self-contained file that runs only its own script."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.resources import files
from string import Template
from typing import Any

from streammetrics.base import markup
from streammetrics.version import __version__


def document(title: str, style: str, script: str, **content: str) -> str:
    """A page. Its content security policy allows only its own script, by digest."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template(resource("head.html") + resource("page.html"))
    return page.substitute(title=markup(title), style=style, script=script, digest=digest, **content)


def created() -> str:
    """The time and the version of the library, as text."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by streammetrics {__version__}"


def embedded(content: Any) -> str:
    """Content as JSON that cannot end the element that contains it."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", r"\u003c")


def resource(name: str) -> str:
    """A file of this package."""
    return (files("streammetrics.show.tables") / name).read_text(encoding="utf-8")
