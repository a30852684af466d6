"""Sections of the page: a linked heading and its content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streammetrics import charts
from streammetrics.html.document import created, document, resource
from streammetrics.text.markup import markup


@dataclass(frozen=True)
class Section:
    """A part of the page, omitted without content."""

    identity: str
    title: str
    content: str

    @property
    def html(self) -> str:
        """The section as HTML."""
        return (
            f'<section aria-labelledby="{self.identity}"><h2 id="{self.identity}">{self.title}</h2>'
            f"{self.content}</section>"
        )

    @property
    def link(self) -> str:
        """A link to it."""
        return f'<li><a href="#{self.identity}">{self.title}</a></li>'


def page_of(title: str, facts: str, sections: Iterable[Section], interactive: bool) -> str:
    """Return a page of facts and of the sections with content, with links to them."""
    scripts = resource("page.js")
    if interactive:
        scripts = "\n".join((charts.script(), resource("charts.js"), scripts))
    shown = [section for section in sections if section.content]
    return document(
        "page",
        title,
        resource("page.css"),
        scripts,
        lead=facts,
        contents="".join(section.link for section in shown),
        sections="\n".join(section.html for section in shown),
    )


def lead(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as HTML by their names, followed by the time of the page."""
    facts = (*facts, ("Page created", created()))
    shown = "".join(f"<div><dt>{markup(name)}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    return f'<dl class="lead">{shown}</dl>'


def scrolled(made: str, what: str) -> str:
    """Return a table in a scrollable box."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table of {markup(what)}">{made}</div>'


def filtered(made: str, what: str) -> str:
    """Return a table in a box, with a field that filters its rows."""
    return (
        f'<div class="filter" hidden><label for="f-{what}">Filter {what}</label> <input id="f-{what}" type="search" '
        f'autocomplete="off"> <output for="f-{what}" aria-live="polite"></output></div>{scrolled(made, what)}'
    )
