"""Dask on a local cluster of two processes."""

import pytest
from conformance import BY, EXACT, Conformance, Grouped, alone

import streammetrics as sm

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        yield


class TestDask(Conformance, Grouped):
    @property
    def engine(self):
        from streammetrics.engines import dask

        return dask

    def source(self, folder):
        return pytest.importorskip("dask.dataframe").read_parquet(str(folder / "*.parquet"))

    def states(self, folder, acc):
        return self.engine.states(self.source(folder), acc, buckets=3).compute()

    @pytest.mark.parametrize("grouped", [False, True])
    def test_files(self, files, grouped):
        found = self.engine.accumulate(str(files / "*.parquet"), EXACT["binary"](BY if grouped else []))
        assert found.to_bytes() == alone(files, "binary", grouped, exact=True).to_bytes()

    def test_a_bag_of_batches(self, files):
        bag = pytest.importorskip("dask.bag")
        paths = sorted(map(str, files.glob("*.parquet")))
        found = self.engine.accumulate(bag.from_sequence(paths, npartitions=3), EXACT["binary"]([]))
        assert found.to_bytes() == alone(files, "binary", False, exact=True).to_bytes()

    def test_other_sources_are_refused(self):
        with pytest.raises(sm.SourceError, match="of type int cannot be read here"):
            self.engine.accumulate(3, EXACT["binary"]([]))

    def test_there_are_at_least_two_buckets(self, files):
        with pytest.raises(sm.SpecificationError, match="2 to 256 buckets, not 1"):
            self.engine.states(self.source(files), EXACT["binary"](["country"]), buckets=1)
