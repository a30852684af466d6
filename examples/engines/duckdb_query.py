"""Evaluate the result of a DuckDB query, and query saved states with SQL."""

import tempfile
from pathlib import Path

import duckdb

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import duckdb as engine

task = sm.binary(y_true="clicked", y_score="p_click", by=["country"], metrics=["rows", "roc_auc", "log_loss"])

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for day in write_predictions(folder, rows=300_000):
        engine.accumulate(duckdb.read_parquet(str(day)), task).save(day.with_suffix(".state"))
    weekends = duckdb.sql(f"FROM '{folder}/*.parquet' WHERE isodow(day) >= 6")
    print(engine.evaluate(weekends, task), end="\n\n")
    print(
        duckdb.sql(
            f"""
            SELECT country, sum(cell.log_loss_sum) / sum(cell.weight) AS log_loss
            FROM (SELECT country, unnest(probability_loss) AS cell FROM read_parquet('{folder}/*.state'))
            GROUP BY country ORDER BY country
            """
        )
    )
