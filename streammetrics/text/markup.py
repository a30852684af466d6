"""Text as HTML."""

from __future__ import annotations

import html

from streammetrics.text import escaped


def markup(text: str) -> str:
    """Return a text as HTML, with control characters escaped too.

    >>> markup('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return html.escape(escaped(text))
