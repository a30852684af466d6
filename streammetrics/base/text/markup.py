"""Text as HTML."""

from __future__ import annotations

import html
import re

from streammetrics.errors import LONGEST_SENTENCE, cut, escaped


def markup(text: str) -> str:
    """Return a text as HTML, with control characters escaped too. Long texts are cut.

    >>> markup('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return html.escape(cut(escaped(text), LONGEST_SENTENCE))


def minus(text: str) -> str:
    """Return numbers with the minus sign that tables of a page have, which is as wide as a digit.

    >>> minus("-0.5"), minus("-2 to 3"), minus("1e-05"), minus("since 2026-01-31")
    ('−0.5', '−2 to 3', '1e−05', 'since 2026-01-31')
    """
    return re.sub(r"(?<!\d)-(?=[\d.∞])", "−", text)
