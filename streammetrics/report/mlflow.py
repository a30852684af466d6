"""Reports in MLflow runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streammetrics.base import of_extra, text, without_awkward
from streammetrics.errors import ReportError
from streammetrics.report.nested import flat, nested
from streammetrics.show import page

if TYPE_CHECKING:
    from streammetrics.report.report import Report

FOLDER = "streammetrics"
NO_NAME = re.compile(r"[^\w\-. /]+")  # characters not allowed in metric names


def log(report: Report, run_id: str | None, step: int | None = None) -> dict[str, float]:
    """Log a report, and return its metrics. For the arguments, see `Report.log_to_mlflow`."""
    mlflow = of_extra("mlflow", "mlflow", "Logging to MLflow requires")
    total = report.rollup()
    numbers = flat(nested(total.frame, total.by))
    names = {path: NO_NAME.sub("_", path.replace(" @ ", "_at_").replace(")", "")) for path in numbers}
    for path, name in names.items():
        same = [other for other, taken in names.items() if taken == name]
        if len(same) > 1:
            raise ReportError(f"The metrics {text.few(same)} would have the same name in MLflow, {name!r}.")
        numbers[name] = numbers.pop(path)
    mlflow.log_metrics(numbers, step=step, run_id=run_id)
    mlflow.log_text(without_awkward(report.frame).write_csv(), f"{FOLDER}/metrics.csv", run_id=run_id)
    mlflow.log_text(page(report), f"{FOLDER}/report.html", run_id=run_id)
    return numbers
