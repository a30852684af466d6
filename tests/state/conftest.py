"""Fixtures of several files."""

import pytest
from states import DATA, TASKS


@pytest.fixture
def table():
    return TASKS["grouped"]().update(DATA).to_arrow()
