"""Histories: one of clicks that tests only read, and an empty one that they write."""

import pytest
from data import CANDIDATES, CLICKS, candidates, clicks
from stores import history

import streammetrics as sm


@pytest.fixture
def store(tmp_path):
    return sm.MetricStore(str(tmp_path / "store"))


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Of clicks by day and country."""
    task = sm.binary(by=["day", "country"], thresholds=[0.3, 0.5], **CLICKS)
    return history(tmp_path_factory.mktemp("clicks"), task, clicks())


@pytest.fixture(scope="session")
def two_models(tmp_path_factory):
    """Of clicks with the scores of an old and a new model, by day and country."""
    days = clicks()[: len(candidates())]["day"]
    task = sm.binary(by=["day", "country"], **CANDIDATES)
    return history(tmp_path_factory.mktemp("candidates"), task, candidates().with_columns(days))
