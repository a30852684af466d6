"""An evaluator for MLflow: ``mlflow.models.evaluate(…, evaluators="streammetrics")``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.report import log
from streammetrics.tasks import binary, multiclass, regression

TASKS: dict[str, tuple[Callable[..., Accumulator], str]] = {  # and what predictions are
    "binary": (binary, "y_score"),
    "multiclass": (multiclass, "y_pred"),
    "regression": (regression, "y_pred"),
}
TARGETS, PREDICTIONS = "targets", "predictions"  # columns of arrays, and of what a model predicts


class Evaluator:
    """Evaluate predictions, or a model, and log the report to the run, as `Report.log_to_mlflow` does.

    The configuration has the ``task``, ``confidence``, and arguments of the task, such as ``by``: columns of the data,
    or Polars expressions. Predictions are the scores of a binary task and the ``y_pred`` of others, unless the
    configuration names either.
    """

    @classmethod
    def can_evaluate(cls, *, evaluator_config: Mapping[str, Any] | None, **_: Any) -> bool:
        """Whether the configuration names a task. By default, MLflow runs all evaluators that return True."""
        return "task" in (evaluator_config or {})

    def evaluate(
        self, *, dataset: Any, run_id: str, evaluator_config: Mapping[str, Any], model: Any = None, **options: Any
    ) -> Any:
        """Log the report of a dataset, with the predictions it has or those of a model, and return its numbers.

        Raises:
            SpecificationError: If the task is unknown, or its arguments are invalid.
        """
        from mlflow.models import EvaluationResult

        arguments = dict(evaluator_config)
        task, confidence = arguments.pop("task"), arguments.pop("confidence", None)
        if task not in TASKS:
            raise SpecificationError(f"Unknown task {task!r}. Tasks: {', '.join(TASKS)}.")
        make, role = TASKS[task]
        targets, predictions = dataset.targets_name or TARGETS, dataset.predictions_name or PREDICTIONS
        values = dataset.predictions_data
        if model is not None:
            values, predictions = model.predict(dataset.features_data), PREDICTIONS
            values = values if options.get("predictions") is None else values[options["predictions"]]
        rows = pl.DataFrame(dataset.features_data)
        rows = rows.with_columns(pl.Series(targets, dataset.labels_data), pl.Series(predictions, values))
        if not {"y_score", "y_pred"} & {*arguments}:
            arguments[role] = predictions
        report = make(y_true=targets, **arguments).update(rows).finalize(confidence=confidence)
        return EvaluationResult(metrics=log(report, run_id), artifacts={}, run_id=run_id)
