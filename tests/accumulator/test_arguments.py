"""Numbers of numpy are numbers, and intervals of the highest level and of every look exist."""

import numpy as np
import pytest
from data import CLICKS, clicks
from refusals.arguments import ACC, INTEGERS, LEVELS

import streammetrics as sm


@pytest.mark.parametrize("given", [2, np.int64(2), np.uint8(2)], ids=type)
def test_integers(given):
    for call in INTEGERS.values():
        call(given)


@pytest.mark.parametrize("given", [0.9, np.float64(0.9), np.float32(0.9)], ids=type)
def test_levels(given):
    for call in LEVELS.values():
        call(given)


def test_the_number_of_rows_of_intervals_at_every_look():
    one, other = (ACC.finalize(["accuracy"], confidence=0.9, always=n).frame for n in (1000, np.int64(1000)))
    assert one.equals(other)


def test_the_highest_confidence_level_has_an_interval():
    acc = sm.binary(**CLICKS).update(clicks())
    widest, usual = (acc.finalize("accuracy", confidence=level)["accuracy"] for level in (np.nextafter(1, 0), 0.95))
    assert widest.ci_lower < usual.ci_lower < usual.ci_upper < widest.ci_upper
