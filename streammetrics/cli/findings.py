"""The findings command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import GITHUB, write, write_for_github
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.findings.table import as_frame, findings_table, outcomes


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
        write_for_github([shown], [shown], outcomes(found), output)
    else:
        write(as_frame(found), [shown], form, output)
