"""Evaluate files of any size by country, and choose a threshold."""

import tempfile
from pathlib import Path

import streammetrics as sm
from streammetrics.demo import write_predictions

with tempfile.TemporaryDirectory() as folder:
    write_predictions(Path(folder), rows=300_000)
    task = sm.binary(y_true="clicked", y_score="p_click", by="country", metrics=["rows", "roc_auc", "log_loss", "ece"])
    report = sm.evaluate(f"{folder}/*.parquet", task)

print(report)
print("\nThe threshold with the lowest cost if a missed click costs twenty times a false alarm:\n")
print(report.operating_point(minimize="cost(fp=1, fn=20)").select("country", "threshold", "tp", "fp", "value"))
