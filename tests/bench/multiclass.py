"""What is measured of the task of several classes, against what, and that the answers are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import inputs
import numpy as np
from measure import Figure, close, side_by_side, within
from per_row import TABLE as PER_ROW

import streammetrics as sm

CLASSES = 10
MANY = 2_000_000


def ten_classes(path: Path) -> Iterator[Figure]:
    """Arrays to matrix, log loss and AUC of each class, against scikit-learn."""
    from sklearn import metrics as sk

    frame = inputs.class_probabilities(min(inputs.height(path), MANY), CLASSES)
    actual, scores = frame["class"].to_numpy(), frame.drop("class").to_numpy()
    wanted = ["log_loss", "roc_auc(average=macro)", "accuracy"]
    columns = {"y_true": "class", "y_score": {i: f"p{i}" for i in range(CLASSES)}}
    same = (sm.statistics.ConfusionMatrix(), sm.statistics.ClassLoss(), sm.statistics.ScoreHistogram(4_096))

    def ours(acc: sm.Accumulator) -> sm.Report:
        report = acc.update(frame).finalize(wanted)
        assert report.frame.height == len(wanted)  # reports are computed when they are read
        return report

    def scikit_learn() -> list[float]:
        predicted = scores.argmax(axis=1)
        return [
            sk.log_loss(actual, scores),
            sk.roc_auc_score(actual, scores, multi_class="ovr"),
            np.trace(sk.confusion_matrix(actual, predicted)) / len(actual),
        ]

    kinds = {"task": lambda: ours(sm.multiclass(**columns)), "same": lambda: ours(sm.Accumulator(*same, **columns))}
    times = side_by_side(kinds)
    theirs = side_by_side({"scikit-learn": scikit_learn}, rounds=2)["scikit-learn"]
    for timing in times.values():
        log_loss, auc, accuracy = theirs.result
        close(timing.result["log_loss"].value, log_loss)
        within(timing.result["roc_auc(average=macro)"], auc)
        close(timing.result["accuracy"].value, accuracy)
    table = "Multiclass, 10 classes, in memory: CPU time of scikit-learn relative to streammetrics (higher is better)"
    three = "Confusion matrix, log loss, and AUC of scikit-learn, relative to"
    for name, what in {"same": "the same three metrics", "task": "all statistics of `sm.multiclass`"}.items():
        yield Figure(table, f"{three} {what}", theirs.cpu / times[name].cpu, ">=", 20)
    what = "`sm.multiclass` with ten classes, 2 million rows"
    yield Figure(PER_ROW, what, times["task"].cpu / frame.height * 1e9, "<=", 90, "ns")


CASES = (ten_classes,)
