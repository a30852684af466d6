"""Evaluate shards separately, merge their states, and compute metrics of coarser groups."""

import tempfile
from pathlib import Path

import polars as pl

import streammetrics as sm
from streammetrics.demo import write_predictions

task = sm.binary(y_true="clicked", y_score="p_click", by=["day", "country"], metrics=["rows", "roc_auc", "brier_score"])

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for day in write_predictions(folder, rows=300_000):  # each could be a separate job
        sm.accumulate(day, task).save(day.with_suffix(".state"))
    total = sm.Accumulator.load(*sorted(folder.glob("*.state")))

print(total)
print(total.rollup("country").finalize(), end="\n\n")
weekend = pl.col("day").dt.weekday() >= 6
print("Weekends:", total.filter(weekend).rollup().finalize()["roc_auc"])
print("Weekdays:", total.filter(~weekend).rollup().finalize()["roc_auc"])
