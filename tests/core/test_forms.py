"""Which form of the loops is used, and what is said of it."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from streammetrics import core

COUNT = """
import streammetrics as sm
for _ in range(2):
    sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.9, 0.2]})
"""


def run(code, **variables):
    """A Python process in which the loops can be of any form."""
    environment = {key: value for key, value in os.environ.items() if key != core.CHOICE} | variables
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, env=environment)


VERSION = f"{COUNT}\nfrom streammetrics.cli import main\nmain(['--version'])"


@pytest.mark.thorough
@pytest.mark.parametrize("form", core.FORMS)
def test_a_variable_forces_one_form_without_a_warning(form):
    if form != core.DEFINITION and find_spec(f"streammetrics.core._{form}") is None:
        pytest.skip("not built for this processor")
    done = run(["-c", VERSION], STREAMMETRICS_CORE=form)
    assert done.stdout.endswith(f"(loops over rows: {core.FORMS[form]})\n"), done.stderr
    assert done.stderr == ""


def test_another_value_is_an_error():
    done = run(["-c", "import streammetrics.core"], STREAMMETRICS_CORE="fast")
    assert "STREAMMETRICS_CORE must be one of avx2, baseline, definition, got 'fast'." in done.stderr


MISSING = "import sys; sys.modules['streammetrics.core._baseline'] = None"


def test_without_compiled_loops_the_first_rows_give_one_warning_and_imports_none():
    imports = "; import streammetrics as sm; sm.binary; from streammetrics import core; assert core.compiled is None"
    done = run(["-W", "default", "-c", f"{MISSING}{imports}; print('imported', file=sys.stderr)\n{COUNT}"])
    assert done.returncode == 0, done.stderr
    imported, counted = done.stderr.split("imported")
    assert imported == ""
    assert counted.count("RuntimeWarning: streammetrics has no compiled loops") == 1


@pytest.mark.thorough
def test_a_warning_that_is_an_error_changes_nothing():
    code = """
import streammetrics as sm
acc = sm.binary(y_true="y", y_score="p")
for _ in range(2):
    try:
        acc.update({"y": [1, 0], "p": [0.9, 0.2]})
    except RuntimeWarning:
        print(acc.seen)
"""
    assert run(["-W", "error::RuntimeWarning", "-c", MISSING + code]).stdout == "0\n0\n"
