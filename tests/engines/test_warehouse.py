"""The statements of the page on warehouses, from the query to the metrics."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.demo import write_predictions

pytestmark = pytest.mark.engine

GUIDE = (Path(__file__).parents[2] / "docs" / "out-of-core.md").read_text(encoding="utf-8")
PAGE = re.search(r"^## From a warehouse\n(.*?)^## ", GUIDE, re.DOTALL | re.MULTILINE)[1]
STATEMENT, OF_POSTGRES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
EXPORT = re.search(r"^psql .*$", PAGE, re.MULTILINE)[0]
EVALUATE = re.search(r"^streammetrics (evaluate .*)$", PAGE, re.MULTILINE)[1]
PROGRAMS = ("initdb", "pg_ctl", "psql")
COLUMNS = {"y_true": "clicked", "y_score": "p", "by": "country"}


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warehouse") / "predictions"
    write_predictions(folder, rows=20_000)
    return folder


@pytest.fixture
def postgres(monkeypatch):
    """A server that only listens at a socket. It refuses to run as root, who runs it as nobody instead."""
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        pytest.skip(f"PostgreSQL needs {', '.join(missing)}, not found on the path")
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as place:
        if user:
            shutil.chown(place, user)
        data = f"{place}/data"

        def run(*command):
            subprocess.run(command, check=True, cwd=place, user=user, stdout=subprocess.DEVNULL)

        run("initdb", "--no-sync", "--auth=trust", "--username=sm", "--locale=C", "--encoding=UTF8", "-D", data)
        run("pg_ctl", "-D", data, "-w", "-l", f"{place}/log", "-o", f"-k {place} -c listen_addresses=''", "start")
        for name, value in {"PGHOST": place, "PGUSER": "sm", "PGDATABASE": "postgres"}.items():
            monkeypatch.setenv(name, value)
        yield
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture
def spark(java):
    builder = pytest.importorskip("pyspark.sql").SparkSession.builder.master("local[2]")
    session = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "localhost").getOrCreate()
    yield session
    session.stop()


def require_the_metrics_of_single_rows(counts, predictions):
    """The counts give the report of the rounded rows, and their bounds contain the metrics of the rows before."""
    rows = pl.read_parquet(predictions).rename({"p_click": "p"})
    report = sm.evaluate(counts, sm.binary(count="n", rounding=0.01, **COLUMNS), confidence=0.95)
    rounded = sm.binary(rounding=0.01, **COLUMNS).update(rows.with_columns(pl.col("p").round(2)))
    assert report.frame.equals(rounded.finalize(confidence=0.95).frame)
    before = sm.evaluate(rows, sm.binary(**COLUMNS))
    for metric in ("roc_auc", "average_precision", "pr_auc", "ks"):
        both = before.rows(metric).join(report.rows(metric), on="country", suffix="_rounded")
        assert both.select(pl.col("value").is_between("lower_rounded", "upper_rounded").all()).item(), metric


def test_duckdb(predictions, tmp_path):
    with pytest.importorskip("duckdb").connect() as connection:
        connection.execute(f"CREATE VIEW predictions AS FROM '{predictions}/*.parquet'")
        connection.sql(STATEMENT).write_parquet(str(tmp_path / "counts.parquet"))
    require_the_metrics_of_single_rows(tmp_path / "counts.parquet", predictions)


def test_spark(predictions, spark, tmp_path):
    spark.read.parquet(str(predictions)).createOrReplaceTempView("predictions")
    spark.sql(STATEMENT).write.parquet(str(tmp_path / "counts"))
    require_the_metrics_of_single_rows(tmp_path / "counts", predictions)


@pytest.mark.usefixtures("postgres")
def test_postgres_and_the_command(predictions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pl.read_parquet(predictions).select("country", "clicked", "p_click")
    rows.write_csv("predictions.csv")
    create = "CREATE TABLE predictions (country text, clicked boolean, p_click float8)"
    copy = r"\copy predictions FROM 'predictions.csv' CSV HEADER"
    subprocess.run(["psql", "-q", "-c", create, "-c", copy], check=True)
    Path("counts.sql").write_text(OF_POSTGRES, encoding="utf-8")
    subprocess.run(EXPORT, shell=True, check=True)
    require_the_metrics_of_single_rows(tmp_path / "counts.csv", predictions)
    shown = CliRunner().invoke(main, [*EVALUATE.split(), "--format", "csv"], catch_exceptions=False).output
    report = sm.evaluate("counts.csv", sm.binary(count="n", rounding=0.01, **COLUMNS))
    assert shown == report.frame.write_csv()
