"""The demo command."""

from __future__ import annotations

import time
from pathlib import Path

import click

from streammetrics import demo
from streammetrics.cli.output import show
from streammetrics.cli.root import Failure, command
from streammetrics.errors import SpecificationError
from streammetrics.pipeline import accumulate
from streammetrics.report import Report
from streammetrics.tasks import binary


@command("demo", "streammetrics demo --rows 500000")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("predictions"))
@click.option(
    "--rows", type=click.IntRange(min=1000), default=2_000_000, show_default=True, help="Number of rows to write."
)
def demo_command(folder: Path, rows: int) -> None:
    """Write click predictions to FOLDER and evaluate them.

    The predictions cover thirty days and are evaluated by country. The page report.html is written beside FOLDER.
    Files that exist are not replaced.
    """
    page = folder.with_name("report.html")
    for path in (page, *(sorted(folder.iterdir()) if folder.is_dir() else ())):
        if path.exists():
            raise Failure(f"The demo replaces no files, but '{path}' exists. Run it in an empty directory.")
    click.echo(f"Writing {rows:,} predictions of {demo.DAYS} days to {folder}/ …")
    paths = demo.write_predictions(folder, rows)
    start = time.perf_counter()
    acc = accumulate(paths, binary(y_true="clicked", y_score="p_click", by="country"))
    report = acc.finalize()
    click.echo(f"Evaluated {rows:,} rows in {time.perf_counter() - start:.1f} s, in one pass.\n")
    show(report, "table", None, has_findings=True)
    click.echo("\nAll countries together, from the same state:\n")
    show(report.rollup(), "table", None)
    click.echo(f"\n{_page(report, page, folder)}\n\nTo run this evaluation yourself:")
    click.echo(
        f"  streammetrics evaluate '{folder}/*.parquet' \\\n"
        "    --y-true clicked --y-score p_click --by country --save clicks.state"
    )
    click.echo("  streammetrics check clicks.state --require 'roc_auc>=0.70' --require 'log_loss_skill>=0.05'")


def _page(report: Report, page: Path, folder: Path) -> str:
    """Write the page of the demo, and return where it is."""
    try:
        report.with_confidence(0.95).save_html(page, "Click predictions", source=f"{folder}/*.parquet")
    except SpecificationError as error:  # without the extra that draws charts
        return str(error)
    return f"The same as a page, with charts: {page}"
