"""Output of the verdicts of a check."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from streammetrics.cli.output import print_or_save, save_data, write
from streammetrics.present.github import add_to_summary, commands, inert
from streammetrics.present.junit import junit
from streammetrics.present.markdown import as_markdown
from streammetrics.present.verdicts import verdicts_table

FORMATS = ("github", "junit")


def write_verdicts(frame: pl.DataFrame, shown: str, form: str, output: Path | None, suite: str) -> None:
    """Write the verdicts of a check in one of the formats, or as text for a terminal, to a file if one is given.

    The frame has at least the columns of `report.findings.SCHEMA`. The suite is the name of a JUnit report. With a
    file, the number of failing verdicts is printed on standard error, so that a log shows why the exit code is 1.
    """
    if form == "github":
        print_or_save("\n".join([inert(shown), *commands(frame)]), output)
        add_to_summary(as_markdown(verdicts_table(frame)))
    elif form == "junit":
        save_data(junit(frame, suite), output)
    elif form == "markdown":
        save_data(as_markdown(verdicts_table(frame)), output)
    else:
        write(frame, shown, form, output)
    if output is not None and (failing := int((~frame["passes"]).sum())):
        click.echo(f"Failing: {failing:,} of {frame.height:,} verdicts, see {output}", err=True)
