"""A page as one self-contained file that runs only its own script, and its sections."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from streammetrics.base import markup, minus
from streammetrics.version import __version__


class Section(NamedTuple):
    """A part of the page, omitted without content, and the name of its own style sheet and script, if it has any."""

    identity: str
    title: str
    content: str
    resources: str = ""


def page_of(
    title: str, verdict: str, facts: str, sections: Iterable[Section], scripts: Iterable[str] = (), first: str = ""
) -> str:
    """Return a page of facts and of the sections with content, with links to them, and scripts besides its own.

    The verdict is the headline. What is ``first`` stands between it and the facts.

    Its content security policy allows only these scripts, by digest.
    """
    links, parts, style, scripts = "", list[str](), resource("page.css"), [*scripts]
    for section in (section for section in sections if section.content):
        name, heading = section.identity, section.title
        links += f'<li><a href="#{name}">{heading}</a></li>'
        if section.resources:
            style += resource(f"{section.resources}.css")
            scripts.append(resource(f"{section.resources}.js"))
        parts.append(f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>{section.content}</section>')
    script = "\n".join((*scripts, resource("page.js")))
    return Template(resource("head.html") + resource("page.html")).substitute(
        title=markup(title),
        style=style,
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        verdict=f'<p class="verdict">{markup(minus(verdict))}</p>' if verdict else "",
        first=first,
        lead=facts,
        contents=links,
        sections="\n".join(parts),
    )


def beside(charts: str, text: str) -> str:
    """Return charts with a text beside them, or what there is of both."""
    return f'<div class="beside">{charts}<div>{text}</div></div>' if charts and text else charts + text


def folded(summary: str, content: str) -> str:
    """Return content that a click shows, and paper; empty without content."""
    return f"<details><summary>{summary}</summary>{content}</details>" if content else ""


def lead(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as HTML by their names, followed by the time of the page."""
    created = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by streammetrics {__version__}"
    facts = (*facts, ("Page created", created))
    items = "".join(f"<div><dt>{markup(name)}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    return f'<dl class="lead">{items}</dl>'


def embedded(content: Any) -> str:
    """Content as JSON that cannot end the element that contains it."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", r"\u003c")


def resource(name: str) -> str:
    """A file of this package."""
    return (files("streammetrics.show.tables") / name).read_text(encoding="utf-8")
