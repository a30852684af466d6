"""What stands out in a report, as a list."""

from __future__ import annotations

from collections.abc import Sequence

from streammetrics.base import markup, shown_of
from streammetrics.reading import Finding

FIRST = 5  # others are folded


def findings_list(findings: Sequence[Finding]) -> str:
    """Return findings as a list, of which the first are shown and the others folded; empty if there are none."""
    size = shown_of(len(findings), FIRST)
    more = f"<details><summary>and {len(findings) - size} more</summary>{_items(findings[size:])}</details>"
    return _items(findings[:size]) + more * (len(findings) > size) if findings else ""


def _items(findings: Sequence[Finding]) -> str:
    items = "".join(
        f'<li class="{finding.severity}"><strong>{finding.severity}</strong> {markup(finding.sentence)} '
        f"<code>{finding.code}</code></li>"
        for finding in findings
    )
    return f'<ul class="findings">{items}</ul>'
