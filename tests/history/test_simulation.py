"""Histories that are written by many, crash between any two file operations, and race agree with a plain dict."""

from contextlib import nullcontext

import pytest
from history_simulation import InTwo, nameless, require_found, simulate

import streammetrics as sm


@pytest.mark.thorough
def test_some_histories_agree_with_the_truth():
    simulate(range(6), 6)


@pytest.mark.long
def test_many_histories_agree_with_the_truth_and_broken_ones_do_not():
    simulate(range(100, 500), 8)
    require_found(nameless, sm.MetricStore)
    require_found(nullcontext, InTwo)
