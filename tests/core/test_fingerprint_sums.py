"""Fingerprints: the compiled loop against its definition, and what they must not depend on."""

from importlib import import_module

import numpy as np
import pytest

from streammetrics.core import Runs, compiled
from streammetrics.core.definition.fingerprints import add_fingerprints

RNG = np.random.default_rng(5)
BUILDS = [] if compiled is None else [compiled, import_module("streammetrics.core._baseline")]
COLUMNS = {
    "labels": RNG.integers(0, 2, 1_000).astype(np.uint8),
    "hashes": RNG.integers(0, 2**64, 1_000, dtype=np.uint64),
    "floats": RNG.choice([0.0, -0.0, 0.1, 1e308, -5e-324], 1_000),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("truth", [[], ["labels"], ["hashes", "labels"]], ids=str)
@pytest.mark.parametrize("groups", [1, 7, 900])
def test_forms_agree(build, truth, groups):
    columns = [COLUMNS[name] for name in truth], [COLUMNS["floats"]]
    runs = Runs.of(np.sort(RNG.integers(0, groups, 1_000)))
    expected, found = (RNG.integers(-(2**63), 2**63, (groups, 4)) for _ in range(2))
    found[:] = expected
    add_fingerprints(*columns, runs, expected)
    build.add_fingerprints(*columns, runs, found)
    assert (found == expected).all()


def test_sums_are_those_of_any_order():
    order, whole, again = RNG.permutation(1_000), *np.zeros((2, 1, 4), dtype=np.int64)
    columns = [COLUMNS["labels"]], [COLUMNS["floats"]]
    one_run = Runs(np.array([0, 1_000]), np.array([0]))
    add_fingerprints(*columns, one_run, whole)
    add_fingerprints(*([c[order] for c in part] for part in columns), one_run, again)
    assert (whole == again).all()


@pytest.mark.skipif(compiled is None, reason="the compiled core is not built")
def test_columns_of_other_lengths_are_refused():
    runs, out = Runs(np.array([0, 999]), np.array([0])), np.zeros((1, 4), dtype=np.int64)
    with pytest.raises(ValueError, match="same number of rows"):
        compiled.add_fingerprints([COLUMNS["labels"]], [], runs, out)
    with pytest.raises(ValueError, match="four sums"):
        compiled.add_fingerprints([], [], runs, np.zeros((1, 2), dtype=np.int64))
