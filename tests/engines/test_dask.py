"""Dask on a local cluster of two processes."""

import polars as pl
import pyarrow as pa
import pytest
from laws import GROUPS, laws, parts

import streammetrics as sm
from streammetrics.engines import dask as engine
from streammetrics.testing import Engine
from streammetrics.testing.engine_tasks import BY, EXACT, FEW_ROWS, alone, rows

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        yield


def read(folder):
    return pytest.importorskip("dask.dataframe").read_parquet(str(folder / "*.parquet"))


def states(source, acc):
    return engine.states(source, acc, buckets=3).compute()


@pytest.mark.parametrize("check", laws(Engine(engine, read, states, retries=True, reorders=False)), ids=str)
def test_laws(check):
    check()


@pytest.mark.parametrize("grouped", [False, True])
def test_files(files, grouped):
    found = engine.accumulate(str(files / "*.parquet"), EXACT["binary"](BY if grouped else []))
    assert found.to_bytes() == alone(files, "binary", grouped, exact=True).to_bytes()


def test_a_bag_of_batches(files):
    bag = pytest.importorskip("dask.bag")
    paths = sorted(map(str, files.glob("*.parquet")))
    found = engine.accumulate(bag.from_sequence(paths, npartitions=3), EXACT["binary"]([]))
    assert found.to_bytes() == alone(files, "binary", False, exact=True).to_bytes()


def test_other_sources_are_refused():
    with pytest.raises(sm.errors.SourceError, match="Unsupported source type int"):
        engine.accumulate(3, EXACT["binary"]([]))


def test_a_bad_row_is_named_by_its_partition_or_file(tmp_path):
    for number, bad in enumerate((0.5, 1.25)):
        frame = rows(300, number).with_columns(p=pl.when(pl.int_range(300) == 207).then(bad).otherwise("p"))
        frame.write_parquet(tmp_path / f"{number}.parquet")
    acc = sm.binary(y_true="clicked", y_score="p")
    frames = pytest.importorskip("dask.dataframe").from_pandas(
        pl.read_parquet(tmp_path).to_pandas().convert_dtypes(dtype_backend="pyarrow"), npartitions=2
    )
    two_each = pytest.importorskip("dask.bag").from_sequence(
        [pl.read_parquet(tmp_path / "0.parquet"), pl.read_parquet(tmp_path / "1.parquet")], npartitions=1
    )
    for source, place in (
        (frames, "row 207 of partition 1"),
        (two_each, "row 507 of partition 0"),
        (str(tmp_path), f"row 207 of {tmp_path / '1.parquet'}"),
    ):
        with pytest.raises(sm.errors.DataError) as caught:
            engine.accumulate(source, acc)
        assert f"(first: 1.25 at {place})" in str(caught.value)


@pytest.mark.parametrize("split_every", [1, 2.5])
def test_a_task_adds_up_at_least_two_states(split_every, few_files):
    with pytest.raises(sm.errors.SpecificationError, match=f"split_every= must be .* at least 2, got {split_every}"):
        engine.accumulate(str(few_files), EXACT["binary"]([]), split_every=split_every)
    found = engine.evaluate(str(few_files), EXACT["binary"]([]), split_every=2)
    assert found["rows"].value == sum(FEW_ROWS)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_a_group_is_in_one_table_whatever_its_type_in_a_partition(groups):
    frames = parts(groups)
    acc = sm.binary(y_true="y", y_score="p", by="g")
    bag = pytest.importorskip("dask.bag").from_sequence(frames, npartitions=len(frames))
    states = pa.concat_tables(engine.states(bag, acc, buckets=5).compute())
    expected = sm.accumulate(frames, acc)
    assert states.num_rows == expected.state.groups.height
    assert sm.Accumulator.from_arrow(states).to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("labels", [([0, 1, 2], [0.0, 1.0]), (["a", "b"], [None, None])])
def test_labels_of_different_types_are_in_tables_of_one_type(labels):
    frames = [pl.DataFrame({"y": y, "p": y, "g": range(len(y))}) for y in labels]
    acc = sm.multiclass(y_true="y", y_pred="p", by="g", nulls="drop")
    bag = pytest.importorskip("dask.bag").from_sequence(frames, npartitions=2)
    states = pa.concat_tables(engine.states(bag, acc, buckets=5).compute())
    assert sm.Accumulator.from_arrow(states).to_bytes() == sm.accumulate(frames, acc).to_bytes()


@pytest.mark.parametrize(
    ("groups", "labels", "error"),
    [
        ([1, "b"], [0, 1], "Column 'g' has different types in different batches: Int64 and String"),
        ([1, 2], [0, "b"], "Class labels have different types in different partitions"),
    ],
)
def test_types_that_do_not_agree_are_named(groups, labels, error):
    frames = [pl.DataFrame({"y": [y], "p": [y], "g": [g]}) for g, y in zip(groups, labels, strict=True)]
    acc = sm.multiclass(y_true="y", y_pred="p", by="g")
    bag = pytest.importorskip("dask.bag").from_sequence(frames, npartitions=2)
    with pytest.raises(sm.errors.ColumnError, match=error):
        engine.states(bag, acc, buckets=5).compute()


def test_a_delta_table_is_one_part(tmp_path):
    pytest.importorskip("deltalake")
    rows(10, 0).write_delta(tmp_path)
    rows(20, 0).write_delta(tmp_path, mode="overwrite")
    assert engine.accumulate(str(tmp_path), EXACT["binary"]([])).seen == 20


def test_there_are_at_least_two_buckets(files):
    with pytest.raises(sm.errors.SpecificationError, match="between 2 and 256, got 1"):
        engine.states(read(files), EXACT["binary"](["country"]), buckets=1)
