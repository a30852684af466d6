"""Columns that another thread writes to while they are counted."""

import subprocess
import sys
from pathlib import Path

import pytest

from streammetrics import core

pytestmark = pytest.mark.skipif(core.compiled is None, reason="there are no compiled loops")


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", ["0.05", pytest.param("0.5", marks=pytest.mark.long)])
def test_no_loop_leaves_its_arrays_while_another_thread_writes_to_its_rows(seconds):
    script = Path(__file__).with_name("racing.py")
    run = subprocess.run([sys.executable, script, seconds], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr[-4_000:]
