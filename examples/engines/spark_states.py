"""Evaluate a Spark data frame, and store one state per day and country as a Spark table."""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import spark as engine

os.environ["PYSPARK_PYTHON"] = sys.executable  # so that workers use this Python
task = sm.binary(y_true="clicked", y_score="p_click", by=["country"], metrics=["rows", "roc_auc", "log_loss"])
daily = sm.binary(y_true="clicked", y_score="p_click", by=["day", "country"], metrics=["rows", "roc_auc", "log_loss"])

settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
with tempfile.TemporaryDirectory() as name:
    write_predictions(Path(name), rows=300_000)
    predictions = spark.read.parquet(name)
    print(engine.evaluate(predictions, task), end="\n\n")

    engine.states(predictions, daily).write.parquet(f"{name}/states")
    later = spark.read.parquet(f"{name}/states").filter("country = 'DE' AND day >= '2026-01-25'")
    print(engine.collect(later, daily).finalize())
spark.stop()
