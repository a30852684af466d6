"""Spark in local mode, on a classic session."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent

import polars as pl
import pytest
from laws import laws
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.demo import write_predictions
from streammetrics.engines import spark as engine
from streammetrics.testing import Engine
from streammetrics.testing.engine_tasks import BY, EXACT, TASKS, alone
from streammetrics.testing.laws import require_same

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def session(java):
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.maxPartitionBytes": "40m",
        "spark.sql.files.openCostInBytes": "40m",  # a partition for each file
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.driver.host": "localhost",
    }
    builder = sql.SparkSession.builder.master("local[2, 4]")  # a failed task is run up to four times
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def read(folder):
    return pytest.importorskip("pyspark.sql").SparkSession.active().read.parquet(str(folder))


def states(source, acc):
    return [engine.collect(engine.states(source, acc), acc).to_arrow()]


@pytest.mark.parametrize("check", laws(Engine(engine, read, states, retries=True)), ids=str)
@pytest.mark.usefixtures("session")
def test_laws(check):
    check()


def test_a_partition_for_each_file(session, files):
    assert read(files).rdd.getNumPartitions() >= 7


def test_tasks_add_up_before_the_driver(session, files):
    found = engine.accumulate(read(files), EXACT["binary"](BY), partitions=2)
    assert found.to_bytes() == alone(files, "binary", True, exact=True).to_bytes()


def test_states_are_filtered_united_and_rolled_up(session, files):
    acc = EXACT["binary"](BY)
    found = engine.states(read(files), acc).cache()
    expected = alone(files, "binary", True, exact=True)
    german = engine.collect(found.filter("country = 'DE'"), acc)
    assert german.to_bytes() == expected.filter(pl.col("country") == "DE").to_bytes()
    twice = engine.collect(engine.merge(found.union(found), acc), acc)
    assert twice.to_bytes() == (expected + expected).to_bytes()
    by_week = acc.rollup("week")
    rolled_up = engine.merge(found, by_week, partitions=2)
    assert engine.collect(rolled_up, by_week).to_bytes() == expected.rollup("week").to_bytes()


def test_states_by_time_are_written_and_loaded_under_any_names(session, tmp_path):
    rows = [{"y.true": i % 3 == 0, "p`": i / 10, "at": f"2026-01-0{1 + i % 3} 10:00:00"} for i in range(10)]
    df = session.createDataFrame(rows).selectExpr("`y.true`", "`p```", "cast(at as timestamp) at")
    acc = sm.binary(y_true="y.true", y_score="p`", by=["at", pl.col("at").dt.date().alias("day")])
    expected = sm.accumulate(df.toArrow(), acc.empty())
    require_same(engine.accumulate(df, acc.empty()), expected)
    engine.states(df, acc).write.parquet(f"{tmp_path}/states")
    require_same(sm.Accumulator.load(f"{tmp_path}/states"), expected)
    by_day = acc.rollup("day")
    engine.merge(session.read.parquet(f"{tmp_path}/states"), by_day).write.parquet(f"{tmp_path}/days")
    require_same(sm.Accumulator.load(f"{tmp_path}/days"), expected.rollup("day"))


def test_a_bad_row_is_named_by_its_file(session, tmp_path):
    folder = tmp_path / "my scores"
    for number, bad in enumerate((0.5, 1.25)):
        score = pl.when(pl.int_range(300) == 207).then(bad).otherwise(0.5)
        frame = pl.DataFrame({"y": [1] * 300}).with_columns(p=score)
        frame.write_parquet(folder / f"{number}.parquet", mkdir=True)
    acc = sm.binary(y_true="y", y_score="p")
    for tasks in (None, 1):
        with pytest.raises(
            sm.errors.DataError, match=rf"\(first: 1.25 at row 207 of partition \d, in {folder}/1.parquet\)\. "
        ):
            engine.accumulate(read(folder), acc, partitions=tasks)
    with pytest.raises(sm.errors.DataError, match=r"\(first: 1.25 at row \d+ of partition 0\)\. "):
        engine.accumulate(read(folder).repartition(1), acc)


def test_spark_3_has_no_method_that_collects_arrow(session, files, monkeypatch):
    source, acc = read(files), EXACT["binary"](BY)
    monkeypatch.setattr(type(source), "toArrow", property(lambda self: self.no_such_method), raising=False)
    assert not hasattr(source, "toArrow")
    expected = alone(files, "binary", True, exact=True).to_bytes()
    assert engine.accumulate(source, acc).to_bytes() == expected
    assert engine.collect(engine.states(source, acc), acc).to_bytes() == expected


@pytest.mark.parametrize("tasks", [None, 2])
def test_the_limit_of_results_is_named(tasks, session, files):
    context = pytest.importorskip("pyspark").SparkContext._active_spark_context
    acc = sm.binary(y_true="clicked", y_score="p")
    limit = context._jsc.sc().conf()
    limit.set("spark.driver.maxResultSize", "20k")
    try:
        with pytest.raises(
            sm.errors.SourceError, match=r"larger than spark.driver.maxResultSize \(20.0 KiB\)\. Raise the limit"
        ):
            engine.accumulate(read(files), acc, partitions=tasks)
    finally:
        limit.set("spark.driver.maxResultSize", "1g")


def test_frames_without_states_are_told(session, files):
    acc = TASKS["binary"](BY)
    for frame in (read(files), engine.states(read(files), acc).drop("week")):
        for use in (engine.collect, engine.merge):
            with pytest.raises(
                sm.errors.SpecificationError, match=r"The data frame does not contain states of .* not found"
            ):
                use(frame, acc)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_times_have_the_same_day_in_any_session(zone, session):
    hours = "timestamp_seconds(1767225600 + 3600 * id)"  # since 2026-01-01 in UTC
    session.conf.set("spark.sql.session.timeZone", zone)
    df = session.range(48).selectExpr("id % 2 = 0 y", "id / 48 p", f"{hours} t", f"named_struct('t', {hours}) nested")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(hours=hour) for hour in range(48)]
    frame = pl.DataFrame({"y": [True, False] * 24, "p": [i / 48 for i in range(48)], "t": times})
    frame = frame.with_columns(nested=pl.struct("t"))
    try:
        for time in (pl.col("t"), pl.col("nested").struct.field("t")):
            by = {"date": time.dt.date(), "day": time.dt.truncate("1d"), "time": time}
            by = [group.alias(name) for name, group in by.items()]
            acc = sm.Accumulator(sm.statistics.ConfusionCounts(), y_true="y", y_score="p", by=by)
            expected = sm.accumulate(frame, acc)
            require_same(engine.accumulate(df, acc), expected)
            require_same(engine.collect(engine.states(df, acc), acc), expected)
    finally:
        session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")


CONNECT = """
import sys
from streammetrics.testing.engine_tasks import EXACT, BY
from pathlib import Path
from textwrap import dedent
from pyspark.sql import SparkSession
import streammetrics as sm
from streammetrics.engines import spark
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
session = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
df = session.read.parquet(sys.argv[1])
assert ".connect." in str(type(df))
acc = EXACT["binary"](BY)
spark.accumulate(df, acc.empty(), partitions=2).save(sys.argv[2])
spark.collect(spark.states(df, acc), acc).save(sys.argv[3])
try:
    spark.accumulate(df, sm.binary(y_true="clicked", y_score="actual"))
except sm.errors.DataError as error:
    Path(sys.argv[4]).write_text(str(error))
session.stop()
"""


def test_spark_connect(java, files, tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    pytest.importorskip("pyspark.sql.connect")
    paths, error, log = [tmp_path / "few.state", tmp_path / "many.state"], tmp_path / "error", tmp_path / "log"
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": folders}
    command = [sys.executable, "-c", CONNECT, str(files), *map(str, paths), str(error)]
    with log.open("w") as output:  # a file, since the server may hold a pipe longer than the client
        ran = subprocess.run(command, env=environment, stdout=output, stderr=output, check=False, timeout=180)
    assert ran.returncode == 0, log.read_text()
    assert error.read_text().startswith("Column 'actual' contains scores outside [0, 1] in ")
    for path in paths:
        assert sm.Accumulator.load(path).to_bytes() == alone(files, "binary", True, exact=True).to_bytes()


def stream_of_files(session, folder, checkpoint, add):
    """Read a folder into a history, a file for each batch, until all files are read."""
    files = session.readStream.schema("clicked boolean, p double, day date").option("maxFilesPerTrigger", 1)
    writer = files.parquet(str(folder)).writeStream.foreachBatch(add).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_stream_that_fails_in_a_batch_goes_on_and_counts_each_row_once(when, session, tmp_path):
    streaming = pytest.importorskip("pyspark.errors").StreamingQueryException
    rows = pl.DataFrame({"clicked": [n % 3 == 0 for n in range(40)], "p": [n / 40 for n in range(40)]})
    rows = rows.with_columns(pl.date(2026, 1, 1 + pl.int_range(40) % 3).alias("day"))
    for n in range(4):
        rows[10 * n : 10 * n + 10].write_parquet(tmp_path / f"files/{n}.parquet", mkdir=True)
    acc = sm.Accumulator(sm.statistics.ScoreHistogram(), y_true="clicked", y_score="p", by="day")
    store = sm.MetricStore(tmp_path / "history")
    add, died = engine.into_history(store, acc, source="files"), []

    def dying(df, batch):
        if when == "after":
            add(df, batch)
        if batch == 2 and not died:
            died.append(batch)
            raise RuntimeError("the driver dies")
        add(df, batch)

    with pytest.raises(streaming, match="the driver dies"):
        stream_of_files(session, tmp_path / "files", tmp_path / "checkpoint", dying)
    assert store.offset("files") == (3 if when == "after" else 2)
    stream_of_files(session, tmp_path / "files", tmp_path / "checkpoint", add)
    assert store.offset("files") == 4
    assert store.query(every="1d").to_bytes() == acc.update(rows).to_bytes()


def test_the_example_of_a_stream_runs(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"clicked": [True, False], "p": [0.5, 0.7]}).with_columns(day=pl.date(2026, 1, 31))
    rows.write_parquet("clicks/1.parquet", mkdir=True)
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    example = dedent(re.search(r"```py\n( *from streammetrics.engines import spark.*?)```", page, re.DOTALL).group(1))
    example = example.replace('"clicks/"', f'"{tmp_path}/clicks/"').replace('"checkpoint"', f'"{tmp_path}/checkpoint"')
    example = example.replace(".start()", ".trigger(availableNow=True).start()")
    exec(compile(example, "monitoring.md", "exec"), {"sm": sm, "session": session})
    assert sm.MetricStore("quality").query().seen == 2


def test_a_history_older_than_the_checkpoint_is_noticed(session, tmp_path):
    acc = sm.Accumulator(y_true="clicked", by="day")
    add = engine.into_history(sm.MetricStore(tmp_path / "history"), acc, source="files")
    df = session.sql("select true clicked, date'2026-01-01' day")
    add(df, 0)
    with pytest.raises(sm.errors.DataError, match="offsets 5 to 6 of source 'files', but the history ends at offset 1"):
        add(df, 5)


@pytest.mark.parametrize(("store", "acc"), [("history", None), (None, 3)])
def test_what_is_no_history(store, acc, tmp_path):
    with pytest.raises(sm.errors.SpecificationError, match=r"must be an? "):
        engine.into_history(
            store or sm.MetricStore(tmp_path), acc or sm.binary(y_true="y", y_score="p"), source="files"
        )


def test_the_example_of_the_documentation_runs(session, tmp_path):
    write_predictions(tmp_path / "predictions", rows=3_000)
    page = Path(__file__).parents[2] / "docs" / "out-of-core.md"
    example = re.search(
        r"```py\n(from streammetrics.engines import spark.*?)```", page.read_text("utf-8"), re.DOTALL
    ).group(1)
    names = {"sm": sm, "session": session}
    exec(compile(example.replace('parquet("', f'parquet("{tmp_path}/'), page.name, "exec"), names)
    expected = sm.evaluate(tmp_path / "predictions", names["task"])
    assert_frame_equal(names["report"].frame, expected.frame, rel_tol=1e-12)
