"""Every compiled loop with random arguments, for a moment; ``fuzz.py`` runs for as long as it is told to."""

import fuzz
import numpy as np
import pytest

from streammetrics import core

pytestmark = pytest.mark.skipif(core.compiled is None, reason="there are no compiled loops")


def test_every_loop_is_driven():
    assert fuzz.undriven() == set()


def test_loops_agree_with_their_definitions_and_refuse_wrong_arrays():
    assert all(times > 0 for times in fuzz.fuzz(seconds=2, seed=0).values())


def test_a_loop_that_differs_is_found(monkeypatch):
    loop = core.compiled.count_pairs
    calls = {"count_pairs": fuzz.recorded()["count_pairs"]}

    def wrong(*args):
        loop(*args)
        args[-1][..., 0] += 1

    monkeypatch.setattr(fuzz, "recorded", lambda seed: calls)
    monkeypatch.setattr(fuzz, "loops", lambda: {"count_pairs": wrong})
    with pytest.raises(AssertionError, match="count_pairs"):
        fuzz.fuzz(seconds=1, seed=0)


def test_arguments_are_spoilt():
    random = np.random.default_rng(0)
    (arguments, *_) = fuzz.recorded()["count_pairs"]
    arguments = fuzz.drawn(arguments, random)
    refused = 0
    for _ in range(100):
        try:
            core.count_pairs(*fuzz.spoilt("count_pairs", arguments, random))
        except fuzz.REFUSED:
            refused += 1
    assert refused > 30
