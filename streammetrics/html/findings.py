"""What stands out in a report, as a list."""

from __future__ import annotations

from collections.abc import Iterable

from streammetrics.findings.finding import Finding
from streammetrics.text.markup import markup


def findings_list(findings: Iterable[Finding]) -> str:
    """Return findings as a list, or an empty text if there are none."""
    items = "".join(
        f'<li class="{finding.severity}"><strong>{finding.severity}</strong> {markup(finding.sentence)} '
        f"<code>{finding.code}</code></li>"
        for finding in findings
    )
    return f'<ul class="findings">{items}</ul>' if items else ""
