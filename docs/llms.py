"""Write llms.txt, a list of the pages, and llms-full.txt, all of them as text, for language models (llmstxt.org)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from pydoc import locate
from typing import Any

DIRECTIVE = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)
MEMBERS = re.compile(r"members: (?:\[(.*?)\]|false)", re.DOTALL)
TITLE = re.compile(r"^# (.*)", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")

texts: dict[str, str] = {}  # of the pages of a build, by file


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """The hook of each page, after the one that fills in the metrics."""
    texts[page.file.src_uri] = DIRECTIVE.sub(lambda entry: "\n".join(documented(entry[1], entry[2])), f"{markdown}\n")


def on_post_build(config: Any, **_: Any) -> None:
    """The hook of the finished site."""
    folder, nav = Path(config.site_dir), config.pages_of_nav
    (folder / "llms.txt").write_text("\n".join(listed(config, nav)), encoding="utf-8")
    full = (f"<!-- {page.url or 'index'} -->\n\n{texts[page.file.src_uri].strip()}\n" for _, page in nav)
    (folder / "llms-full.txt").write_text("\n".join(full), encoding="utf-8")


def on_nav(nav: Any, config: Any, **_: Any) -> None:
    """The hook of the navigation, whose order the files have."""
    config.pages_of_nav = [(section.title, page) for section in nav for page in pages_of(section)]


def pages_of(part: Any) -> Iterator[Any]:
    """The pages of a section of the navigation, and of the sections in it."""
    if part.children is None:
        yield part
    for child in part.children or ():
        yield from pages_of(child)


def listed(config: Any, nav: list[tuple[str, Any]]) -> Iterator[str]:
    """The lines of llms.txt: each page with a link and its first sentence."""
    yield f"# {config.site_name}\n\n> {config.site_description}"
    section = None
    for title, page in nav:
        if title != section:
            yield f"\n## {title}\n"
        section = title
        text = texts[page.file.src_uri]
        yield f"- [{TITLE.search(text)[1]}]({page.canonical_url or page.url or './'}): {summary(text)}"
    yield "\n## Optional\n\n- [All pages as text](llms-full.txt): the content of this site in one file.\n"


def summary(markdown: str) -> str:
    """The first sentence of a page."""
    paragraph = next(part for part in markdown.split("\n\n") if part.strip() and not part.lstrip().startswith("#"))
    return re.split(r"(?<=[.?]) ", LINK.sub(r"\1", " ".join(paragraph.split())), maxsplit=1)[0]


def documented(name: str, options: str) -> Iterator[str]:
    """The signature and the docstring of a public name, and those of the members that the reference shows."""
    thing: Any = locate(name)
    title = name.removeprefix("streammetrics.")
    yield from entry(title, thing)
    chosen = MEMBERS.search(options)
    if chosen:
        names = re.findall(r"\w+", chosen[1] or "")
    else:
        names = [n for n in vars(thing) if n[0] != "_"] if inspect.isclass(thing) else getattr(thing, "__all__", [])
    for member in names:
        if inspect.getdoc(getattr(thing, member, None)) and not isinstance(getattr(thing, member), str | tuple):
            yield from entry(f"{title}.{member}", getattr(thing, member))


def entry(name: str, thing: Any) -> Iterator[str]:
    """A heading with the signature, without types, and the docstring."""
    has_parameters = callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception))
    yield f"### {name}{signature(thing) if has_parameters else ''}\n"
    yield f"{inspect.getdoc(thing) or ''}\n"


def signature(thing: Any) -> str:
    """Parameters with their defaults."""
    found = inspect.signature(thing)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
