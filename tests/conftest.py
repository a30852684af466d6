"""Settings of the whole suite."""

from itertools import groupby

import pytest
from hypothesis import settings

from streammetrics.metrics.metric import _registry
from streammetrics.statistics import STATISTICS

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")

collect_ignore = ["benchmarks"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all sets of parameters of a test but the first to the thorough run."""
    for _, own in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        for case in list(own)[1:]:
            case.add_marker(pytest.mark.thorough)


@pytest.fixture
def forgotten():
    """Forget the metrics and statistics that a test declares."""
    statistics, metrics = dict(STATISTICS), {name: [*known] for name, known in _registry.items()}
    yield
    for known, before in ((STATISTICS, statistics), (_registry, metrics)):
        known.clear()
        known.update(before)
