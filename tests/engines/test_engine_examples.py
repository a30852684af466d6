"""Examples of engines run as they stand."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import streammetrics as sm

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples" / "engines").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, request, tmp_path):
    for module in re.findall(r"^(?:import|from) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
        pytest.importorskip(module)
    if path.name.startswith("spark"):
        request.getfixturevalue("java")
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    log = tmp_path / "log"
    with log.open("w") as output:  # a file, since processes of an engine may hold a pipe longer than the example
        ran = subprocess.run([sys.executable, str(path)], stdout=output, stderr=output, check=False, timeout=180)
    assert ran.returncode == 0, log.read_text()
    assert "roc_auc" in log.read_text()


@pytest.mark.parametrize("name", [path.name.split("_")[0] for path in EXAMPLES])
def test_swapped_arguments_are_told(name):
    engine, acc = import_module(f"streammetrics.engines.{name}"), sm.Accumulator()
    for function in (engine.accumulate, engine.evaluate):
        with pytest.raises(sm.errors.SpecificationError, match="swapped"):
            function(acc, "rows")
