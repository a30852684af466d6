"""What `mutants.py` changes in each Python process of its runs, which find this file in a folder of PYTHONPATH.

One module is replaced by a mutant, without a change of any file, or the lines that run are recorded by test. When lines
are recorded, this is a plugin of Pytest too.
"""

import atexit
import json
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

MUTANT = "STREAMMETRICS_MUTANT"  # a file with a module, its path, and its code
LINES = "STREAMMETRICS_LINES"  # the folder that takes the recorded lines
durations: dict[str, float] = {}
passed: set[str] = set()


def load_mutant(file):
    """Have one module run the code of a mutant, past the cache of compiled files."""
    module, path, code = marshal.loads(Path(file).read_bytes())
    loader = SourceFileLoader(module, path)
    loader.get_code = lambda _: code

    def find_spec(name, *_):
        return spec_from_file_location(name, path, loader=loader) if name == module else None

    sys.meta_path.insert(0, SimpleNamespace(find_spec=find_spec))


def record_lines(folder):
    from coverage import Coverage

    lines = Coverage(f"{folder}/lines", data_suffix=True, include=["*/streammetrics/*"], config_file=False)
    lines.start()
    if "PYTEST_CURRENT_TEST" in os.environ:  # a process that a test has started
        lines.switch_context(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0])
    atexit.register(lines.save)


def pytest_runtest_logstart(nodeid, location):
    from coverage import Coverage

    if recorder := Coverage.current():
        recorder.switch_context(nodeid)


def pytest_runtest_logfinish(nodeid, location):
    pytest_runtest_logstart("", location)


def pytest_runtest_logreport(report):
    durations[report.nodeid] = durations.get(report.nodeid, 0.0) + report.duration
    if report.when == "call" and report.passed:
        passed.add(report.nodeid)


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        tests = {test: round(durations[test], 3) for test in sorted(passed)}
        (Path(os.environ[LINES]) / "tests.json").write_text(json.dumps(tests))


if MUTANT in os.environ:
    load_mutant(os.environ[MUTANT])
if LINES in os.environ:
    record_lines(os.environ[LINES])
