"""What stands out in a report, as a headline and as a list."""

from __future__ import annotations

from collections.abc import Sequence

from streammetrics.base import capitalized, markup, minus, shown_of
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.reading import Finding
from streammetrics.show.tables.page import Section

FIRST = 5  # others are folded
TITLES = 2  # in a headline
VERDICTS = ("SM701", "SM711")  # of two sides
OPPOSED = ("SM702", "SM703")  # to the verdict of a comparison


def findings_list(findings: Sequence[Finding]) -> str:
    """Return findings as a list, of which the first are shown and the others folded; empty if there are none."""
    size = shown_of(len(findings), FIRST)
    more = f"<details><summary>and {len(findings) - size} more</summary>{_items(findings[size:])}</details>"
    return _items(findings[:size]) + more * (len(findings) > size) if findings else ""


def stands_out(findings: Sequence[Finding], otherwise: str = "") -> tuple[str, Section]:
    """Return the headline of a page, and its section that lists all findings."""
    return headline(findings) or otherwise, Section("findings", "What stands out", findings_list(findings))


def headline(findings: Sequence[Finding], strength: str = "") -> str:
    """Return the verdict of two sides, and the titles of the worst findings, as a sentence; empty without them.

    It begins with a strength of the model, if there is one. A verb that the second title repeats is left out, unless
    they are about two models.
    """
    titled = [f for f in findings if f.title and (f.severity != "info" or f.code in VERDICTS)][:TITLES]
    titles = [_about(finding) for finding in titled]
    if len(titles) == TITLES and len({finding.keys.get(MODEL) for finding in titled}) == 1:
        verb = f"{titled[0].title.split()[0]} "
        titles[1] = _title(titled[1]).removeprefix(verb)
    sentence = strength + (", but " if titled[-1:] and titled[-1].code in OPPOSED else ", and ").join(titles)
    return sentence if titled and MODEL in titled[0].keys else capitalized(sentence)


def _about(finding: Finding) -> str:
    """The title of a finding, after the model that it is about."""
    return f"{escaped(str(finding.keys[MODEL]))} {_title(finding)}" if MODEL in finding.keys else _title(finding)


def _title(finding: Finding) -> str:
    return f"{finding.title} for label {escaped(str(finding.keys[LABEL]))}" if LABEL in finding.keys else finding.title


def _items(findings: Sequence[Finding]) -> str:
    items = "".join(
        f'<li class="{finding.severity}"><strong>{finding.severity}</strong> {markup(minus(finding.sentence))} '
        f"<code>{finding.code}</code></li>"
        for finding in findings
    )
    return f'<ul class="findings">{items}</ul>'
