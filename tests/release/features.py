"""What each extra is for, run with the extra installed, and the error without it: ``python features.py store``."""

import os
import sys
from datetime import date
from importlib import import_module
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory

import streammetrics as sm

BATCH = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "day": [date(2026, 1, 31)] * 3}
EXAMPLES = Path(__file__).parents[2] / "examples" / "engines"


def task():
    return sm.binary(y_true="y", y_score="p", by="day")


def store():
    with TemporaryDirectory() as directory:
        history = sm.MetricStore(directory)
        history.append(task().update(BATCH), batch_id="first")
        assert history.query().seen == 3


def progress():
    with TemporaryDirectory() as directory:
        path = f"{directory}/rows.csv"
        Path(path).write_text("y,p,day\n1,0.9,2026-01-31\n", encoding="utf-8")
        assert sm.evaluate(path, task(), progress=True)["rows"].value == 1


def prometheus():
    assert 'metric="roc_auc"' in sm.export.to_prometheus(task().update(BATCH).finalize())


def otel():
    sm.export.to_opentelemetry(task().update(BATCH).finalize())


def mlflow():
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with TemporaryDirectory() as directory:
        tracking = import_module("mlflow")
        tracking.set_tracking_uri(Path(directory).as_uri())
        tracking.set_experiment("features")
        with tracking.start_run():
            task().update(BATCH).finalize().log_to_mlflow()


def plot():
    with TemporaryDirectory() as directory:
        task().update(BATCH).finalize().plot.roc().save(f"{directory}/roc.svg")


def docs():
    import_module("mkdocs"), import_module("mkdocstrings")


class Anything:
    """Passes for a source of an engine that is not installed."""

    def __getattr__(self, name):
        return None


WITHOUT = {  # extras whose absence is an error of the library; the others' objects cannot be made then
    "store": store,
    "progress": progress,
    "prometheus": prometheus,
    "plot": plot,
    "otel": otel,
    "mlflow": lambda: task().update(BATCH).finalize().log_to_mlflow(),
    "duckdb": lambda: import_module("streammetrics.engines.duckdb").evaluate(Anything(), task()),
    "dask": lambda: import_module("streammetrics.engines.dask").evaluate(Anything(), task()),
}
FEATURES = {f.__name__: f for f in (store, progress, prometheus, otel, mlflow, plot, docs)}
FEATURES |= {
    engine: lambda file=file: run_path(str(EXAMPLES / f"{file}.py"), run_name="__main__")
    for engine, file in (
        *(("duckdb", "duckdb_query"), ("dask", "dask_cluster")),
        *(("ray", "ray_dataset"), ("spark", "spark_states")),
    )
}


def without(extra):
    """Whatever needs an extra says which one."""
    message = ""
    try:
        WITHOUT[extra]()
    except sm.StreamMetricsError as error:
        message = str(error)
    assert f".[{extra}]" in message, (extra, message)


if __name__ == "__main__":
    if sys.argv[1:] == ["--none"]:
        for name in WITHOUT:
            without(name)
        for name in ("ray", "spark"):
            import_module(f"streammetrics.engines.{name}")
    else:
        FEATURES[sys.argv[1]]()
