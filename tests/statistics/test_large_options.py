"""The largest options are accepted, and the next number is refused, which `refusals.statistics` has."""

import pytest
from refusals.statistics import MOST

import streammetrics as sm


@pytest.mark.parametrize("option", [option for option in MOST if option != "workers"])
def test_numbers_can_be_as_large_as_is_said(option):
    make, most, _ = MOST[option]
    make(most)


@pytest.mark.thorough
def test_a_million_thresholds_are_the_most():
    thresholds = [i / 1_000_001 for i in range(1_000_001)]
    assert len(sm.statistics.ConfusionCounts(thresholds[1:]).thresholds) == 1_000_000
    with pytest.raises(sm.errors.SpecificationError, match="1,000,000"):
        sm.statistics.ConfusionCounts(thresholds)
