"""The findings command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import GITHUB, as_lines, print_or_save, write
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.findings.table import as_frame, findings_table, outcomes
from streammetrics.present.github import add_to_summary, commands, inert
from streammetrics.present.markdown import as_markdown


@command("findings", "streammetrics findings week.state --by country")
@click.argument("state", type=click.Path(path_type=Path))
@options.selection
@options.form_of_findings
def findings_command(state: Path, form: str, output: Path | None, **read: Any) -> None:
    """Say what stands out in a saved state.

    Findings have a severity (bad, warn, or info) and a code, such as SM101, which the documentation explains. The most
    important ones come first.
    """
    found = report_of(state, **read).findings()
    shown = findings_table(found)
    if form == GITHUB:
        print_or_save("\n".join([inert(as_lines([shown])), *commands(outcomes(found))]), output)
        add_to_summary(as_markdown(shown))
    else:
        write(as_frame(found), [shown], form, output)
