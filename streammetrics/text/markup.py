"""Text as HTML."""

from __future__ import annotations

import html
import re

from streammetrics.text import escaped


def markup(text: str) -> str:
    """Return a text as HTML, with control characters escaped too.

    >>> markup('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return html.escape(escaped(text))


def minus(text: str) -> str:
    """Return numbers with the minus sign that tables of a page have, which is as wide as a digit.

    >>> minus("-0.5"), minus("-2 to 3"), minus("1e-05"), minus("since 2026-01-31")
    ('−0.5', '−2 to 3', '1e−05', 'since 2026-01-31')
    """
    return re.sub(r"(?<!\d)-(?=[\d.∞])", "−", text)
