"""The command for comparisons: differences, or verdicts on requirements with margins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import show_tables, write_findings
from streammetrics.cli.parameters import OneOf
from streammetrics.cli.root import command
from streammetrics.cli.states import names, report_of, require_no_page
from streammetrics.cli.verdicts import JUNIT, write_verdicts
from streammetrics.show import OPEN, comparison_tables, differences_table, only_threshold, with_notes

UNDECIDED = 3  # exit code

gate: Final = options.together(
    click.option(
        "--not-worse",
        multiple=True,
        metavar="METRIC=MARGIN",
        help="Require that B is not worse by more than a margin, such as roc_auc=0.002 or log_loss=0.5%. Repeatable.",
    ),
    click.option(
        "--better",
        multiple=True,
        metavar="METRIC[=MARGIN]",
        help="Require that B is better, or by more than a margin. Can be repeated.",
    ),
    click.option("--open", type=OneOf(["pass", "fail"]), help="Result of open requirements. Default: exit code 3."),
    options.min_rows,
    click.option("--segments", help="False discovery rate among breached groups, such as 'fdr 5 %'."),
)


@command("compare", "streammetrics compare champion.state candidate.state --not-worse roc_auc=0.002 --better log_loss")
@options.file("a")
@options.file("b", required=False)
@options.models
@options.selection
@options.metrics
@options.level
@options.independent
@gate
@options.findings
@options.page
@options.form_of_verdicts
@click.pass_context
def compare_command(
    ctx: click.Context,
    /,
    a: Path,
    b: Path | None,
    models: tuple[str, str] | None,
    confidence: float,
    independent: bool,
    not_worse: tuple[str, ...],
    better: tuple[str, ...],
    open: Any,
    min_rows: int,
    segments: str | None,
    findings: bool,
    html: Path | None,
    title: str | None,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Compare the metrics of two saved states, or of two models.

    If more than five metrics are compared by group, the table of groups shows only the first. A second table shows all
    metrics for all groups together.

    With --not-worse or --better, the output is the verdict on each requirement in every group instead. The exit code is
    1 if a requirement is breached or undefined, and otherwise 3 if one is open (inconclusive). With --open pass or
    --open fail, open requirements count as held or as breached.
    """
    if (b is None) == (models is None):
        only = "not both" if models else "to compare two models of one state"
        raise click.UsageError(f"Pass either a second state or --models A B, {only}.")
    if models and read["model"] is not None:
        raise click.UsageError("Pass either --models or --model, not both.")
    has_requirements = bool(not_worse or better)
    if has_requirements and findings:
        raise click.UsageError("Pass either --findings or requirements, not both.")
    if not has_requirements and (open or segments or min_rows > 1 or form == JUNIT):
        raise click.UsageError("--open, --min-rows, --segments, and --format junit require --not-worse or --better.")
    require_no_page(html, read["threshold"])
    one, *other = (report_of(state, **read) for state in (a, b) if state is not None)
    comparison = sm.compare(one, *other, models=models, confidence=confidence, independent=independent)
    comparison = comparison if b is None else replace(comparison, names=names(a, b))
    options: Any = {"open": open or "fail", "min_rows": min_rows, "segments": segments, "confidence": confidence}
    verdicts = comparison.check(not_worse=not_worse, better=better, **options) if has_requirements else None
    if html is not None:
        comparison.save_html(html, title or "Comparison", check=verdicts)
    if verdicts is not None:
        write_verdicts(verdicts, form, output, "streammetrics compare {} {}".format(*comparison.names))
        failing = verdicts.frame.filter(~verdicts.frame["passes"])["verdict"]
        only_open = open is None and failing.is_in(OPEN).all()
        ctx.exit(UNDECIDED if not verdicts.hold and only_open else int(not verdicts.hold))
    if findings:
        write_findings(comparison.findings(), form, output)
        return
    more = "Choose them with --metric, or read all of them with --format csv."
    tables = comparison_tables(comparison, more, noted=False)
    every = with_notes(
        [differences_table(comparison._judged, comparison.names, comparison.confidence, comparison.b.by)],
        *only_threshold(comparison.frame),
    )
    show_tables(comparison.frame, comparison.findings, tables, every, form, output)
