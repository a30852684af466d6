"""Ray Data on a local cluster of two workers."""

import logging
from functools import cache

import polars as pl
import pyarrow.parquet as pq
import pytest
from laws import GROUPS, laws, parts

import streammetrics as sm
from streammetrics.engines import ray as engine
from streammetrics.testing import Engine
from streammetrics.testing.engine_tasks import BY, EXACT, SIZES, alone

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=500_000_000,
    )
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@cache
def blocks(folder):
    """A dataset of a block for each file, held by the cluster."""
    from_arrow = pytest.importorskip("ray.data").from_arrow
    return from_arrow([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


def states(source, acc):
    return [engine.collect(engine.states(source, acc, partitions=2), acc).to_arrow()]


LAWS = laws(Engine(engine, blocks, states, retries=True, prunes_columns=False))  # blocks are there before it is asked


@pytest.mark.parametrize("check", LAWS, ids=str)
def test_laws(check):
    check()


def test_states_are_a_row_for_each_group(files):
    acc = EXACT["binary"](BY)
    found = engine.states(blocks(files), acc, partitions=2).materialize()
    assert found.schema().names == acc.to_arrow().column_names
    assert found.count() == 4 * 4


def test_states_are_united_and_rolled_up(files):
    acc = EXACT["binary"](BY)
    found = engine.states(blocks(files), acc, partitions=2).materialize()
    expected = alone(files, "binary", True, exact=True)
    twice = engine.collect(engine.merge(found.union(found), acc, partitions=2), acc)
    assert twice.to_bytes() == (expected + expected).to_bytes()
    by_week = acc.rollup("week")
    rolled_up = engine.merge(found.drop_columns(["country"]), by_week, partitions=2)
    assert engine.collect(rolled_up, by_week).to_bytes() == expected.rollup("week").to_bytes()
    german = engine.collect(found.filter(expr="country == 'DE'"), acc)
    assert german.to_bytes() == expected.filter(pl.col("country") == "DE").to_bytes()


BLOCKS = {  # Arrow has no enumerations, and Ray no blocks without rows
    "decimals": GROUPS["decimals"],
    "numbers": [pl.Series([1, 2, 3, None]), pl.Series([1.0, 2.0, 0.5]), pl.Series([1, 0], dtype=pl.UInt8)],
    "text": [pl.Series(["a", None]), pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series([None, None])],
    "times": GROUPS["times"],
}


@pytest.mark.parametrize("groups", BLOCKS.values(), ids=BLOCKS)
def test_a_group_has_one_state_whatever_its_type_in_a_block(groups):
    frames = parts(groups)
    source = pytest.importorskip("ray.data").from_arrow(
        [f.to_arrow(compat_level=pl.CompatLevel.oldest()) for f in frames]
    )
    acc = sm.Accumulator(sm.statistics.ScoreHistogram(), y_true="y", y_score="p", by="g")
    expected = sm.accumulate(frames, acc)
    assert engine.accumulate(source, acc).to_bytes() == expected.to_bytes()
    states = engine.states(source, acc, partitions=3).materialize()
    assert states.count() == expected.state.groups.height
    assert engine.collect(states, acc).to_bytes() == expected.to_bytes()


def test_a_block_for_each_file(files):
    assert [b.num_rows for b in blocks(files).iter_batches(batch_size=None, batch_format="pyarrow")] == [
        size for size in SIZES if size
    ]


def test_files_as_the_engine_splits_them(files):
    found = engine.accumulate(pytest.importorskip("ray.data").read_parquet(str(files)), EXACT["binary"]([]))
    assert found.to_bytes() == alone(files, "binary", False, exact=True).to_bytes()
