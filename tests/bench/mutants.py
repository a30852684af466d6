"""The strength of the base suite: a room of the package gets small faults, one at a time, and the tests are run.

In the folder of a tree:

    .venv/bin/python tests/bench/mutants.py --sample 20 --json after.json
    .venv/bin/python tests/bench/mutants.py --compare before.json after.json

A sample of each room is drawn by the names of its faults, so that it hardly changes with the package, and not with the
tests. Which tests pass and which lines they reach is recorded once, in a run of the base suite, and saved in the
temporary folder. A fault is killed if one of those tests fails. They run in a fork of this process, and no file is
changed. Some faults change nothing that could be seen, so that not all can be killed.
"""

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage, CoverageData
from hypothesis import Phase, settings
from mutations import Fault, faults

TREE = Path.cwd()
PACKAGE = TREE / "streammetrics"
TEMPORARY = Path(tempfile.gettempdir())
ROOMS = {
    "metrics": "metrics/*.py",
    "intervals": "metrics/intervals/*.py",
    "statistics": "statistics/*.py",
    "reading": "reading/*.py",
    "rules": "monitor/history/rules.py",
}
LIBRARIES = """polars numpy pyarrow.compute pyarrow.parquet pyarrow.dataset pandas scipy.stats sklearn.metrics
    sklearn.linear_model click.testing altair duckdb deltalake"""
OPTIONS = """-p no:xdist -p no:cacheprovider -q --doctest-modules --doctest-ignore-import-errors --assert=plain
    --hypothesis-profile=mutants -m 'not thorough and not browser and not long and not engine'"""
MAX_TESTS = 100  # of a fault
MAX_SECONDS = 30  # that they usually take
PHASES = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", deadline=None, database=None, derandomize=True, phases=PHASES)
Row = dict[str, Any]  # the result of a fault


class Tests:
    """Tests of the base suite: how long each takes, and which lines of the package it reaches."""

    def __init__(self) -> None:
        files = [TREE / "conftest.py", *sorted(PACKAGE.rglob("*.py")), *sorted((TREE / "tests").rglob("*.py"))]
        sources = b"".join(file.read_bytes() for file in files if not file.is_relative_to(TREE / "tests" / "bench"))
        folder = TEMPORARY / "streammetrics-tests" / hashlib.sha256(sources).hexdigest()[:12]
        if not (folder / "seconds.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            run_pytest([], Recorder(folder), folder / "log", seconds=7200)
        self.seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self.data = CoverageData(str(folder / "lines"))
        self.data.read()

    def of(self, fault: Fault) -> list[str]:
        """Tests of the file of a fault: those that reach its lines, with words of its path, and quick ones first."""
        lines = self.data.contexts_by_lineno(str(fault.path))
        reaching = {test for line in fault.lines for test in lines.get(line, ())}
        words = fault.path.relative_to(PACKAGE).with_suffix("").parts

        def distance(test: str) -> tuple[bool, int, float]:
            return test not in reaching, -sum(word in test for word in words), self.seconds[test]

        tests: list[str] = []
        seconds = 0.0
        for test in sorted(self.seconds.keys() & set().union(*lines.values()), key=distance):
            if len(tests) < MAX_TESTS and seconds + self.seconds[test] < MAX_SECONDS:
                tests.append(test)
                seconds += self.seconds[test]
        return tests


class Recorder:
    """A plugin of Pytest that records the tests that pass, and their lines."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds = folder, dict[str, float]()
        self.lines = Coverage(str(folder / "lines"), source=[str(PACKAGE)], config_file=False)

    def start(self) -> None:
        self.lines.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.lines.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self.lines.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = round(report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        self.lines.stop()
        self.lines.save()
        (self.folder / "seconds.json").write_text(json.dumps(self.seconds, indent=0))


class Importer(MetaPathFinder):
    """A plugin of Pytest that imports a file with a fault, and writes the name of a test that fails."""

    def __init__(self, fault: Fault, failure: Path) -> None:
        self.fault, self.failure = fault, failure

    def start(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != ".".join(self.fault.path.relative_to(TREE).with_suffix("").parts):
            return None
        code, loader = self.fault.code(), SourceFileLoader(name, str(self.fault.path))
        loader.get_code = lambda fullname: code  # type: ignore[method-assign]
        return spec_from_loader(name, loader)

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.failure.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def run_pytest(tests: list[str], plugin: Recorder | Importer, log: Path, seconds: float) -> int | None:
    """The exit code of tests in a fork of this process, or None if they took too long."""

    def in_fork() -> None:
        os.setsid()
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        plugin.start()
        sys.exit(pytest.main(["-o", f"addopts={OPTIONS}", *tests], plugins=[plugin]))

    process = multiprocessing.get_context("fork").Process(target=in_fork)
    process.start()
    process.join(seconds)
    code = process.exitcode
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # also processes that tests have left
    return code


def killer(fault: Fault, tests: list[str]) -> str | None:
    """The first test that finds a fault, or how else the tests end, or None if all pass."""
    with tempfile.TemporaryDirectory() as folder:
        importer = Importer(fault, Path(folder) / "failure")
        code = run_pytest(["-x", *tests], importer, Path(folder) / "log", seconds=40 + 5 * MAX_SECONDS)
        if importer.failure.exists():
            return importer.failure.read_text() or "the import of the package"
    return None if code == 0 else f"ended with {code}"


def sample(size: int) -> list[tuple[str, Fault]]:
    """Faults of each room in turn, in a random order, which depends on their names alone."""

    def order(fault: Fault) -> bytes:
        return hashlib.sha256(fault.name.encode()).digest()

    faults_of = {
        room: [fault for path in PACKAGE.glob(files) for fault in faults(path)] for room, files in ROOMS.items()
    }
    samples = [[(room, fault) for fault in sorted(own, key=order)[:size]] for room, own in faults_of.items()]
    return [row for rows in zip_longest(*samples) for row in rows if row]


def measure(size: int, file: Path) -> list[Row]:
    """Run the tests of some faults of each room, and save all results after each one."""
    for name in LIBRARIES.split():
        importlib.import_module(name)
    tests = Tests()
    rows: list[Row] = []
    for room, fault in sample(size):
        start = time.monotonic()
        test = killer(fault, tests.of(fault))
        source = fault.path.read_text(encoding="utf-8").splitlines()[fault.line - 1].strip()
        row = {"room": room, "name": fault.name, "change": fault.change, "source": source, "killed by": test}
        rows.append(row | {"seconds": round(time.monotonic() - start, 1)})
        file.write_text(json.dumps(rows, indent=1))
        print(*rows[-1].values(), sep="  ", flush=True)
    return rows


def print_rooms(rows: list[Row]) -> None:
    for room in ROOMS:
        killed = [row["killed by"] is not None for row in rows if row["room"] == room]
        print(f"{room:<12}{sum(killed):>5} of {len(killed):>4} killed{sum(killed) / max(len(killed), 1):>6.0%}")


def print_survivors(rows: list[Row]) -> None:
    for row in rows:
        if row["killed by"] is None:
            print(f"{row['name']}: {row['change']} in {row['source']}")


def print_comparison(before: list[Row], after: list[Row]) -> None:
    """Print the shares of the faults that both have, and those that only the tests before have killed."""
    killers = [{(row["room"], row["name"]): row["killed by"] for row in rows} for rows in (before, after)]
    shared = killers[0].keys() & killers[1].keys()
    for rows in (before, after):
        print_rooms([row for row in rows if (row["room"], row["name"]) in shared])
    print_survivors([row for row in after if killers[0].get((row["room"], row["name"])) is not None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=20, help="faults of each room")
    parser.add_argument("--json", type=Path, default=TEMPORARY / "mutants.json", help="results")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args()
    if options.compare:
        print_comparison(*(json.loads(file.read_text()) for file in options.compare))
    else:
        rows = measure(options.sample, options.json)
        print_rooms(rows)
        print_survivors(rows)


if __name__ == "__main__":
    main()
