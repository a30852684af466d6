"""Output of the verdicts of a check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

import streammetrics as sm
from streammetrics.cli.output import FINDINGS, GITHUB, save_data, width, write, write_for_github
from streammetrics.cli.root import done
from streammetrics.show import (
    findings_table,
    junit,
    outcomes,
    outcomes_of_findings,
    verdict_tables,
    with_notes,
)

JUNIT = "junit"
FORMATS = (GITHUB, JUNIT)


def write_verdicts(
    verdicts: sm.Verdicts,
    form: str,
    output: Path | None,
    suite: str,
    advice: Sequence[str] = (),
    first: Sequence[sm.Finding] = (),
) -> None:
    """Write the verdicts of a check in one of the formats, to a file if one is given.

    The suite is the name of a JUnit report. Tables begin with what stands out ``first``. Advice is a note below a table
    for a terminal. With a file, the number of failing verdicts is printed on standard error, so that a log shows why
    the exit code is 1.
    """
    frame = verdicts.frame
    begin = [findings_table(first, FINDINGS)] if first else []
    notes = verdicts.note.splitlines()
    tables = [*begin, *with_notes(verdict_tables(frame, verdicts.by, width()), *notes, *advice)]
    every = [*begin, *verdicts._every()]
    if form == GITHUB:
        others = [finding for finding in first if finding.metric is None]  # those of rules are verdicts
        write_for_github(tables, every, [*outcomes(frame), *outcomes_of_findings(others)], output)
    elif form == JUNIT:
        save_data(junit(outcomes(frame), suite), output)
    else:
        write(frame, tables if form == "table" else every, form, output)
    undecided = int((frame["verdict"] != "holds").sum())
    is_said = form == "table" and output is None and frame.height > 1 and not undecided  # below the table
    if verdicts.hold and not is_said:
        also = f", {undecided:,} undecided" if undecided else ""
        done(f"Passed: {frame.height - undecided:,} of {frame.height:,} hold{also}.")
    if output is not None and (failing := int((~frame["passes"]).sum())):
        click.echo(f"Failing: {failing:,} of {frame.height:,} verdicts, see {output}", err=True)
