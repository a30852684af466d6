"""Commands in this process, as a user types them."""

import pytest
from click.testing import CliRunner

from streammetrics.cli import main

COLUMNS = ["--y-true", "clicked", "--y-score", "p_click"]


def run(*arguments, code=0, **env):
    """What a command prints, which must end with this code."""
    if arguments[0] == "store":
        pytest.importorskip("deltalake")
    result = CliRunner(env={"GITHUB_STEP_SUMMARY": None} | env).invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


HOLDING = """
[[rule]]
require = "rows >= 100"
over = "7d"

[[rule]]
require = "wasserstein(of='y_score') <= 0.5"
against = "28d"
"""


BREACHED = """
[[rule]]
require = "rows >= 1000000"
by = "country"
"""
