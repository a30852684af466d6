"""The findings command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import write_findings
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of


@command("findings", "streammetrics findings week.state --by country")
@click.argument("state", type=click.Path(path_type=Path))
@options.selection
@options.form_of_findings
def findings_command(state: Path, form: str, output: Path | None, **read: Any) -> None:
    """Say what stands out in a saved state.

    Findings have a severity (bad, warn, or info) and a code, such as SM101, which the documentation explains. The most
    important ones come first.
    """
    write_findings(report_of(state, **read).findings(), form, output)
