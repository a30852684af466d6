"""Settings of the whole suite."""

from itertools import groupby

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")

collect_ignore = ["benchmarks"]

SPREAD = 2  # sets of parameters of one test that the base suite runs; `.ci/run` runs the others


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave sets of parameters beyond the first few, spread evenly, to the thorough run."""
    for _, own in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(own)
        for i, case in enumerate(cases):
            if len(cases) > SPREAD and i and i * SPREAD // len(cases) == (i - 1) * SPREAD // len(cases):
                case.add_marker(pytest.mark.thorough)
