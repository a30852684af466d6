"""Evaluate a Ray dataset, and store one state per day and country on the cluster."""

import tempfile
from pathlib import Path

import ray

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import ray as engine

task = sm.binary(y_true="clicked", y_score="p_click", by=["country"], metrics=["rows", "roc_auc", "log_loss"])
daily = sm.binary(y_true="clicked", y_score="p_click", by=["day", "country"], metrics=["rows", "roc_auc", "log_loss"])

ray.init(num_cpus=2, include_dashboard=False)
with tempfile.TemporaryDirectory() as name:
    write_predictions(Path(name), rows=300_000)
    predictions = ray.data.read_parquet(name)
    print(engine.evaluate(predictions, task), end="\n\n")

    states = engine.states(predictions, daily, partitions=2)
    print(engine.collect(states.filter(expr="country == 'DE'"), daily).rollup("country").finalize())
ray.shutdown()
