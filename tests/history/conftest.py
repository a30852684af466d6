"""Fixtures of several files."""

import pytest

import streammetrics as sm


@pytest.fixture
def store(tmp_path):
    return sm.MetricStore(str(tmp_path / "store"))
