"""Histories that are written by many, crash between any two file operations, and race agree with a plain dict."""

from contextlib import nullcontext

import pytest
from history_simulation import InTwo, nameless, require_found, simulate

import streammetrics as sm


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seeds", "steps"),
    [
        (range(4), 5),
        pytest.param(range(10, 30), 6, marks=pytest.mark.thorough),
        pytest.param(range(100, 500), 8, marks=pytest.mark.long),
    ],
)
def test_histories_agree_with_the_truth(seeds, steps):
    simulate(seeds, steps)


@pytest.mark.long
def test_histories_that_are_broken_on_purpose_do_not():
    require_found(nameless, sm.MetricStore)
    require_found(nullcontext, InTwo)
