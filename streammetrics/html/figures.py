"""Charts on the page: as SVG, or as data for a script."""

from __future__ import annotations

from collections.abc import Iterable

from streammetrics.charts import Picture, as_svg, for_page
from streammetrics.html.document import embedded
from streammetrics.markup import markup


def figures(pictures: Iterable[Picture], name: str, interactive: bool) -> str:
    """Return charts side by side, with numbered identities; empty without charts."""
    drawn = "\n".join(figure(picture, f"{name}{i}", interactive) for i, picture in enumerate(pictures))
    return f'<div class="charts">{drawn}</div>' if drawn else ""


def figure(picture: Picture, identity: str, interactive: bool) -> str:
    """Return a chart with its title and its caption."""
    subtitle = f'<p class="sub">{markup(picture.subtitle)}</p>' if picture.subtitle else ""
    drawn = _script(picture) if interactive else as_svg(picture, identity)
    return (
        f"<figure><figcaption><h3>{markup(picture.title)}</h3>{subtitle}</figcaption>{drawn}"
        f'<p class="how">{markup(picture.caption)}</p></figure>'
    )


def _script(picture: Picture) -> str:
    """A place for the chart, and the chart as JSON that cannot end its element."""
    named = f'role="img" aria-label="{markup(picture.title)}"'
    content = embedded(for_page(picture, explore=True))
    return f'<div class="vega" {named}></div><script type="application/json">{content}</script>'
