"""Charts as what they draw, without the classes of Altair, which take half a second each."""

import pytest
from drawn import Drawn


@pytest.fixture
def with_altair():
    """Charts of Altair itself."""


@pytest.fixture(autouse=True)
def _plain(request, monkeypatch):
    if "with_altair" not in request.fixturenames:
        monkeypatch.setattr("streammetrics.show.charts.plot.as_altair", Drawn)
