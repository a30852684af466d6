"""Reports in the runs of MLflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from streammetrics import text
from streammetrics.errors import ReportError
from streammetrics.report.nested import flat, nested
from streammetrics.rows.roles import MODEL
from streammetrics.system.lazy import missing_extra

if TYPE_CHECKING:
    from streammetrics.report.report import Report

FOLDER = "streammetrics"
NO_NAME = re.compile(r"[^\w\-. /]+")  # what names of metrics cannot have


def log(report: Report, run_id: str | None, step: int | None) -> None:
    """Log a report. For the arguments, see `Report.log_to_mlflow`."""
    from streammetrics.html import page  # when it is needed

    mlflow = _mlflow()
    models = [column for column in report.by if column == MODEL]
    total = report if report.by == models else report.rollup(*models)
    numbers = flat(nested(total.frame, total.by))
    names = {path: NO_NAME.sub("_", path.replace(" @ ", "_at_").replace(")", "")) for path in numbers}
    for path, name in names.items():
        same = [other for other, taken in names.items() if taken == name]
        if len(same) > 1:
            raise ReportError(f"The metrics {text.few(same)} would have the same name in MLflow, {name!r}.")
        numbers[name] = numbers.pop(path)
    mlflow.log_metrics(numbers, step=step, run_id=run_id)
    mlflow.log_text(_csv(report.frame), f"{FOLDER}/metrics.csv", run_id=run_id)
    mlflow.log_text(page(report), f"{FOLDER}/report.html", run_id=run_id)


def _csv(frame: pl.DataFrame) -> str:
    awkward = cs.expand_selector(frame, cs.binary() | cs.duration())  # for which CSV has no form
    return frame.with_columns(text.written(frame[name]) for name in awkward).write_csv()


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise missing_extra("mlflow", "Logging to MLflow requires") from error
    return mlflow
