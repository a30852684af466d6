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

MUTANT = "STREAMMETRICS_MUTANT"  # a file of `save_mutant`
LINES = "STREAMMETRICS_LINES"  # the folder that takes the recorded lines
durations: dict[str, float] = {}
passed: set[str] = set()


class MutantLoader(SourceFileLoader):
    """Runs the code of a mutant, past the cache of compiled files."""

    def __init__(self, name, path, code):
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname):
        return self.code


class MutantFinder:
    """Finds one module, the mutant."""

    def __init__(self, name, path, code):
        self.name, self.path, self.code = name, path, code

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        return spec_from_file_location(name, self.path, loader=MutantLoader(name, self.path, self.code))


def save_mutant(file, name, path, code):
    file.write_bytes(marshal.dumps((name, path, code)))


def load_mutant(file):
    sys.meta_path.insert(0, MutantFinder(*marshal.loads(Path(file).read_bytes())))


def function_of(nodeid):
    return nodeid.partition("[")[0]


def record_lines(folder):
    from coverage import Coverage

    lines = Coverage(f"{folder}/lines", data_suffix=True, include=["*/streammetrics/*"], config_file=False)
    lines.start()
    if "PYTEST_CURRENT_TEST" in os.environ:  # a process that a test has started
        lines.switch_context(function_of(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]))
    atexit.register(lines.save)


def pytest_runtest_logstart(nodeid, location):
    from coverage import Coverage

    if recorder := Coverage.current():
        recorder.switch_context(function_of(nodeid))


def pytest_runtest_logfinish(nodeid, location):
    pytest_runtest_logstart("", location)


def pytest_runtest_logreport(report):
    test = function_of(report.nodeid)
    durations[test] = durations.get(test, 0.0) + report.duration
    if report.when == "call" and report.passed:
        passed.add(test)


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        tests = {test: round(durations[test], 3) for test in sorted(passed)}
        (Path(os.environ[LINES]) / "tests.json").write_text(json.dumps(tests))


if MUTANT in os.environ:
    load_mutant(os.environ[MUTANT])
if LINES in os.environ:
    record_lines(os.environ[LINES])
