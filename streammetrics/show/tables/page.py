"""Sections of the page: a linked heading and its content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streammetrics.base import markup
from streammetrics.show.tables.document import created, document, resource


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


def page_of(title: str, facts: str, sections: Iterable[Section], scripts: Iterable[str] = ()) -> str:
    """Return a page of facts and of the sections with content, with links to them, and scripts besides its own."""
    sections = [section for section in sections if section.content]
    return document(
        title,
        resource("page.css"),
        "\n".join((*scripts, resource("page.js"))),
        lead=facts,
        contents="".join(section.link for section in sections),
        sections="\n".join(section.html for section in sections),
    )


def beside(charts: str, text: str) -> str:
    """Return charts with a text beside them, or what there is of both."""
    return f'<div class="beside">{charts}<div>{text}</div></div>' if charts and text else charts + text


def lead(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as HTML by their names, followed by the time of the page."""
    facts = (*facts, ("Page created", created()))
    items = "".join(f"<div><dt>{markup(name)}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    return f'<dl class="lead">{items}</dl>'
