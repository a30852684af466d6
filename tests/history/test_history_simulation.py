"""Simulated histories agree with the truth; stores that are broken on purpose do not."""

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import deltalake
import pytest
from history_simulation import World

import streammetrics as sm
from streammetrics.history import history

CHUNK = 10  # seeds of one test, so that a failure comes soon
SUITE, LONG = range(0, 20, CHUNK), [*range(20, 100, CHUNK), *range(1_000, 5_000, CHUNK)]
MEMORY = Path("/dev/shm")  # where files take less time, if there is such a place


@pytest.fixture
def folder(tmp_path):
    """A folder for many small files."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY) as found:
        yield Path(found)


def simulate(folder, seeds, steps, make=sm.MetricStore):
    for seed in seeds:
        try:
            World(folder / f"{seed}", seed, make).run(steps)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {steps} steps:\n  {error}") from error


@pytest.mark.thorough
@pytest.mark.parametrize("first", SUITE)
def test_simulated_histories_agree_with_the_truth(first, folder):
    simulate(folder, range(first, first + CHUNK), steps=4)


@pytest.mark.long
@pytest.mark.parametrize("first", LONG)
def test_thousands_of_simulated_histories_agree_with_the_truth(first, folder):
    simulate(folder, range(first, first + CHUNK), steps=8)


@contextlib.contextmanager
def nameless():
    """Commits that do not say which batch they bring."""

    def write(table, rows, transactions=(), **how):
        unnamed = [deltalake.Transaction(app_id="some batch", version=known.version) for known in transactions]
        original(table, rows, transactions=unnamed, **how)

    original = history.write
    with patch.multiple(history, write=write):
        yield


class InTwo(sm.MetricStore):
    """A store that replaces in two commits."""

    def replace(self, acc, *, window, batch_id):
        table = deltalake.DeltaTable(self.uri)
        if table.transaction_version(batch_id) is None:
            super().replace(acc.empty(), window=window, batch_id=batch_id + ", dropped")
        return self.append(acc, batch_id=batch_id)


FAULTS = {
    "nameless": (nameless, sm.MetricStore),
    "replaced in two": (contextlib.nullcontext, InTwo),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_is_broken_on_purpose_is_caught(fault, folder):
    broken, make = FAULTS[fault]
    with broken(), pytest.raises(AssertionError, match=r"seed \d+, 6 steps:\n  append '0'(.*\n)+.*AssertionError"):
        simulate(folder, range(19, 60), 6, make)  # the first of these seeds find all of them
