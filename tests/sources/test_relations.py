"""Relations of DuckDB as sources: times regardless of the session, and a connection that stays usable."""

import duckdb
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.engines import duckdb as engine

HOURS = """
SELECT i % 2 AS y, i / 48 AS p, t, {'t': t} AS nested, [t] AS listed
FROM (SELECT i, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 HOUR * i AS t FROM range(48) AS hours(i))
"""
DAYS = {  # the day of a time, by where the time is
    "a column": pl.col("t").dt.date(),
    "a week": pl.col("t").dt.truncate("1d").dt.date(),
    "a struct": pl.col("nested").struct.field("t").dt.date(),
    "a list": pl.col("listed").list.first().dt.date(),
}
WAYS = {
    "evaluate": sm.accumulate,
    "the engine": engine.accumulate,
    "a batch": lambda relation, acc: acc.empty().update(relation),
    "one of several batches": lambda relation, acc: sm.accumulate([relation], acc),
}


@pytest.fixture(params=["America/Los_Angeles", "Asia/Tokyo"])
def session(request):
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{request.param}'")
        yield connection


@pytest.mark.parametrize("day", DAYS.values(), ids=DAYS)
@pytest.mark.parametrize("accumulate", WAYS.values(), ids=WAYS)
def test_times_have_the_same_day_in_any_session(session, accumulate, day):
    acc = sm.binary(y_true="y", y_score="p", by=day.alias("day"))
    relation = session.sql(HOURS)
    hours = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 2, 23), "1h", time_zone="UTC", eager=True)
    frame = pl.DataFrame({"y": [0, 1] * 24, "p": [i / 48 for i in range(48)], "t": hours})
    frame = frame.with_columns(nested=pl.struct("t"), listed=pl.concat_list("t"))
    assert accumulate(relation, acc).to_bytes() == sm.accumulate(frame, acc).to_bytes()


def test_a_time_as_a_group_merges_with_that_of_another_session(session):
    acc = sm.binary(y_true="y", y_score="p", by="t")
    total = sm.accumulate(session.sql(HOURS), acc)
    session.execute("SET TimeZone = 'Europe/Berlin'")
    assert (total + sm.accumulate(session.sql(HOURS), acc)).state.groups.height == 48


@pytest.mark.parametrize(
    "column", ["2 AS y", "CASE WHEN i < 900000 THEN 1 ELSE 2 END AS y", "1 AS y, INTERVAL 1 DAY AS g"]
)
@pytest.mark.parametrize("accumulate", WAYS.values(), ids=WAYS)
def test_a_connection_is_usable_after_an_error(accumulate, column):
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT {column}, 0.5 AS p FROM range(1000000) AS numbers(i)")
        acc = sm.binary(y_true="y", y_score="p", by=["g"] if "g" in relation.columns else [])
        with pytest.raises((sm.errors.ColumnError, sm.errors.DataError)):
            accumulate(relation, acc)
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("accumulate", [sm.accumulate, engine.accumulate])
def test_a_bad_row_of_a_relation_is_named(accumulate):
    relation = duckdb.sql("SELECT 1 AS y, IF(i = 300007, 1.25, 0.5) AS p FROM range(400000) AS numbers(i)")
    with pytest.raises(sm.errors.DataError, match=r"first: 1.25\d* at row 300007 of the relation"):
        accumulate(relation, sm.binary(y_true="y", y_score="p"))


@pytest.mark.parametrize("accumulate", [sm.accumulate, engine.accumulate])
def test_a_bad_row_of_files_is_named_by_its_file(accumulate, tmp_path):
    for number, bad in enumerate((0.5, 1.25, 0.5)):
        score = pl.when(pl.int_range(300) == 207).then(bad).otherwise(0.5)
        pl.DataFrame({"y": [1] * 300}).with_columns(p=score).write_parquet(tmp_path / f"{number}.parquet")
    relation = duckdb.read_parquet(f"{tmp_path}/*.parquet")
    acc = sm.binary(y_true="y", y_score="p")
    for files in (relation, relation.filter("p > 0.1")):
        with pytest.raises(
            sm.errors.DataError, match=rf"in 1 of .*00 rows \(first: 1.25 at row 207 of {tmp_path}/1.parquet\)"
        ):
            accumulate(files, acc)
    for query in (relation.select("y, p, 'a' AS filename"), relation.order("p").select("y, p")):
        with pytest.raises(sm.errors.DataError, match=r"first: 1.25 at row \d+ of the relation"):
            accumulate(query, acc)


@pytest.mark.parametrize("accumulate", [sm.accumulate, engine.accumulate])
def test_an_error_of_the_query_is_one_of_the_source(accumulate):
    relation = duckdb.sql(
        "SELECT 1 AS y, CAST(IF(i = 300007, 'x', '0.5') AS DOUBLE) AS p FROM range(400000) AS numbers(i)"
    )
    with pytest.raises(
        sm.errors.SourceError, match=r"Cannot read the relation: .*Could not convert string 'x' to DOUBLE"
    ):
        accumulate(relation, sm.binary(y_true="y", y_score="p"))


@pytest.mark.parametrize("accumulate", [sm.accumulate, engine.accumulate])
def test_columns_that_are_not_used_are_not_computed(accumulate):
    relation = duckdb.sql("SELECT 1 AS y, 0.5 AS p, error('used') AS unused FROM range(3)")
    assert accumulate(relation, sm.binary(y_true="y", y_score="p")).seen == 3
    with pytest.raises(sm.errors.ColumnError, match=r"Column 'q' not found. Available columns: 'y', 'p', 'unused'"):
        accumulate(relation, sm.binary(y_true="y", y_score="q"))
