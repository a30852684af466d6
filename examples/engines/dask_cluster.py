"""Evaluate files on a Dask cluster: one task per file, whose states are merged on the cluster."""

import tempfile
from pathlib import Path

from dask.distributed import Client, LocalCluster

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import dask as engine


def main():
    task = sm.binary(y_true="clicked", y_score="p_click", by=["country"], metrics=["rows", "roc_auc", "log_loss"])
    with tempfile.TemporaryDirectory() as name, LocalCluster(n_workers=2, dashboard_address=None) as cluster:
        write_predictions(Path(name), rows=300_000)
        with Client(cluster):
            print(engine.evaluate(f"{name}/*.parquet", task))


if __name__ == "__main__":  # worker processes import this file
    main()
