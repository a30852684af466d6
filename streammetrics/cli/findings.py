"""The findings command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import write
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.findings.table import as_frame, findings_table


@command("findings", "streammetrics findings week.state --by country")
@click.argument("state", type=click.Path(path_type=Path))
@options.selection
@options.form
def findings_command(state: Path, form: str, output: Path | None, **read: Any) -> None:
    """Say what stands out in a saved state.

    Findings have a severity (bad, warn, or info) and a code, such as SM101, which the documentation explains. The most
    important ones come first.
    """
    found = report_of(state, **read).findings()
    write(as_frame(found), [findings_table(found)], form, output)
